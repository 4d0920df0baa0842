"""Which queued Turn of a Session runs next, and may it still?

A person's Turn always goes before a recovery, whatever its age. A recovery is decided again here, on facts read after
the native thread was loaded, because only then can nobody else be writing to it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict

from oncemore.engine import advice, breaker, budgets, events, facts, inputs, judging, observing, queueing, texts
from oncemore.engine.context import Context, due, let_go, lock, look, wake
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.deliveries import PERSON_FIRST
from oncemore.engine.errors import Busy, FactsChanged, NotFound, PortError, Refused
from oncemore.engine.ports import GrantReading, Inventory, Profile, SessionView, Thread, Workspace
from oncemore.engine.tables import Attempt, Request, Session, SessionThread, StartIntent, Turn
from oncemore.rules.case import Case

STARTS = 2
"""How often one Turn's start may be tried: once, and once more after the first was proven never to have happened."""


def claim(context: Context, session: str, request: str) -> Turn | None:
    """Take the next Turn of the queue: the oldest of a person's that is not held, else the recovery.

    Those of people that have waited longer than they may end here first, unstarted. None when none may run now: one
    runs, or the oldest waits for something outside and keeps its place.

    Args:
        request: the Request that is being advanced; its own Turn may be taken before its next look is due.
    """
    with context.journal.transaction():
        row = lock(session)
        if row.active_turn is not None:
            return None
        now = context.journal.advance_clock().ms
        expired = queueing.expire(session, now)
        turn = _next(session, request, now)
        if turn is not None:
            look(turn.request)
            Session.update(active_turn=turn.id).where(Session.id == session).execute()
            events.append(turn.request, "claimed", now, turn=turn.id)
    for one in expired:
        context.checkpoint(CrashPoint.AFTER_SETTLE, one)
    if turn is not None:
        context.checkpoint(CrashPoint.AFTER_CLAIM, turn.id)
    return turn


def _next(session: str, request: str, now: int) -> Turn | None:
    turns = list(Turn.select().where(Turn.session == session, Turn.status == "queued").order_by(Turn.position))
    people = [turn for turn in turns if turn.phase == "business"]
    for turn in people:
        owner = Request.get_by_id(turn.request)
        if owner.held is not None and turn.request != request:
            continue  # it needs a person; whoever wrote after it need not wait for that
        waits = owner.due_at is None or owner.due_at > now
        return None if waits and turn.request != request else turn
    return None if people else next(iter(turns), None)


def wait_for_turn(context: Context, request: str) -> None:
    """Nothing of the Session may run now: look again later; a recovery whose patience is over is withdrawn."""
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        attempt = Attempt.get_or_none(Attempt.request == request, Attempt.open == True)  # noqa: E712
        if attempt is not None:
            patience = context.rules.patience(events.latest(request, "reserved")["policy"])
            turn = Turn.get_or_none(Turn.id == attempt.turn, Turn.status == "queued")
            if turn is not None and patience is not None and now - attempt.reserved_at >= patience:
                lock(turn.session)
                withdraw(context, turn, "patience", now)
                return
        due(request, now + context.settings.retry_outside)


def begin(context: Context, turn: Turn) -> bool:
    """Load the thread, look at everything afresh, and store the intent to start; whether the start may be called now.

    Otherwise the Turn is back in the queue with a time, or it ended without a model.
    """
    session = Session.get_by_id(turn.session)
    grant: GrantReading | None = None
    try:
        texts.fetch(turn.input_digest)
        if context.ports.grants is None:
            raise PortError("no grants are configured")
        grant = context.ports.grants.read(facts.grant_ref(session))
        profile = _profile(turn, grant)
        thread: Thread | None = None
        if profile is not None and grant.workspace is not None and session.state == "open":
            thread = _load(context, turn, profile, grant.workspace)
            context.checkpoint(CrashPoint.AFTER_LOAD, turn.id)
        if turn.phase == "business":
            return _begin_human(context, turn, profile, thread)
        return _begin_recovery(context, turn, profile, thread)
    except Busy as error:
        return _again(context, turn, f"busy: {error}", context.settings.retry_outside)
    except Refused as error:
        return _held(context, turn, f"the runtime does not keep to what was granted: {error}")
    except NotFound as error:
        return _held(context, turn, f"not started: {error}")
    except FactsChanged:
        return _again(context, turn, "the journal changed", 0)
    except PortError as error:
        return _again(context, turn, f"not readable: {error}", context.settings.retry_outside)
    finally:
        if grant is not None and grant.workspace is not None:
            grant.workspace.close()


def _load(context: Context, turn: Turn, profile: Profile, workspace: Workspace) -> Thread:
    """Own the thread that the Turn runs in: the Session's, or a new one for a review."""
    if turn.phase == "review" and context.ports.reviews is not None:
        name, home = context.ports.reviews
        return context.runs(turn).load(SessionView(turn.session, name, home, ()), profile, workspace).thread
    loaded = context.runs(turn).load(facts.session_view(turn.session), profile, workspace)
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        lock(turn.session)
        _record_thread(turn.session, loaded.thread, now)
    return loaded.thread


