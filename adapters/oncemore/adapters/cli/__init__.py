"""How is Oncemore called from a terminal?"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

DISTRIBUTION = "oncemore"
USAGE = 2


def main() -> int:
    """The program `oncemore`; its exit code.

    `--version` alone is answered before anything else is imported: scripts ask for it often.
    """
    if sys.stdout is None:
        _complain("standard output is closed")
        return USAGE
    try:
        if sys.argv[1:] == ["--version"]:
            print(version(), flush=True)
            return 0
        # Most of what a short command makes are modules and classes, which stay: a tenth of its time would go into
        # looking for garbage among them.
        gc.set_threshold(100_000)
        from oncemore.adapters.cli.commands import run

        return run()
    except BrokenPipeError:
        return 1
    except OSError as error:
        _complain(f"standard output cannot be written: {error.strerror or error}")
        return USAGE
    finally:
        _let_go()


def _complain(text: str) -> None:
    with suppress(OSError):
        print(f"error: {text}", file=sys.stderr, flush=True)


def _let_go() -> None:
    """Drop what could not be written: the interpreter would try it again at its end, and end otherwise than we said."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def version() -> str:
    """What `--version` prints."""
    from importlib.metadata import version

    return f"oncemore {version(DISTRIBUTION)}"
