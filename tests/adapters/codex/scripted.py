"""How does the scripted app-server become a program? A file that runs the folder beside this one."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
import server
server.main()
"""


def install(folder: Path) -> Path:
    """The program, for the configuration's `binary`."""
    path = folder / "scripted-codex"
    path.write_text(PROGRAM.format(python=sys.executable, folder=str(Path(__file__).parent / "app_server")))
    path.chmod(0o755)
    return path
