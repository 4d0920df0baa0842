"""Was a thread made in this very home, and has it never held a turn as far as is known?

Codex stores nothing of a thread before its first turn, so such a thread looks exactly like one whose home was replaced
by another. Each thread that is made here therefore gets a small file in its home, before anybody learns of it; the file
goes when the thread is known to hold a turn. A thread of which neither Codex nor the file knows is unknown, not empty.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from oncemore.adapters.codex.lock import SAFE
from oncemore.engine.errors import Unreadable

FOLDER = "oncemore-threads"


def make(home: Path, thread_id: str) -> None:
    """Say that a thread was made here; on the disk before this returns.

    Raises:
        Unreadable: it could not be written.
    """
    if not SAFE.fullmatch(thread_id):
        raise Unreadable(f"the thread id {thread_id!r} cannot be part of a file name")
    try:
        with _opened(home, os.O_RDONLY | os.O_DIRECTORY) as above:
            with contextlib.suppress(FileExistsError):
                os.mkdir(FOLDER, 0o700, dir_fd=above)
            os.fsync(above)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            with _opened(FOLDER, flags, above) as folder:
                with _opened(thread_id, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, folder) as file:
                    os.fsync(file)
                os.fsync(folder)
    except OSError as error:
        raise Unreadable(f"the codex home {home} cannot be written: {error.strerror}") from error


def made(home: Path, thread_id: str) -> bool:
    """Whether the home says that the thread was made here and holds no turn yet."""
    if not SAFE.fullmatch(thread_id):
        return False
    try:
        return stat.S_ISREG((home / FOLDER / thread_id).lstat().st_mode)
    except OSError:
        return False


def drop(home: Path, thread_id: str) -> None:
    """The thread is known to hold a turn: from now on only Codex can say what it holds."""
    if SAFE.fullmatch(thread_id):
        with contextlib.suppress(OSError):  # if it stays, less is noticed; nothing that was noticed is lost
            (home / FOLDER / thread_id).unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(path: str | Path, flags: int, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
