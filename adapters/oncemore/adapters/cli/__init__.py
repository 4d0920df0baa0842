"""How is Oncemore called from a terminal?"""

from __future__ import annotations

import sys

DISTRIBUTION = "oncemore"


def main() -> int:
    """The program `oncemore`; its exit code.

    `--version` alone is answered before anything else is imported: scripts ask for it often.
    """
    if sys.argv[1:] == ["--version"]:
        print(version())
        return 0
    from oncemore.adapters.cli.commands import run

    return run()


def version() -> str:
    """What `--version` prints."""
    from importlib.metadata import version

    return f"oncemore {version(DISTRIBUTION)}"
