"""Does some process have a conversation of the harness loaded, or does a command of one live? A lock file tells.

The harness takes no lock, so one is taken for it: the open, locked file is handed down to it, and with it to the
commands that it starts. While any of them lives, the lock is held; once it is free, none of those lives any more.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from oncemore.engine.errors import Busy


class Lock:
    """The lock of one conversation, as a file in its home. The file stays; nobody removes it."""

    def __init__(self, home: Path, cascade_id: str) -> None:
        self.path = home / "locks" / f"{cascade_id}.lock"

    def take(self) -> int:
        """The open, locked file. Raises `Busy` when something of the conversation runs."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except OSError:
            os.close(descriptor)
            raise Busy("a process has the conversation loaded, or a command of one still runs") from None
        if not same:
            os.close(descriptor)
            raise Busy("the conversation's lock file was replaced while it was taken")
        return descriptor

    def known(self) -> bool:
        """Whether the conversation was ever loaded in this home: the file stays."""
        return self.path.exists()

    def free(self) -> bool:
        """Whether nobody holds it. A file that is not there was removed, with or without somebody who holds it still,
        and one that cannot be opened tells nothing: that proves nothing."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            # Shared: several may ask at once, and none of them is taken for a holder.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True
