"""How is a journal kept on a PostgreSQL server?

By any number of processes at once, at READ COMMITTED: what must not interleave locks the Session's row first. A thread
that works under a lease proves it at the beginning of every transaction, and holds that Session's row to its end.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import peewee as pw

from oncemore.engine.errors import JournalInterrupted, JournalRefused, LeaseLost
from oncemore.engine.statements import Rendering

SCHEMES = ("postgresql", "postgres")

SETTINGS = {
    # A commit that is answered is on the server's disk.
    "synchronous_commit": "on",
    # Nobody waits for ever: for a row, or because a process stands still in the middle of a transaction.
    "lock_timeout": "20s",
    "idle_in_transaction_session_timeout": "60s",
}

CONNECTIONS = 16
"""Most of one process at once; a server gives a hundred to all of them where nothing else is configured."""

CONNECTION_WAIT = 10
"""Seconds that a thread waits for one of them to come free."""

MIGRATING = 0x6F6E63656D6F7265
"""The advisory lock around migrations; the number spells the program's name."""

KEEP = "set local synchronous_commit = off; update clock set last = {0:d} where id = 1 and last < {0:d}"
"""The journal's last time; nobody waits for the disk because of it."""

HELD = """select lease.token from session join lease on lease.session = session.id
    where session.id = %s and lease.token = %s for no key update of session for share of lease"""
"""Whether a lease is held; then nobody takes it over, or writes for its Session, before the transaction ends."""


def is_url(place: object) -> bool:
    """Whether a journal's place is meant as a URL; a file's path never begins so."""
    return isinstance(place, str) and place.split(":", 1)[0] in SCHEMES and "://" in place


def url_amiss(url: str) -> str | None:
    """What is wrong with a journal's URL; None when nothing is. Passwords are never part of it."""
    if re.search(r"[\s\x00-\x1f\x7f]", url):
        return "the journal's URL holds a space or a control character; write it as %20"
    try:
        parts = urlsplit(url)
        secret = parts.password is not None
        _ = parts.port
    except ValueError as error:
        return f"the journal's URL cannot be read: {error}"
    if secret or {"password", "sslpassword"} & {name.lower() for name, _ in parse_qsl(parts.query, True)}:
        return "the journal's URL holds a password; take it out and set PGPASSWORD, or name a file in PGPASSFILE"
    if not parts.path.strip("/"):
        return "the journal's URL names no database: postgresql://user@host/database"
    return None


MAY_WORK = """select bool_and(has_table_privilege('request', needed))
    from unnest(array['select', 'insert', 'update']) as needed"""


WORKERS = "select count(*) from worker where until > extract(epoch from clock_timestamp()) * 1000"
"""How many said lately that they are there."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a server found.

    Attributes:
        version: the server's.
        made: the journal's tables are there.
        amiss: what keeps it from being used; empty when nothing does.
        workers: how many said lately that they are there.
    """

    version: str
    made: bool
    amiss: str
    workers: int


def look(url: str) -> Seen:
    """How a journal's database stands; nothing is changed by looking.

    Raises:
        JournalRefused: it cannot be reached.
    """
    server = PostgresServer(url)
    try:
        with server.database.connection_context():
            return _seen(server.database)
    except pw.PeeweeException as error:
        raise JournalRefused(f"the journal {url} cannot be used: {words(error)}") from error
    finally:
        server.close()


def _seen(database: Any) -> Seen:
    def told(query: str) -> Any:
        return database.execute_sql(query).fetchone()[0]

    made, version = told("select to_regclass('schema_migration') is not null"), str(told("show server_version"))
    amiss = ""
    if (encoding := told("show server_encoding")) != "UTF8":
        amiss = f"the database keeps texts as {encoding}; one with UTF8 is needed"
    elif told("select pg_is_in_recovery()"):
        amiss = "the server is in recovery mode"
    elif not made and not told("select has_schema_privilege(current_schema(), 'create')"):
        amiss = f"permission denied for schema {told('select current_schema()')}"
    elif not made and told("select to_regclass('request') is not null"):
        amiss = 'relation "request" already exists'
    elif made and not told(MAY_WORK):
        amiss = "permission denied for table request"
    workers = 0
    if made and not amiss and told("select to_regclass('worker') is not null"):
        workers = told(WORKERS)
    return Seen(version.split()[0], made, amiss, workers)


class OfThread(threading.local):
    """What is the thread's own.

    Attributes:
        session, token: the lease that it works under; None outside of any.
        moment: the latest time that its transaction took; 0 for none.
    """

    session: str | None = None
    token: int | None = None
    moment: int = 0


