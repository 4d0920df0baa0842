"""How is a file given other contents so that nobody ever sees half of them?

The new contents are written to a file beside it, which then takes its place. Whoever had linked to the file still does.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

SHOWN = 50
"""Characters of a file's name in that of the one beside it: with all of a long one that name would be too long."""


_OPEN_ALREADY = ("dev", "proc")
"""Where `/dev/stdout` and the like stand: whoever opened these reads the file that they lead to, none in its place."""


def replace(path: Path, before: bytes, after: bytes) -> None:
    """Give a file other contents; its mode stays, and its owner where we may say so.

    Args:
        path: a file, or a link to one, which stays a link.
        before: what it must hold until then.

    Raises:
        OSError: it cannot be written, or holds something else by now; nothing has changed.
    """
    _in_place(path, path.resolve(strict=True), after, before)


def put(path: Path, contents: bytes) -> None:
    """Give a file contents, whole or not at all, whatever it held.

    What is no file, such as a pipe, takes them as it is, and so does a file in a folder that may not be written.

    Raises:
        OSError: it cannot be written; a file has not changed, and none was made.
    """
    target = path.resolve()
    if path.exists() and (
        not path.is_file() or path.absolute().parts[1] in _OPEN_ALREADY or not os.access(target.parent, os.W_OK)
    ):
        # Without O_NONBLOCK a pipe would keep us until somebody reads from it.
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "wb") as opened:
            os.set_blocking(descriptor, True)
            opened.write(contents)
        return
    _in_place(path, target, contents, None)


def create(path: Path, contents: bytes) -> None:
    """Make a file that is not there yet, whole or not at all.

    Raises:
        FileExistsError: something is there.
        OSError: it cannot be written; none was made.
    """
    with path.open("xb") as file:
        try:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                error.filename = str(path)
            raise


def _in_place(path: Path, target: Path, after: bytes, before: bytes | None) -> None:
    known = target.stat() if target.exists() else None
    if known is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    beside: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:SHOWN]}.", suffix=".new", dir=target.parent)
        beside = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            if known is None:
                os.fchmod(descriptor, 0o666 & ~_umask())
            else:
                if (os.geteuid(), os.getegid()) != (known.st_uid, known.st_gid):
                    with suppress(PermissionError):
                        os.fchown(descriptor, known.st_uid, known.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
            os.fsync(descriptor)
        if before is not None and target.read_bytes() != before:
            raise OSError(errno.EBUSY, "it was changed meanwhile", str(path))
        beside.replace(target)
    except BaseException as error:
        if beside is not None:
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # not that of the file beside it, which nobody knows
        raise


def _umask() -> int:
    """What new files are not open for; it can only be asked by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
