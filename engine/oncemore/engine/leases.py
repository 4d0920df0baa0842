"""Which Sessions may this worker work on, and for how long?

A Session is worked on by one worker at a time. The one worker of a SQLite file has all of them. On PostgreSQL a worker
takes a few that are due and holds each by a lease: it says that it is there while it is; once it has said nothing for
the length of a lease, or its process is provably gone, others take its Sessions, and its own tokens are worth nothing
any more.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import peewee as pw

from oncemore.engine.errors import JournalRefused, LeaseLost
from oncemore.engine.journal import Journal
from oncemore.engine.process import Process
from oncemore.engine.tables import Request

log = logging.getLogger("oncemore.worker")

HAND_BACK = 1.0
"""After how many seconds with one Session a worker gives those back that it took beside it and has not begun."""

NOW = "(extract(epoch from clock_timestamp()) * 1000)::bigint"
"""The database's own clock, in milliseconds: leases go by it, not by that of any worker."""

CLAIM = """with due as materialized (
    select id, session, due_at from request
    where due_at <= %s and not id = any(%s) and session <> all(array(select session from lease))
    order by due_at, id limit %s for no key update of request skip locked),
first as (select session, min(due_at) as due_at from due group by session),
made as (insert into lease (session, worker, taken_at) select session, %s, {now} from first order by session
    on conflict (session) do nothing returning session, token)
select session, token from made join first using (session) order by first.due_at, session""".replace("{now}", NOW)
"""Sessions with work that is due and that nobody holds, the longest due first; nobody waits here for anybody."""

CLAIM_ONE = f"""insert into lease (session, worker, taken_at) values (%s, %s, {NOW}) on conflict (session)
    do update set taken_at = excluded.taken_at where lease.worker = excluded.worker returning token"""  # noqa: S608

NEXT_DUE = """select due_at from request where due_at is not null and session <> all(array(select session from lease))
    order by due_at, id limit 1"""

OTHERS = "select id, host, boot, pid, pid_started from worker where id <> %s and host = %s"

LEFT_BEHIND = f"""delete from lease where token in (select token from lease join worker on worker.id = lease.worker
    where worker.until <= {NOW} or worker.id = any(%s) for update of lease skip locked)
    returning session, worker"""  # noqa: S608

ENDED = f"""delete from worker where (until <= {NOW} or id = any(%s))
    and not exists (select 1 from lease where lease.worker = worker.id)"""  # noqa: S608

REGISTER = f"""insert into worker (name, host, boot, pid, pid_started, started_at, until)
    values (%s, %s, %s, %s, %s, {NOW}, {NOW} + %s) returning id"""  # noqa: S608

STILL_THERE = f"update worker set until = {NOW} + %s where id = %s returning id"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Terms:
    """How workers share what is due.

    Attributes:
        name: of this worker, for people; the host's with the process id where None.
        lease: after how long without a sign a worker's Sessions are taken by others, milliseconds.
        batch: how many due Requests a worker looks at when it takes Sessions.
    """

    name: str | None = None
    lease: int = 15_000
    batch: int = 8


class Leases(Protocol):
    """What a worker needs to know of the others."""

    def next(self, now: int, besides: Collection[str]) -> str | None:
        """A Request that is due and in this worker's hand now, the longest due first; None when there is none.

        Args:
            now: milliseconds since the epoch.
            besides: Requests that are not asked for.
        """

    def next_due(self) -> int | None:
        """When the next Request is due that nobody has in hand, milliseconds since the epoch; None when none is."""

    def session(self, session: str) -> Any:
        """A context in which this worker works on the Session; what it gives is false where another one has it."""

    def close(self) -> None:
        """Give everything back."""


def longest_due(now: int, besides: Collection[str]) -> pw.ModelSelect[Request]:
    """The Requests that are due, the longest due first."""
    due = Request.select(Request.id).where(Request.due_at <= now, Request.id.not_in(besides))
    return due.order_by(Request.due_at, Request.id)


class OneWorker:
    """The worker of a SQLite file: the file's lock says that there is no other."""

    def next(self, now: int, besides: Collection[str]) -> str | None:
        """See `Leases`."""
        row = longest_due(now, besides).first()
        return None if row is None else str(row.id)

    def next_due(self) -> int | None:
        """See `Leases`."""
        found = Request.select(Request.due_at).where(Request.due_at.is_null(False)).order_by(Request.due_at).scalar()
        return None if found is None else int(found)

    @contextmanager
    def session(self, session: str) -> Iterator[bool]:
        """See `Leases`."""
        yield True

    def close(self) -> None:
        """See `Leases`."""


class _Held(NamedTuple):
    session: str
    token: int


