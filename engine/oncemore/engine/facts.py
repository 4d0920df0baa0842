"""What is known about a Request now: what the journal itself holds, and what the outside says when it is read?

The journal's own facts are read twice: once for the decision, and again inside the transaction that acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from oncemore.engine import routes
from oncemore.engine.errors import OncemoreError, PortError
from oncemore.engine.journal import Moment
from oncemore.engine.ports import (
    GrantReading,
    GrantRef,
    Inventory,
    NativeTurn,
    Newer,
    Ports,
    SessionView,
    SourceRef,
    Thread,
    TurnView,
    Workspace,
)
from oncemore.engine.statements import Prepared, row_of
from oncemore.engine.tables import (
    Attempt,
    Delivery,
    Request,
    Session,
    SessionThread,
    StartIntent,
    Turn,
    database,
)
from oncemore.rules.case import Case, Evidence, Reading, Value, judge
from oncemore.rules.vocabulary import FACTS

NO_SPREAD: Mapping[str, int] = MappingProxyType({})

STARTED = ("starting", "running", "completing", "interrupting")
"""A Turn in one of these may be running a model."""


@dataclass(frozen=True, slots=True)
class JournalFacts:
    """The journal's own facts of one Request at one moment; compared as a whole.

    Attributes:
        values: by fact name, None where the journal does not know.
        session: `closed`, `active` or `idle` as far as the journal alone can say.
        newer: `dispatched`, `queued` or `none`, of our own later Requests.
        accepted: the Source's ids of every message of the Session that is in the journal, whatever became of it.
        ended_at: the later of our own and the runtime's recorded end of the Turn that the decision is about.
        turn: its id.
        cancelled: it was settled as cancelled.
    """

    values: Mapping[str, Value | None]
    session: str
    newer: str
    accepted: frozenset[str]
    ended_at: int | None
    turn: str | None = None
    cancelled: bool = False


_ACCEPTED = Prepared(database, 1, lambda session: Request.select(Request.message).where(Request.session == session))


def journal_facts(request: str, besides: str | None = None, about: Turn | None = None) -> JournalFacts:
    """Read them. Call it inside a transaction.

    Args:
        about: the Turn that the decision is about; the last ended one when None.
        besides: the Turn of the Attempt that is being decided: it, its reservation and its place in the queue do not
            count. Everything else does, withdrawn Attempts too.
    """
    row = Request.get_by_id(request)
    turn = about or last_ended(request)
    values: dict[str, Value | None] = {
        "request.role": row.role,
        "request.audience": row.audience,
        "request.host": row.host,
        "request.attachments": row.attachments,
        "request.delegated": bool(row.delegated),
        "request.state": row.state,
        "request.stop_origin": row.stop_origin,
        "request.steered": bool(row.steered),
        "request.opted_out": bool(row.opted_out),
        "native.runtime": Session.get_by_id(row.session).runtime,
        "delivery.notice": _notice(request),
        **_turn_facts(turn),
        **_attempt_facts(request, besides),
    }
    return JournalFacts(
        values=values,
        session=_session_state(row.session, besides),
        newer=_newer_requests(row),
        accepted=frozenset(message for (message,) in _ACCEPTED(row.session)),
        ended_at=None if turn is None or turn.ended_at is None else max(turn.ended_at, turn.native_ended_at or 0),
        turn=None if turn is None else turn.id,
        cancelled=turn is not None and bool(turn.settled_cancel),
    )


_LAST_ENDED = Prepared(
    database,
    1,
    lambda request: (
        Turn.select()
        .where(Turn.request == request, Turn.ended_at.is_null(False))
        .order_by(Turn.ended_at.desc(), Turn.position.desc())
        .limit(1)
    ),
)


def last_ended(request: str) -> Turn | None:
    """The Turn that a decision about the Request is about: the last one that ended."""
    found = _LAST_ENDED(request)
    return row_of(Turn, found[0]) if found else None


@dataclass(frozen=True, slots=True)
class Observed:
    """One look at the outside.

    Attributes:
        inventory: None where the runtime could not be read at all.
        grant: holds an open workspace; the holder closes it.
        failures: what could not be read, one sentence each.
    """

    readings: Mapping[str, Reading]
    inventory: Inventory | None
    grant: GrantReading | None
    newer: Newer | None
    failures: tuple[str, ...]


def observe(
    request: str, ports: Ports, review: SessionView | None = None, *, spread: Mapping[str, int] = NO_SPREAD
) -> Observed:
    """Read the Source, the grant, the runtime and its route. What cannot be read is not among the readings.

    Args:
        review: the Session with the thread that was loaded for a review, when one is about to start.
        spread: as in `Settings`.
    """
    row = Request.get_by_id(request)
    session = Session.get_by_id(row.session)
    source = ports.sources.get(session.source)
    runtime = ports.runtimes.get(session.runtime)
    readings: dict[str, Reading] = {}
    failures: list[str] = []
    grant: GrantReading | None = None
    newer: Newer | None = None
    inventory: Inventory | None = None
    reference = source_ref(row, session)
    try:
        if source is None:
            raise PortError(f"the source {session.source} is not configured")
        readings.update(source.read(reference))
        newer = source.newer(reference)
    except OncemoreError as error:
        failures.append(f"source: {error}")
    try:
        if ports.grants is None:
            raise PortError("no grants are configured")
        grant = ports.grants.read(grant_ref(session))
        readings.update(grant.readings)
    except OncemoreError as error:
        failures.append(f"grant: {error}")
    try:
        if runtime is None:
            raise PortError(f"the runtime {session.runtime} is not configured")
        inventory = runtime.inventory(session_view(session.id), turn_view(last_ended(request)))
        readings.update(inventory.readings)
    except OncemoreError as error:
        failures.append(f"runtime: {error}")
    try:
        readings.update(_route(request, session, ports, review, spread))
    except OncemoreError as error:
        failures.append(f"route: {error}")
    return Observed(readings, inventory, grant, newer, tuple(failures))


def _route(
    request: str, session: Session, ports: Ports, review: SessionView | None, spread: Mapping[str, int]
) -> dict[str, Reading]:
    """What is known of the way to a model; looked at only after a failure, when a retry or a review may need it."""
    turn = last_ended(request)
    if turn is None or turn.status == "completed":
        return {}
    found: dict[str, Reading] = {}
    if ports.reviews is not None and (review is not None or session.runtime != ports.reviews[0]):
        name, home = ports.reviews
        view = review or SessionView(session.id, name, home, ())
        found["route.restricted_profile"] = ports.runtimes[name].restricted(view)
    capacity = ports.capacity.get(session.runtime)
    if capacity is not None and routes.may_look(session.runtime, request, spread.get(session.runtime, routes.SPREAD)):
        found["route.state"] = capacity.read()
    return found


def build_case(facts: JournalFacts, observed: Observed, moment: Moment, waiting_since: int | None) -> Case:
    """Put both together as the case that the policies judge, every reading judged at `moment`."""
    now = moment.ms
    journal = Evidence(source="journal", observed_at=now)
    readings = {
        name: judge(now, reading.value, reading.evidence, FACTS[name].max_age) if reading.status == "known" else reading
        for name, reading in observed.readings.items()
    }
    by_owner = readings.get("request.opted_out")
    for name, value in facts.values.items():
        readings[name] = judge(now, value, journal, None)
    if by_owner is not None:
        readings["request.opted_out"] = by_owner
    readings["turn.ended_ago"] = _ended_ago(facts.ended_at, moment, journal)
    readings["session.state"] = _joined_session(facts.session, readings.get("native.run_state"), journal)
    readings["session.newer_input"] = _joined_newer(facts, observed, now)
    if facts.cancelled:
        # What a cancelled Turn did is never known, whatever a later look at the runtime says.
        readings["native.effects"] = Reading("reported", None, journal)
    if not moment.trusted:
        for name, reading in readings.items():
            if FACTS[name].type == "duration":
                readings[name] = Reading("clock", None, reading.evidence)
    return Case(now=now, readings=readings, waiting_since=waiting_since)


_THREADS = Prepared(
    database,
    2,
    lambda session, runtime: (
        SessionThread.select()
        .where(SessionThread.session == session, SessionThread.runtime == runtime)
        .order_by(SessionThread.ordinal)
    ),
)
_STARTED = Prepared(
    database,
    1,
    lambda session: (
        Turn.select(Turn.id).join(StartIntent, on=(StartIntent.turn == Turn.id)).where(Turn.session == session)
    ),
)


def session_view(session: str, runtime: str | None = None) -> SessionView:
    """The Session as a runtime needs to know it: with the threads of that runtime alone.

    Args:
        runtime: the Session's own when None.
    """
    row = Session.get_by_id(session)
    name = runtime or row.runtime
    threads = [row_of(SessionThread, each) for each in _THREADS(session, name)]
    return SessionView(
        id=session,
        runtime=name,
        home=row.home,
        threads=tuple(Thread(thread.runtime, thread.home, thread.thread) for thread in threads),
        client_ids=frozenset(turn for (turn,) in _STARTED(session)),
        set_aside=frozenset(thread.thread for thread in threads if thread.set_aside),
    )


def running_view(turn: Turn) -> SessionView:
    """The Session as the runtime that runs this Turn needs to know it; a review has a thread of its own."""
    if turn.phase != "review":
        return session_view(turn.session)
    row = SessionThread.get(SessionThread.session == turn.session, SessionThread.thread == turn.native_thread)
    whole = session_view(turn.session, row.runtime)
    return replace(whole, home=row.home, threads=(Thread(row.runtime, row.home, row.thread),), set_aside=frozenset())


def turn_view(turn: Turn | None) -> TurnView:
    """A Turn as an inventory is asked for it."""
    if turn is None:
        return TurnView(client_id="")
    native = None
    if turn.native_thread is not None and turn.native_turn is not None:
        native = NativeTurn(turn.native_thread, turn.native_turn)
    return TurnView(
        client_id=turn.id,
        native=native,
        input_digest=turn.input_digest,
        started_at=turn.started_at,
        ended_at=turn.ended_at,
    )


def source_ref(row: Request, session: Session) -> SourceRef:
    """The message as it was accepted."""
    return SourceRef(source=session.source, message=row.message, sender=row.sender, digest=row.digest)


def grant_ref(session: Session) -> GrantRef:
    """The grant as it stood when the Session was made."""
    return GrantRef(
        workspace_id=session.workspace,
        owner=session.owner,
        level=session.grant_level,
        revision=session.grant_revision,
        root=Workspace(session.root, session.root_device, session.root_inode),
    )


def _turn_facts(turn: Turn | None) -> dict[str, Value | None]:
    if turn is None:
        return {}
    return {
        "turn.phase": turn.phase,
        "turn.attempt": turn.ordinal,
        "turn.status": turn.status,
        "turn.error": turn.error,
        "turn.has_reply": bool(turn.has_reply),
        "turn.has_deltas": bool(turn.has_deltas),
        "report.state": turn.report_state,
        "response.has_gate": None if turn.has_gate is None else bool(turn.has_gate),
    }


_ATTEMPTS = Prepared(
    database,
    1,
    lambda request: Attempt.select(Attempt.kind, Attempt.open, Attempt.turn).where(Attempt.request == request),
)


def _attempt_facts(request: str, besides: str | None) -> dict[str, Value]:
    rows = [(kind, still) for kind, still, turn in _ATTEMPTS(request) if turn != besides]
    used: dict[str, Value] = {
        f"attempts.{kind}": sum(each == kind for each, _ in rows) for kind in ("work", "review", "quota", "route")
    }
    return {**used, "attempts.open": any(still for _, still in rows)}


_NEWEST_DELIVERY = Prepared(
    database,
    1,
    lambda request: (
        Delivery.select(Delivery.state)
        .where(Delivery.request == request)
        .order_by(Delivery.frozen_at.desc(), Delivery.id)
        .limit(1)
    ),
)


def _notice(request: str) -> Value:
    newest = _NEWEST_DELIVERY(request)
    if not newest:
        return "none"
    state = str(newest[0][0])
    return state if state in ("verified", "ambiguous") else "unverified"


_RUNNING = Prepared(
    database,
    2,
    lambda session, besides: Turn.select(Turn.id).where(
        Turn.session == session, Turn.status.in_(STARTED), Turn.id != besides
    ),
)


def _session_state(session: str, besides: str | None) -> str:
    row = Session.get_by_id(session)
    if row.state == "closed":
        return "closed"
    claimed = row.active_turn is not None and row.active_turn != besides
    return "active" if claimed or _RUNNING(session, besides or "") else "idle"


_LATER = Prepared(
    database,
    2,
    lambda session, position: Turn.select(Turn.status).where(
        Turn.request.in_(Request.select(Request.id).where(Request.session == session, Request.position > position)),
        Turn.phase == "business",
    ),
)


def _newer_requests(row: Request) -> str:
    states = [state for (state,) in _LATER(row.session, row.position)]
    if "queued" in states:
        return "queued"
    return "dispatched" if states else "none"


def _ended_ago(ended_at: int | None, moment: Moment, evidence: Evidence) -> Reading:
    if ended_at is None:
        return Reading("missing", None, evidence)
    if ended_at > moment.ms + 5_000:
        return Reading("conflict", None, evidence)
    return Reading("known", max(0, moment.ms - ended_at), evidence)


def _joined_session(journal: str, native: Reading | None, evidence: Evidence) -> Reading:
    """`closed` and `active` need one witness; `idle` needs both."""
    if journal != "idle":
        return Reading("known", journal, evidence)
    if native is None:
        return Reading("missing", None, evidence)
    return Reading(native.status, native.value, native.evidence)


def _joined_newer(facts: JournalFacts, observed: Observed, now: int) -> Reading:
    """Queued before dispatched before none; `none` needs the Source, the journal and a complete inventory."""
    if observed.newer is None:
        return Reading("missing")
    evidence = Evidence(source="journal and source", observed_at=min(observed.newer.observed_at, now))
    if facts.newer == "queued" or any(message not in facts.accepted for message in observed.newer.messages):
        return Reading("known", "queued", evidence)
    if facts.newer == "dispatched":
        return Reading("known", "dispatched", evidence)
    foreign = observed.readings.get("native.foreign_input")
    if foreign is None or foreign.status != "known":
        return Reading("missing", None, evidence)
    return Reading("known", "dispatched" if foreign.value else "none", evidence)
