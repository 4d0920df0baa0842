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


def replace(path: Path, before: bytes, after: bytes) -> None:
    """Give a file other contents; its mode stays, and its owner where we may say so.

    Args:
        path: a file, or a link to one, which stays a link.
        before: what it must hold until then.

    Raises:
        OSError: it cannot be written, or holds something else by now; nothing has changed.
    """
    target = path.resolve(strict=True)
    known = target.stat()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            if (os.geteuid(), os.getegid()) != (known.st_uid, known.st_gid):
                with suppress(PermissionError):
                    os.fchown(descriptor, known.st_uid, known.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
            os.fsync(descriptor)
        if target.read_bytes() != before:
            raise OSError(errno.EBUSY, "it was changed meanwhile", str(path))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
