"""How is the journal opened, locked and timed?

One SQLite file with one writing worker. Every unit of work is one immediate transaction: SQLite then has one writer at
a time, which is what locking the Session's row means here.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import peewee as pw

from oncemore.engine.errors import JournalRefused
from oncemore.engine.tables import Clock, database

BACKWARDS_TOLERANCE_MS = 5_000
"""How far the system clock may lie below the journal's last time before durations are no longer believed."""


def system_clock() -> int:
    """The system's time, milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """The time as the journal takes it.

    Attributes:
        ms: never below the journal's last time.
        trusted: false while the system clock lies too far below that; every duration is then unknown.
    """

    ms: int
    trusted: bool


class Journal:
    """The opened journal.

    Args:
        path: the database file; its folder is made with mode 0700.
        clock: the time in milliseconds; a fake one in tests.
        worker: take the worker's lock; a second worker on the same file is refused.

    Raises:
        JournalRefused: the folder or file cannot be used, is open to others, another worker holds it, or this process
            has a journal open already: the tables know one at a time.
    """

    def __init__(self, path: Path, *, clock: Callable[[], int] = system_clock, worker: bool = False) -> None:
        self.clock = clock
        _folder(path.parent)
        # One file has one lock, whatever name it is reached by.
        self.path = path = path.resolve()
        # SQLite lets those who wait for it starve each other; the threads of one process go one after another instead.
        self._writing = threading.RLock()
        self._lock = _hold(path.with_name(path.name + ".worker")) if worker else None
        old = os.umask(0o077)
        try:
            for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
                if file.exists():
                    _private(file, 0o600)
            if database.obj is not None and not database.is_closed():
                raise JournalRefused("this process has a journal open already; close it first")
            self._database = pw.SqliteDatabase(
                str(path),
                pragmas={"journal_mode": "wal", "synchronous": "full", "foreign_keys": 1, "busy_timeout": 10_000},
                autoconnect=False,
            )
            database.initialize(self._database)
            self._database.connect()
            self._migrate()
        except (pw.DatabaseError, OSError) as error:
            self.close()
            raise JournalRefused(f"the journal {path} cannot be used: {error}") from error
        except BaseException:
            self.close()
            raise
        finally:
            os.umask(old)

    def close(self) -> None:
        """Close the database and give the worker's lock back."""
        if hasattr(self, "_database") and not self._database.is_closed():
            self._database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def connected(self) -> Iterator[None]:
        """A connection of the calling thread's own, closed afterwards; the thread that opened the journal has one.

        Raises:
            JournalRefused: the database cannot be opened any more.
        """
        if not self._database.is_closed():
            yield
            return
        try:
            self._database.connect()
        except pw.DatabaseError as error:
            raise JournalRefused(f"the journal {self.path} cannot be used: {error}") from error
        try:
            yield
        finally:
            self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One unit of work that no other writer interleaves with; rolled back whole on any exception.

        The calling thread is `connected`.

        Raises:
            JournalRefused: the database could not be written: its disk is full, it is read-only, or somebody keeps it
                locked.
        """
        try:
            with self._writing, self._database.atomic("IMMEDIATE"):
                yield
        except pw.OperationalError as error:
            raise JournalRefused(f"the journal {self.path} cannot be written: {error}") from error

    def now(self) -> Moment:
        """The time; stored inside a transaction by `advance_clock`, so that it never runs backwards over a restart."""
        system = self.clock()
        last = Clock.select(Clock.last).scalar() or 0
        return Moment(max(system, last), system >= last - BACKWARDS_TOLERANCE_MS)

    def advance_clock(self) -> Moment:
        """Like `now`, and keep it as the journal's last time. Call it inside a transaction."""
        moment = self.now()
        Clock.update(last=moment.ms).where(Clock.last < moment.ms).execute()
        return moment

    def _migrate(self) -> None:
        from playhouse.migrations import Runner

        with self._database.atomic("IMMEDIATE"):
            Runner(self._database, directory=str(Path(__file__).parent / "migrations")).up()


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
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise JournalRefused(f"another worker works on {path.with_suffix('')}; one file has one worker") from error
    return descriptor