def _begin_human(context: Context, turn: Turn, profile: Profile | None, thread: Thread | None) -> bool:
    """A person's own Turn needs no policy: the message must stand, and the grant."""
    with context.journal.transaction():
        known = facts.journal_facts(turn.request, turn.id)
    observed = facts.observe(turn.request, context.ports, spread=context.settings.spread)
    if observed.grant is not None and observed.grant.workspace is not None:
        observed.grant.workspace.close()
    wanted = {"source.state": "unchanged", "source.sender_verified": True, "grant.state": "intact"}
    for fact, value in wanted.items():
        reading = observed.readings.get(fact)
        if reading is None or reading.status != "known" or reading.value == "unavailable":
            return _again(context, turn, f"{fact} is not known", context.settings.retry_outside)
        if reading.value != value:
            return _held(context, turn, f"not started: {fact} is {reading.value}")
    if observed.inventory is None or not observed.inventory.complete or profile is None or thread is None:
        return _again(context, turn, "; ".join(observed.failures) or "the inventory is not complete", None)
    with context.journal.transaction():
        _check(context, turn, known)
        _intend(context, turn, profile, observed.inventory, thread)
    context.checkpoint(CrashPoint.AFTER_START_INTENT, turn.id)
    return True


def _begin_recovery(context: Context, turn: Turn, profile: Profile | None, thread: Thread | None) -> bool:
    attempt = Attempt.get(Attempt.turn == turn.id)
    with context.journal.transaction():
        known = facts.journal_facts(turn.request, turn.id)
        policy = events.latest(turn.request, "reserved")["policy"]
    review = None
    if turn.phase == "review" and thread is not None:
        review = SessionView(turn.session, thread.runtime, thread.home, (thread,))
    observed = facts.observe(turn.request, context.ports, review, spread=context.settings.spread)
    if observed.grant is not None and observed.grant.workspace is not None:
        observed.grant.workspace.close()
    if review is not None and not inputs.material_stands(context, turn.request, texts.fetch(turn.input_digest)):
        return _held(context, turn, "what the review was handed is no longer what the runtime holds")
    case = facts.build_case(known, observed, context.journal.now(), attempt.reserved_at)
    judgement = judging.judge(context, turn.request, case, "dispatch")
    own = judging.of_policy(judgement, policy)
    ready = observed.inventory is not None and profile is not None and thread is not None
    passed = judgement.fired == policy and ready
    outcome = "not_concerned" if own is None else str(own["outcome"])
    with context.journal.transaction():
        _check(context, turn, known)
        now = context.journal.advance_clock().ms
        stopped = passed and breaker.opened() is not None
        fires = passed and not stopped
        judging.record(context, turn.request, judgement, "dispatch", turn.id, now, acts=fires)
        if fires:
            budgets.over(turn.request)
            assert observed.inventory is not None and profile is not None and thread is not None
            _intend(context, turn, profile, observed.inventory, thread)
        elif stopped:
            _wait_for_breaker(context, turn, attempt, policy, now)
        elif own is not None and outcome in ("wait", "fire") and own["level"] == "enforce":
            until = judging.millis(own["until"]) or now + context.settings.observe_again
            let_go(turn.session, turn, now, max(until, now + 1), f"waits: {own['reason']['gate']}")
        else:
            person = _person_first(known, case)
            reason = PERSON_FIRST if person else _reason(own)
            withdraw(context, turn, reason, now)
    if not fires:
        with suppress(PortError):
            context.runs(turn).release(review or facts.session_view(turn.session))
        return False
    context.checkpoint(CrashPoint.AFTER_START_INTENT, turn.id)
    return True


def _wait_for_breaker(context: Context, turn: Turn, attempt: Attempt, policy: str, now: int) -> None:
    """Give the Turn back to the queue until the breaker is closed, for as long as its policy waits. Inside a
    transaction."""
    patience = context.rules.patience(policy)
    if patience is not None and now - attempt.reserved_at >= patience:
        withdraw(context, turn, "patience", now)
        return
    wait = budgets.Wait(breaker.NAME, breaker.WHY, now + breaker.LOOK)
    budgets.wait(context, turn.request, policy, wait, now, now)
    let_go(turn.session, turn, now, wait.until, f"waits: {wait.why}")


def withdraw(context: Context, turn: Turn, reason: str, now: int) -> None:
    """End a recovery Turn without a model: the Attempt stays used. Call it inside a transaction."""
    Turn.update(status="withdrawn", detail=reason, ended_at=now).where(Turn.id == turn.id).execute()
    Attempt.update(state="withdrawn", open=False, reason=reason, settled_at=now).where(
        Attempt.turn == turn.id
    ).execute()
    Session.update(active_turn=None).where(Session.id == turn.session).execute()
    due(turn.request, now)
    events.append(turn.request, "withdrawn", now, turn=turn.id, reason=reason)
    budgets.over(turn.request)
    budgets.freed(now)
    advice.settle(turn.request, advice.REFUSED, now, reason)
    wake(turn.session, now)
    context.observer.acted(observing.ACTIONS[turn.phase], "withdrawn")


