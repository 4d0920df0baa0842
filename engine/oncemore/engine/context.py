"""What do the steps of the executor share?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from oncemore.engine import events
from oncemore.engine.crashpoints import Checkpoint, unobserved
from oncemore.engine.errors import PortError
from oncemore.engine.journal import Journal
from oncemore.engine.leases import Leases, OneWorker
from oncemore.engine.limits import Budgets
from oncemore.engine.observing import SILENT, Observer
from oncemore.engine.ports import Ports, Runtime, Source
from oncemore.engine.process import Process
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.statements import Prepared, row_of
from oncemore.engine.tables import Request, Session, Turn, database


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations of the executor's own, in milliseconds, and what the operator allows at most; none of them decides
    anything.

    Attributes:
        observe_again: after how long a waiting case is looked at again when no gate says a time.
        retry_outside: after how long something outside that was busy or did not answer is tried again.
        hard_timeout: how long one Turn may run before it is interrupted.
        slice: how long one look at a running Turn may take; a stop is seen at the end of it.
        spread: by runtime, for how long nobody else asks about its capacity after one Request did; see `routes`.
        budgets: how many recoveries there may be.
    """

    observe_again: int = 30_000
    retry_outside: int = 5_000
    hard_timeout: int = 900_000
    slice: int = 500
    spread: Mapping[str, int] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(slots=True)
class Context:
    """Everything a step needs; one for each worker."""

    journal: Journal
    ports: Ports
    rules: Rulebook
    settings: Settings = field(default_factory=Settings)
    checkpoint: Checkpoint = unobserved
    observer: Observer = SILENT
    leases: Leases = field(default_factory=OneWorker)
    process: Process = field(default_factory=Process.current)
    ticks: Callable[[], float] = lambda: time.monotonic() * 1000
    """Milliseconds that pass while this process watches, whatever the system clock is set to."""
    renew: Callable[[], None] = lambda: None
    """Called where the rules may become others: no decision is in hand."""

    def runtime(self, session: Session) -> Runtime:
        """The Session's runtime. Raises `PortError` when it is not configured."""
        found = self.ports.runtimes.get(session.runtime)
        if found is None:
            raise PortError(f"the runtime {session.runtime} is not configured")
        return found

    def runs(self, turn: Turn) -> Runtime:
        """The runtime that runs this Turn: the Session's, or the one for reviews. Raises `PortError`."""
        if turn.phase != "review":
            return self.runtime(Session.get_by_id(turn.session))
        if self.ports.reviews is None or self.ports.reviews[0] not in self.ports.runtimes:
            raise PortError("no runtime for reviews is configured")
        return self.ports.runtimes[self.ports.reviews[0]]

    def source(self, session: Session) -> Source:
        """The Session's Source. Raises `PortError` when it is not configured."""
        found = self.ports.sources.get(session.source)
        if found is None:
            raise PortError(f"the source {session.source} is not configured")
        return found


_LOCK = Prepared(
    database, 1, lambda one: Session.update(fence=Session.fence + 1).where(Session.id == one).returning(Session)
)
_DUE = Prepared(
    database,
    3,
    lambda at, held, one: Request.update(due_at=at, held=held).where(
        Request.id == one, Request.words == Request.words_seen
    ),
)
_LOOK = Prepared(database, 1, lambda one: Request.update(words_seen=Request.words).where(Request.id == one))


def lock(session: str) -> Session:
    """Take the Session's row for this transaction, and read it. A write to it is a lock on either database."""
    [row] = _LOCK(session)
    return row_of(Session, row)


def due(request: str, at: int | None, held: str | None = None) -> None:
    """Say when the Request is looked at again (None: not by itself), and why it is held. Inside a transaction.

    A person's word that came since the step began made the Request due at once; that stands.
    """
    _DUE(at, held, request)


def look(request: str) -> None:
    """A step with the Request begins: everything that people said of it so far is known to it. Inside a transaction."""
    _LOOK(request)


def wake(session: str, now: int) -> None:
    """Something of the Session changed: every open Request of it with work left is due. Inside a transaction."""
    unfinished = Turn.select(Turn.request).where(Turn.session == session, Turn.ended_at.is_null())
    Request.update(due_at=now).where(
        Request.session == session,
        Request.held.is_null(),
        (Request.due_at.is_null(False)) | (Request.id.in_(unfinished)),
    ).execute()


def let_go(session: str, turn: Turn, now: int, at: int | None, why: str, held: str | None = None) -> None:
    """Give a claimed Turn back to the queue: nothing was started, nothing is spent. Inside a transaction."""
    Session.update(active_turn=None).where(Session.id == session, Session.active_turn == turn.id).execute()
    due(turn.request, at, held)
    events.append(turn.request, "let_go", now, turn=turn.id, why=why, until=at)
