"""Where is the Codex program, and is it one?"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from oncemore.engine.errors import Unreadable

PACKAGE = "codex_cli_bin"
"""The import name of the wheel `openai-codex-cli-bin`, which carries the program."""

ADVICE = (
    "Install the extra `oncemore[codex]`, which brings the program in the package openai-codex-cli-bin, "
    "or configure the path of a codex program of version 0.163 or later."
)


def find(configured: Path | None = None) -> Path:
    """The program: the configured path, else the one in the wheel, found without importing the package.

    Whether it really is Codex shows when it is started: `Connection` says so when it does not answer as one.

    Raises:
        Unreadable: nothing executable is there; the text names the path and what to do.
    """
    path = configured if configured is not None else _in_wheel()
    if path is None:
        raise Unreadable(f"no codex program: the package openai-codex-cli-bin is not installed. {ADVICE}")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise Unreadable(f"no codex program: {path} is not an executable file. {ADVICE}")
    return path


def _in_wheel() -> Path | None:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "bin" / "codex"
