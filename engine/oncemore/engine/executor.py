"""What is the next thing to do for a Request that is due?

One step at a time, each of which leaves the journal in a state from which any other process could go on.
"""

from __future__ import annotations

from contextlib import suppress

from oncemore.engine import admission, deliveries, dispatch, events, facts, reconciliation, running
from oncemore.engine.context import Context, due, lock, look
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import FactsChanged, NotFound, PortError
from oncemore.engine.statements import Prepared
from oncemore.engine.tables import Attempt, Delivery, Request, Session, Turn, database

_OPEN_ATTEMPT = Prepared(
    database,
    1,
    lambda request: Attempt.select(Attempt.turn).where(Attempt.request == request, Attempt.open == True).limit(1),  # noqa: E712
)
_QUEUED = Prepared(
    database, 1, lambda request: Turn.select(Turn.id).where(Turn.request == request, Turn.status == "queued").limit(1)
)

STEPS = 64
"""More steps in one go than any Request has; reaching it is a fault, and the Request is held."""


def advance(context: Context, request: str) -> None:
    """Do everything of this Request that can be done now; afterwards its next look is in its row.

    Raises:
        NotFound: there is no such Request.
    """
    if Request.get_or_none(Request.id == request) is None:
        raise NotFound(f"there is no Request {request}")
    for _ in range(STEPS):
        try:
            if not _step(context, request):
                return
        except FactsChanged:
            continue
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        due(request, None, f"it did not come to rest in {STEPS} steps")
        events.append(request, "fault", now, steps=STEPS)


def _step(context: Context, request: str) -> bool:
    """One step; whether there may be another at once."""
    context.renew()
    with context.journal.transaction():
        look(request)
    row = Request.get_by_id(request)
    session = Session.get_by_id(row.session)
    if session.active_turn is not None:
        # A Session is one worker's at a time, who takes one Request at a time: a Turn that is active here was left
        # behind by an ended process, or by a worker that can write nothing for it any more.
        turn = Turn.get_by_id(session.active_turn)
        changed = reconciliation.reconcile(context, turn)
        if not changed and turn.request != request:
            _later(context, request)
        return changed
    frozen = deliveries.freeze(context, request)
    if frozen is not False:
        return frozen is True
    pending = deliveries.unsettled(request)
    if pending is not None:
        return deliveries.deliver(context, pending)
    if not _queued(request) and _OPEN_ATTEMPT(request):
        return admission.enqueue(context, request)
    if _queued(request):
        return _run_next(context, row.session, request)
    return _conclude(context, row)


def _queued(request: str) -> bool:
    return bool(_QUEUED(request))


def _run_next(context: Context, session: str, request: str) -> bool:
    turn = dispatch.claim(context, session, request)
    if turn is None and not _queued(request):
        return True  # it waited longer than it may
    if turn is None:
        dispatch.wait_for_turn(context, request)
        return False
    if dispatch.begin(context, turn):
        run(context, turn)
    if turn.request == request:
        return _due_now(context, request)
    # Another Request's Turn went first. If it could not run now, this one waits for it.
    return not _queued(turn.request)


def run(context: Context, turn: Turn) -> None:
    """Start a Turn whose intent is stored, watch it to its end, and settle it."""
    native = running.start(context, turn)
    if native is None:
        return
    seen = running.watch(context, turn, native)
    if seen is None:
        return
    context.checkpoint(CrashPoint.AFTER_NATIVE_END, turn.id)
    running.finish(context, turn, native, seen)


def _conclude(context: Context, row: Request) -> bool:
    """Nothing is queued or on its way: is the Request answered, over, or a case for the policies?"""
    turn = facts.last_ended(row.id)
    if row.state != "open" or turn is None:
        _rest(context, row, row.held)
        return False
    if turn.status == "completed" and turn.phase == "review" and turn.has_gate:
        _rest(context, row, "the review's answer leaves something to a person")
        return False
    if turn.status == "completed" and turn.report_state != "valid":
        _answered(context, row)
        return False
    # A thread that still has commands in the background stays loaded; once they are over it is let go.
    with suppress(PortError):
        context.runtime(Session.get_by_id(row.session)).release(facts.session_view(row.session))
    admission.admit(context, row.id)
    return _due_now(context, row.id) or deliveries.owes(context, row.id)


def _due_now(context: Context, request: str) -> bool:
    at = Request.get_by_id(request).due_at
    return at is not None and at <= context.journal.now().ms


def _later(context: Context, request: str) -> None:
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        due(request, now + context.settings.retry_outside)


def _answered(context: Context, row: Request) -> None:
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        lock(row.session)
        if Request.get_by_id(row.id).state != "open":
            due(row.id, now)
            return
        given_up = Delivery.select().where(Delivery.request == row.id, Delivery.state == "unverified").exists()
        if given_up:
            due(row.id, None, "its answer could not be delivered")
            return
        Request.update(state="answered", due_at=None, held=None).where(Request.id == row.id).execute()
        events.append(row.id, "answered", now)


def _rest(context: Context, row: Request, held: str | None) -> None:
    with context.journal.transaction():
        context.journal.advance_clock()
        due(row.id, None, held)