class PostgresServer:
    """The server's database, prepared.

    Args:
        url: as libpq takes it, without a password.

    Raises:
        JournalRefused: the URL is not right, or psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        if (amiss := url_amiss(url)) is not None:
            raise JournalRefused(amiss)
        self.place = url
        self.thread = OfThread()
        self.database = _database(url, self.thread)

    def opened(self) -> None:
        """Which database it is stays the server's business."""

    def amiss(self) -> str | None:
        """Why the database may not be used any more; the server says so itself."""
        return None

    def worked(self) -> bool:
        """Whether a worker said lately that it is there."""
        return bool(self.database.execute_sql(WORKERS).fetchone()[0])

    @contextmanager
    def private(self) -> Iterator[None]:
        """Who may read there is the server's business."""
        yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One transaction, or a part of the one that the thread is in."""
        with self.database.atomic():
            yield

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """One transaction in which nobody else migrates."""
        with self.database.atomic():
            self.database.execute_sql("select pg_advisory_xact_lock(%s)", (MIGRATING,))
            [(encoding,)] = self.database.execute_sql("show server_encoding").fetchall()
            if encoding != "UTF8":
                raise JournalRefused(f"the database of {self.place} keeps texts as {encoding}; one with UTF8 is needed")
            yield

    @contextmanager
    def holding(self, session: str | None, token: int | None) -> Iterator[None]:
        """Every transaction of this thread inside proves this lease first; with None it proves none."""
        before = self.thread.session, self.thread.token
        self.thread.session, self.thread.token = session, token
        try:
            yield
        finally:
            self.thread.session, self.thread.token = before

    def note(self, ms: int) -> None:
        """What the thread's transaction takes as the time."""
        self.thread.moment = max(self.thread.moment, ms)

    def keep(self) -> None:
        """Store the noted time behind a commit: a row that everybody writes is locked for a moment only, and nobody
        waits for the disk because of it. A server that dies just then loses that moment, and no row."""
        moment, self.thread.moment = self.thread.moment, 0
        if moment == 0:
            return
        from psycopg import Error

        with suppress(Error, pw.PeeweeException):
            self.database.connection().execute(KEEP.format(moment))

    def renew(self) -> None:
        """A new connection for the calling thread, in the place of one that broke."""
        if not self.database.is_closed():
            self.database.manual_close()
        self.database.connect()

    def refusal(self, error: pw.PeeweeException) -> JournalRefused | None:
        """What a failed unit of work is called; None for one that is a mistake of ours."""
        state = getattr(getattr(error, "orig", None), "sqlstate", None)
        told = words(error)
        if state in ("42501", "25006", "53100"):
            return JournalRefused(f"the journal {self.place} cannot be written: {told}")
        if isinstance(error, (pw.OperationalError, pw.InterfaceError)):
            undone = state is not None and state[:2] in ("40", "55")
            return JournalInterrupted(f"the journal {self.place} was interrupted: {told}", undone=undone)
        return None

    def close(self) -> None:
        """End every connection that no thread uses."""
        with suppress(pw.PeeweeException):
            self.database.close_idle()


def words(error: BaseException) -> str:
    """The server's own words in one line, without the statement."""
    text = str(error).strip() or type(error).__name__
    lines = [line.strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if line and not re.match(r"(LINE \d+:|\^|CONTEXT:)", line))


def _database(url: str, own: OfThread) -> Any:
    try:
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise JournalRefused(
            "a journal on PostgreSQL needs psycopg, which is not installed: pip install 'oncemore[postgres]'"
        ) from None
    from playhouse.pool import MaxConnectionsExceeded, PooledPostgresqlDatabase

    class Fenced(PooledPostgresqlDatabase):  # type: ignore[misc]
        """A pool whose transactions prove the thread's lease before anything else."""

        context_class = Rendering

        def connect(self, reuse_if_open: bool = False) -> bool:
            try:
                return bool(super().connect(reuse_if_open))
            except MaxConnectionsExceeded:
                raise pw.OperationalError(
                    f"all {CONNECTIONS} connections of this process were in use for {CONNECTION_WAIT} s"
                ) from None

        def begin(self, isolation_level: str | None = None) -> None:
            super().begin(isolation_level)
            if own.session is None:
                return
            try:
                held = self.execute_sql(HELD, (own.session, own.token)).fetchone()
                if held is None:
                    raise LeaseLost(f"another worker has taken {own.session} over; nothing was written")
            except BaseException:
                with suppress(pw.PeeweeException):
                    self.rollback()
                raise

    try:
        told = conninfo_to_dict(url)
    except Exception as error:  # libpq's own reading of the URL
        raise JournalRefused(f"the journal's URL cannot be read: {words(error)}") from None
    settings = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    told["options"] = f"{settings} {told.get('options') or ''}".strip()
    told.setdefault("application_name", "oncemore")
    told.setdefault("connect_timeout", 10)
    name = told.pop("dbname")
    return Fenced(
        name,
        prefer_psycopg3=True,
        encoding="utf8",
        isolation_level="READ COMMITTED",
        max_connections=CONNECTIONS,
        timeout=CONNECTION_WAIT,
        stale_timeout=300,
        autoconnect=False,
        **told,
    )