def _check(context: Context, turn: Turn, known: facts.JournalFacts) -> None:
    """The Session is locked now; nothing may have changed since the facts were read.

    Raises:
        FactsChanged: something did.
    """
    row = lock(turn.session)
    changed = facts.journal_facts(turn.request, turn.id) != known or row.active_turn != turn.id
    if changed or (turn.phase != "business" and queueing.people(turn.session).exists()):
        raise FactsChanged(f"{turn.request} changed while it was being decided")
    if Request.get_by_id(turn.request).state != "open" and turn.phase == "business":
        raise FactsChanged(f"{turn.request} is no longer open")


def _intend(context: Context, turn: Turn, profile: Profile, inventory: Inventory, thread: Thread) -> None:
    now = context.journal.advance_clock().ms
    if turn.phase == "review":
        _record_thread(turn.session, thread, now, set_aside=True)
    held = sorted(record.native.turn_id for record in inventory.turns)
    me = context.process
    ordinal = 1 + StartIntent.select().where(StartIntent.turn == turn.id).count()
    StartIntent.insert(
        turn=turn.id,
        ordinal=ordinal,
        host=me.host,
        boot=me.boot,
        pid=me.pid,
        pid_started=me.started,
        held=json.dumps(held),
        at=now,
    ).execute()
    Turn.update(
        status="starting",
        started_at=now,
        profile=json.dumps(asdict(profile), sort_keys=True),
        native_thread=thread.thread_id,
    ).where(Turn.id == turn.id).execute()
    events.append(turn.request, "start_intent", now, turn=turn.id, ordinal=ordinal)


def _profile(turn: Turn, grant: GrantReading) -> Profile | None:
    """What the grant allows now; for a recovery never wider than what the original Turn ran under, for a review
    reading alone."""
    if grant.profile is None or turn.phase == "business":
        return grant.profile
    if turn.phase == "review":
        return Profile("read_only")
    original = Turn.get(Turn.request == turn.request, Turn.phase == "business")
    if original.profile is None:
        return None
    stored = json.loads(original.profile)
    recorded = Profile(
        sandbox=stored["sandbox"], writable_roots=tuple(stored["writable_roots"]), network=stored["network"]
    )
    return recorded.narrowed(grant.profile)


def _record_thread(session: str, thread: Thread, now: int, *, set_aside: bool = False) -> None:
    """Add a thread to the Session's, unless it is its newest of that kind already. Inside a transaction."""
    threads = list(SessionThread.select().where(SessionThread.session == session).order_by(SessionThread.ordinal))
    same = [row for row in threads if bool(row.set_aside) == set_aside]
    if same and (same[-1].runtime, same[-1].home, same[-1].thread) == (thread.runtime, thread.home, thread.thread_id):
        return
    if not set_aside:
        SessionThread.update(used_to=now).where(
            SessionThread.session == session,
            SessionThread.used_to.is_null(),
            SessionThread.set_aside == False,  # noqa: E712
        ).execute()
    SessionThread.insert(
        session=session,
        ordinal=len(threads) + 1,
        runtime=thread.runtime,
        home=thread.home,
        thread=thread.thread_id,
        set_aside=set_aside,
        used_from=now,
    ).execute()


def _person_first(known: facts.JournalFacts, case: Case) -> bool:
    stopped = known.values["request.state"] != "open" or known.values["request.stop_origin"] != "none"
    newer = case.reading("session.newer_input").value in ("queued", "dispatched")
    return stopped or newer or case.reading("request.opted_out").value is True


def _reason(own: object) -> str:
    if not isinstance(own, dict):
        return "no policy of that name any more"
    if own["outcome"] == "fire":
        return f"the policy is at {own['level']}"
    return str(own["reason"]["gate"] or own["reason"]["kind"])


def _again(context: Context, turn: Turn, why: str, after: int | None) -> bool:
    wait = context.settings.retry_outside if after is None else after
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        lock(turn.session)
        row = Request.get_by_id(turn.request)
        if turn.phase == "business" and row.state != "open":
            Turn.update(status="withdrawn", detail=why, ended_at=now).where(Turn.id == turn.id).execute()
            Session.update(active_turn=None).where(Session.id == turn.session).execute()
            due(turn.request, now)
        else:
            let_go(turn.session, turn, now, now + wait, why)
    return False


def _held(context: Context, turn: Turn, why: str) -> bool:
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        lock(turn.session)
        if turn.phase == "business" and Request.get_by_id(turn.request).state != "open":
            Turn.update(status="withdrawn", detail=why, ended_at=now).where(Turn.id == turn.id).execute()
            Session.update(active_turn=None).where(Session.id == turn.session).execute()
            due(turn.request, now)
        elif turn.phase == "business":
            let_go(turn.session, turn, now, None, why, held=why)
            wake(turn.session, now)
        else:
            withdraw(context, turn, why, now)
    return False
