"""How is the journal opened, and how is it timed?

It stands in one SQLite file with one worker, or on a PostgreSQL server with any number of them. Every unit of work is
one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import peewee as pw

from oncemore.engine import postgres
from oncemore.engine.errors import JournalInterrupted, JournalRefused
from oncemore.engine.postgres import PostgresServer
from oncemore.engine.sqlite_file import SqliteFile
from oncemore.engine.statements import Prepared
from oncemore.engine.tables import Clock, database

BACKWARDS_TOLERANCE_MS = 5_000
"""How far the system clock may lie below the journal's last time before durations are no longer believed."""


_LAST = Prepared(database, 0, lambda: Clock.select(Clock.last))


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
        place: the database file, whose folder is made with mode 0700; or the URL of a database on PostgreSQL, without a
            password.
        clock: the time in milliseconds; a fake one in tests.
        worker: a worker opens it; a second one on the same file is refused.

    Raises:
        JournalRefused: folder, file or server cannot be used, what is private is open to others, another worker holds
            the file, or this process has a journal open already: the tables know one at a time.
    """

    def __init__(self, place: Path | str, *, clock: Callable[[], int] = system_clock, worker: bool = False) -> None:
        self.clock = clock
        self._store = PostgresServer(str(place)) if postgres.is_url(place) else SqliteFile(Path(place), worker=worker)
        self.place = self._store.place
        self.closed = False
        self._database = self._store.database
        try:
            if database.obj is not None and not database.is_closed():
                raise JournalRefused("this process has a journal open already; close it first")
            database.initialize(self._database)
            with self._store.private():
                self._database.connect()
                self._migrate()
            self._store.opened()
        except (pw.PeeweeException, OSError) as error:
            self.close()
            raise JournalRefused(f"the journal {self.place} cannot be used: {postgres.words(error)}") from error
        except BaseException:
            self.close()
            raise

    @property
    def server(self) -> PostgresServer | None:
        """The server, where the journal stands on one."""
        return self._store if isinstance(self._store, PostgresServer) else None

    def worked(self) -> bool:
        """Whether a worker may be there, in this process or another. The calling thread is `connected`."""
        return self._store.worked()

    def close(self) -> None:
        """Close the database and give the worker's lock back."""
        self.closed = True
        if database.obj is self._database and not self._database.is_closed():
            self._database.close()
        self._store.close()

    @contextmanager
    def connected(self) -> Iterator[None]:
        """A connection of the calling thread's own, closed afterwards; the thread that opened the journal has one.

        Raises:
            JournalRefused: the database cannot be opened any more.
        """
        if not self._database.is_closed():
            yield
            return
        if (amiss := self._store.amiss()) is not None:
            raise JournalRefused(f"the journal {self.place} cannot be used: {amiss}")
        try:
            self._database.connect()
        except pw.DatabaseError as error:
            raise JournalRefused(f"the journal {self.place} cannot be used: {postgres.words(error)}") from error
        try:
            yield
        finally:
            self._database.close()

    def reconnect(self) -> None:
        """Give the calling thread a new connection in the place of one that broke.

        Raises:
            JournalInterrupted: the server cannot be reached.
        """
        if self.server is None:
            return
        try:
            self.server.renew()
        except pw.PeeweeException as error:
            raise JournalInterrupted(f"the journal {self.place} cannot be reached: {postgres.words(error)}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One unit of work, rolled back whole on any exception.

        On SQLite no other writer interleaves with it; on PostgreSQL nobody does who locks the same Session. The calling
        thread is `connected`.

        Raises:
            JournalRefused: the database could not be written: its disk is full, it is read-only, or somebody keeps it
                locked.
            JournalInterrupted: the server broke it off.
            LeaseLost: the thread's lease is another worker's now; nothing was written.
        """
        outermost = not self._database.in_transaction()
        try:
            with self._store.transaction():
                yield
        except pw.PeeweeException as error:
            refusal = self._store.refusal(error)
            if refusal is None:
                raise
            raise refusal from error
        if outermost and self.server is not None:
            self.server.keep()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything that is read inside is of one moment, whatever is committed meanwhile. Nothing is written in it.

        The calling thread is `connected`, and in no transaction.

        Raises:
            JournalRefused: the database cannot be read.
        """
        try:
            with self._database.atomic():
                if self.server is not None:
                    self._database.execute_sql("set transaction isolation level repeatable read, read only")
                yield
        except pw.PeeweeException as error:
            refusal = self._store.refusal(error)
            if refusal is None:
                raise
            raise refusal from error

    def now(self) -> Moment:
        """The time; stored inside a transaction by `advance_clock`, so that it never runs backwards over a restart."""
        system = self.clock()
        found = _LAST()
        last = found[0][0] if found else 0
        return Moment(max(system, last), system >= last - BACKWARDS_TOLERANCE_MS)

    def advance_clock(self) -> Moment:
        """Like `now`, and keep it as the journal's last time. Call it inside a transaction."""
        moment = self.now()
        if self.server is None:
            Clock.update(last=moment.ms).where(Clock.last < moment.ms).execute()
        else:
            # A row that everybody writes must not stay locked until a transaction ends: it is kept behind the commit.
            self.server.note(moment.ms)
        return moment

    def _migrate(self) -> None:
        from playhouse.migrations import Runner

        with self._store.migrating():
            runner = Runner(self._database, directory=str(Path(__file__).parent / "migrations"))
            found = runner.status()
            unknown = [one.name for one in found if one.path is None]
            if unknown:
                raise JournalRefused(
                    f"the journal {self.place} was made by a newer Oncemore, which knows {', '.join(unknown)}; "
                    "install that one, or put back the copy from before the upgrade"
                )
            # Whoever may only read and write rows is not asked for the right to make tables.
            if any(one.applied is None for one in found):
                runner.up()
