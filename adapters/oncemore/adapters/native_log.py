"""Where does a runtime's standard error go, and for how long is it kept?

It may quote the conversation: it goes into a private file in the runtime's home, never into our log, and is kept as
long as texts are. A line is added when a process begins; what stands before the first such line that is young enough
can be dropped.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from oncemore.rules import times

CODEX = "oncemore-app-server.log"
HARNESS = "oncemore-harness.log"

LIMIT = 1 << 20
"""A file that is longer is emptied when the next process begins, bytes."""

_BEGINS = re.compile(rb"^--- begins ([0-9TZ:.-]+)\n", re.MULTILINE)


def opened(path: Path) -> int:
    """A descriptor that appends to the file, which only we may read.

    Raises:
        OSError: the system refused, or a link stands there.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_size > LIMIT:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, f"--- begins {times.format_ms(time.time_ns() // 1_000_000)}\n".encode())
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def drop_in(homes: Iterable[Path], before: int) -> None:
    """Drop what processes wrote that began before a moment, in the files of all these homes.

    Args:
        before: milliseconds since the epoch.
    """
    for home in homes:
        for name in (CODEX, HARNESS):
            with suppress(FileNotFoundError):
                drop(home / name, before)


def drop(path: Path, before: int) -> None:
    """Drop what processes wrote that began before a moment. A process that began so long ago and still writes is no
    longer heard.

    Raises:
        OSError: the system refused.
    """
    content = path.read_bytes()
    kept = next((found.start() for found in _BEGINS.finditer(content) if _time(found[1]) >= before), len(content))
    if kept == 0 or (kept == len(content) == 0):
        return
    if kept == len(content):
        path.unlink()
        return
    shorter = path.with_name(path.name + ".shorter")
    shorter.unlink(missing_ok=True)
    descriptor = os.open(shorter, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content[kept:])
    shorter.replace(path)


def _time(text: bytes) -> int:
    try:
        return times.parse(text.decode())
    except ValueError:
        return 0