class OneOfMany:
    """One of the workers on a PostgreSQL server.

    Args:
        journal: on a server; stays open until this is closed.
    """

    def __init__(self, journal: Journal, terms: Terms) -> None:
        assert journal.server is not None
        self._journal, self._terms, self._server = journal, terms, journal.server
        self._id: int | None = None
        self._in_hand: _Held | None = None
        self._since = 0.0
        self._waiting: list[_Held] = []
        self._guard = threading.Lock()
        self._closing = threading.Event()
        self._beats = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def next(self, now: int, besides: Collection[str]) -> str | None:
        """See `Leases`. The Session in hand comes first, then those that were taken with it."""
        self._begin()
        while True:
            if self._in_hand is not None:
                request = self._due_in(self._in_hand.session, now, besides)
                if request is not None:
                    return request
                self._let_go(self._in_hand)
                self._in_hand = None
            with self._guard:
                if not self._waiting:
                    self._waiting = self._claim(now, besides)
                self._in_hand = self._waiting.pop(0) if self._waiting else None
                self._since = time.monotonic()
            if self._in_hand is None:
                return None

    def next_due(self) -> int | None:
        """See `Leases`."""
        with self._apart():
            found = self._said(NEXT_DUE)
        return int(found[0][0]) if found else None

    @contextmanager
    def session(self, session: str) -> Iterator[bool]:
        """See `Leases`. One that nobody holds is taken for as long as the context lasts."""
        held = self._in_hand if self._in_hand is not None and self._in_hand.session == session else None
        taken = None if held is not None else self._claim_one(session)
        mine = held or taken
        if mine is None:
            yield False
            return
        try:
            with self._server.holding(mine.session, mine.token):
                yield True
        except LeaseLost:
            self._in_hand = None
            raise
        finally:
            if taken is not None:
                with suppress(JournalRefused):
                    self._let_go(taken)

    def close(self) -> None:
        """See `Leases`."""
        self._closing.set()
        if self._id is None:
            return
        self._beats.join()
        with suppress(JournalRefused), self._apart():
            self._said("delete from lease where worker = %s", self._id)
            self._said("delete from worker where id = %s", self._id)
        self._in_hand, self._waiting, self._id = None, [], None

    def _begin(self) -> None:
        if self._id is None:
            with self._apart():
                self._id = self._register()
            self._beats.start()

    def _register(self) -> int:
        me = Process.current()
        name = f"{self._terms.name or socket.gethostname()}-{os.getpid()}"
        [(found,)] = self._said(REGISTER, name, me.host, me.boot, me.pid, me.started, self._terms.lease)
        return int(found)

    def _due_in(self, session: str, now: int, besides: Collection[str]) -> str | None:
        row = longest_due(now, besides).where(Request.session == session).first()
        return None if row is None else str(row.id)

    def _claim(self, now: int, besides: Collection[str]) -> list[_Held]:
        """Take Sessions, and before that from those who are gone.

        Nothing is in this worker's hand now: what stands under its name was left there by a connection that broke.
        """
        me = Process.current()
        with self._apart():
            gone = [number for number, *other in self._said(OTHERS, self._id, me.host) if Process(*other).gone()]
            left = [one for one, worker in self._said(LEFT_BEHIND, [*gone, self._id]) if worker != self._id]
            if left or gone:
                log.warning("a worker is gone; its Sessions are taken up", extra={"sessions": left})
                self._said(ENDED, gone)
            self._still_there()
            return [_Held(*one) for one in self._said(CLAIM, now, list(besides), self._terms.batch, self._id)]

    def _claim_one(self, session: str) -> _Held | None:
        with self._guard:
            for one in self._waiting:
                if one.session == session:
                    self._waiting.remove(one)
                    return one
        self._begin()
        with self._apart():
            self._still_there()
            made = self._said(CLAIM_ONE, session, self._id)
        return _Held(session, made[0][0]) if made else None

    def _let_go(self, *held: _Held) -> None:
        """Give Sessions back; those that were taken over are somebody else's already."""
        with self._apart():
            self._said("delete from lease where token = any(%s)", [one.token for one in held])

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """A transaction under no lease."""
        with self._server.holding(None, None), self._journal.transaction():
            yield

    def _said(self, statement: str, *parameters: object) -> list[Any]:
        cursor = self._server.database.execute_sql(statement, parameters)
        return [] if cursor.description is None else list(cursor.fetchall())

    def _beat(self) -> None:
        """Say that this worker is there, and give back what another one could begin sooner."""
        every = min(HAND_BACK, self._terms.lease / 3000)
        told = time.monotonic()
        while not self._closing.wait(every) and not self._journal.closed:
            try:
                with self._journal.connected():
                    self._hand_back()
                    if time.monotonic() - told >= self._terms.lease / 3000:
                        with self._guard, self._apart():
                            self._still_there()
                        told = time.monotonic()
            except (JournalRefused, pw.PeeweeException) as error:
                log.warning("nobody could be told that this worker is there: %s", error)

    def _hand_back(self) -> None:
        with self._guard:
            if self._waiting and time.monotonic() - self._since >= HAND_BACK:
                self._let_go(*self._waiting)
                self._waiting = []

    def _still_there(self) -> None:
        if not self._said(STILL_THERE, self._terms.lease, self._id):
            # Everybody took it for gone, and its Sessions are theirs.
            self._id = self._register()


def leases(journal: Journal, terms: Terms) -> Leases:
    """How a worker of this journal shares it with others."""
    return OneWorker() if journal.server is None else OneOfMany(journal, terms)
