"""How is a journal kept in one SQLite file?

In a folder and files that are the owner's alone, with one worker. Every unit of work is one immediate transaction: one
writer at a time, which is what locking a Session's row means here.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import peewee as pw

from oncemore.engine.errors import JournalRefused
from oncemore.engine.statements import Rendering


class _Database(pw.SqliteDatabase):
    context_class = Rendering


LOOKS = 3
LOOK_SECONDS = 0.02
"""How often a worker tries to get the file, and how long it waits in between: whoever only looks whether one is there
has it for a moment."""


class SqliteFile:
    """The file, prepared.

    Args:
        path: the database file; its folder is made with mode 0700.
        worker: take the worker's lock; a second worker on the same file is refused.

    Raises:
        JournalRefused: the folder or file cannot be used, is open to others, or another worker holds it.
    """

    def __init__(self, path: Path, *, worker: bool) -> None:
        _folder(path.parent)
        # One file has one lock, whatever name it is reached by.
        self.place = path = path.resolve()
        # SQLite lets those who wait for it starve each other; the threads of one process go one after another instead.
        self._writing = threading.RLock()
        self._lock = _hold(path.with_name(path.name + ".worker")) if worker else None
        try:
            with self.private():
                for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
                    if file.exists():
                        _private(file, 0o600)
        except OSError as error:
            self.close()
            raise JournalRefused(f"the journal {path} cannot be used: {error}") from error
        except BaseException:
            self.close()
            raise
        self.database = _Database(
            str(path),
            pragmas={"journal_mode": "wal", "synchronous": "full", "foreign_keys": 1, "busy_timeout": 10_000},
            autoconnect=False,
        )
        self._identity: tuple[int, int] | None = None

    def opened(self) -> None:
        """The database was opened: from now on its place holds this very file, or nothing is written."""
        self._identity = _identity(self.place)

    def amiss(self) -> str | None:
        """Why the database may not be used any more: its file is gone, or another stands in its place. Whoever has it
        open would write on where nobody finds it, and whoever opens it would make an empty one."""
        found = _identity(self.place)
        if self._identity is None or found == self._identity:
            return None
        return "its file is no longer there" if found is None else "another file stands in its place; start anew"

    def worked(self) -> bool:
        """Whether a worker may have the file now: this process, or another; what cannot be looked at may be held."""
        if self._lock is not None:
            return True
        try:
            descriptor = os.open(self.place.with_name(self.place.name + ".worker"), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False  # nobody ever worked on it
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    @contextmanager
    def private(self) -> Iterator[None]:
        """What is made inside is the owner's alone."""
        old = os.umask(0o077)
        try:
            yield
        finally:
            os.umask(old)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One immediate transaction, or a part of the one that the thread is in."""
        with self._writing:
            outermost = not self.database.in_transaction()
            if not outermost and not self._connection().in_transaction:
                # On a full disk SQLite undoes the whole of it by itself; what came now would be kept on its own.
                raise pw.OperationalError("the transaction was undone by the database")
            with self.database.atomic("IMMEDIATE"):
                yield
                if outermost and (amiss := self.amiss()) is not None:
                    raise pw.OperationalError(amiss)

    migrating = transaction

    def _connection(self) -> Any:
        """The calling thread's own."""
        return self.database.connection()  # type: ignore[no-untyped-call]

    def refusal(self, error: pw.PeeweeException) -> JournalRefused | None:
        """What a failed unit of work is called; None for one that is a mistake of ours."""
        if isinstance(error, pw.OperationalError):
            return JournalRefused(f"the journal {self.place} cannot be written: {error}")
        return None

    def close(self) -> None:
        """Give the worker's lock back."""
        if self._lock is not None:
            with suppress(OSError):
                os.close(self._lock)
            self._lock = None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at a path; None where none is to be had."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JournalRefused(f"the data folder {folder} cannot be made: {error.strerror}") from error
    _private(folder, 0o700)


def _private(path: Path, mode: int) -> None:
    status = path.stat()
    found = stat.S_IMODE(status.st_mode)
    if mode == 0o600 and not stat.S_ISREG(status.st_mode):
        raise JournalRefused(f"{path} is no file; the journal needs a file of its own there")
    if found & ~mode:
        raise JournalRefused(
            f"{path} is open to others (mode {found:04o}); the journal holds people's texts. Run: chmod {mode:o} {path}"
        )


def _hold(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise JournalRefused(f"the worker's lock {path} cannot be taken: {error.strerror}") from error
    for _ in range(LOOKS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            refused = error
            time.sleep(LOOK_SECONDS)
        else:
            return descriptor
    os.close(descriptor)
    raise JournalRefused(f"another worker works on {path.with_suffix('')}; one file has one worker") from refused
