"""Does some process have a thread loaded? Asked of the kernel, without touching the lock.

Codex holds a flock on a file of the thread as long as a process has it loaded: the kernel frees it when the process
dies, and an orderly end removes the file. Trying to take the lock would race its owner, so the table of held locks is
looked at instead. Only Linux has that table; a holder in another PID namespace does not show in it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LOCKS = Path("/proc/locks")
FOLDER = "thread-writer-locks"

HELD = re.compile(r"^\d+: FLOCK +ADVISORY +WRITE +(?P<pid>\d+) +[0-9a-f]+:[0-9a-f]+:(?P<inode>\d+) ", re.MULTILINE)
SAFE = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]*")
"""What a thread id may consist of, to be part of a file name."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A thread's writer lock.

    Attributes:
        state: `absent` after an orderly end or before any use, `free` after its owner died, `held`, or `unknown`.
        pid: of the holder, when held.
    """

    state: Literal["absent", "free", "held", "unknown"]
    pid: int | None = None


def look(home: Path, thread_id: str) -> Lock:
    """The writer lock of a thread now."""
    if sys.platform != "linux" or not SAFE.fullmatch(thread_id):
        return Lock("unknown")
    try:
        inode = (home / FOLDER / f"{thread_id}.lock").lstat().st_ino
    except FileNotFoundError:
        return Lock("absent") if home.is_dir() else Lock("unknown")
    except OSError:
        return Lock("unknown")
    try:
        table = LOCKS.read_text()
    except OSError:
        return Lock("unknown")
    for held in HELD.finditer(table):
        if int(held["inode"]) == inode:
            return Lock("held", int(held["pid"]))
    return Lock("free")
