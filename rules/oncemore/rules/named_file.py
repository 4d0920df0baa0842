"""What bytes does a file hold that somebody named?

A name can lead to a pipe that nobody writes into, or to a device that never ends. Neither may keep us: only a regular
file is read, and no more of it than is wanted.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "Is a directory"),
    (stat.S_ISFIFO, errno.EINVAL, "Is a pipe, not a file"),
    (stat.S_ISSOCK, errno.EINVAL, "Is a socket, not a file"),
    (stat.S_ISCHR, errno.EINVAL, "Is a device, not a file"),
    (stat.S_ISBLK, errno.EINVAL, "Is a device, not a file"),
)


def read_up_to(path: Path, limit: int) -> bytes:
    """The file's bytes; of one that is longer than `limit` one byte more than that, so that the caller sees it.

    Raises:
        OSError: it cannot be opened or read, or is no regular file; `strerror` says which.
    """
    # Without O_NONBLOCK opening a pipe would last until somebody opens its other end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        for is_kind, number, words in _KINDS:
            if is_kind(mode):
                raise OSError(number, words, str(path))
        return file.read(limit + 1)
