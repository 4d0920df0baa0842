"""May this Request be taken up once more, and if so, is the one try reserved and in the queue?"""

from __future__ import annotations

from oncemore.engine import advice, budgets, events, facts, inputs, judging, observing
from oncemore.engine.context import Context, due, lock
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.decision import Pass
from oncemore.engine.errors import Conflict, FactsChanged, OtherThanDecided, PortError
from oncemore.engine.intake import random_word
from oncemore.engine.queueing import queue_turn
from oncemore.engine.tables import Attempt, Request, Session, Turn
from oncemore.rules.case import Case


def admit(context: Context, request: str) -> None:
    """Observe, decide, and on `fire` reserve. Otherwise say when to look again, or what holds it."""
    observed = facts.observe(request, context.ports, spread=context.settings.spread)
    if observed.grant is not None and observed.grant.workspace is not None:
        observed.grant.workspace.close()
    context.checkpoint(CrashPoint.AFTER_OBSERVE, request)
    with context.journal.transaction():
        known = facts.journal_facts(request)
        moment = context.journal.advance_clock()
        since = Request.get_by_id(request).waiting_since
    case = facts.build_case(known, observed, moment, known.ended_at if since is None else since)
    judgement = judging.judge(context, request, case, "admission")
    context.checkpoint(CrashPoint.AFTER_DECIDE, request)
    if judgement.fired is None:
        _note(context, request, judgement, known, case)
        return
    if not _reserve(context, request, judgement, known, case):
        return
    context.checkpoint(CrashPoint.AFTER_RESERVE, request)
    enqueue(context, request)


def enqueue(context: Context, request: str) -> bool:
    """Put the reserved Turn into the Session's queue; the very same one that is there already is adopted.

    Returns:
        Whether there may be more to do at once; not where its input is waited for.

    The try is spent without a model where what it would be handed is other than what was decided on, or could not be
    read for as long as its policy waits.

    Raises:
        Conflict: a Turn of that identity is there with other content; nothing is overwritten.
    """
    word = random_word()
    try:
        text = inputs.recovery_input(context, request, word)
    except OtherThanDecided as error:
        _spend(context, request, str(error))
        return True
    except PortError:
        if _patience_is_over(context, request):
            _spend(context, request, "patience")
            return True
        with context.journal.transaction():
            due(request, context.journal.advance_clock().ms + context.settings.retry_outside)
        return False
    with context.journal.transaction():
        attempt = Attempt.get_or_none(Attempt.request == request, Attempt.open == True)  # noqa: E712
        if attempt is None:
            return True  # a person closed the Request meanwhile
        lock(Request.get_by_id(request).session)
        now = context.journal.advance_clock().ms
        there = Turn.get_or_none(Turn.id == attempt.turn)
        if there is None:
            queue_turn(request, attempt.kind, attempt.ordinal, text, word, now)
        elif (there.request, there.phase) != (request, attempt.kind):
            raise Conflict(f"the Turn {attempt.turn} is in the queue with other content")
        due(request, now)
    context.checkpoint(CrashPoint.AFTER_ENQUEUE, request)
    return True


def _patience_is_over(context: Context, request: str) -> bool:
    patience = context.rules.patience(events.latest(request, "reserved")["policy"])
    attempt = Attempt.get_or_none(Attempt.request == request, Attempt.open == True)  # noqa: E712
    return attempt is not None and patience is not None and context.journal.now().ms - attempt.reserved_at >= patience


def _spend(context: Context, request: str, reason: str) -> None:
    """End the reserved Attempt, whose Turn is in no queue: it stays used."""
    with context.journal.transaction():
        lock(Request.get_by_id(request).session)
        now = context.journal.advance_clock().ms
        attempt = Attempt.get_or_none(Attempt.request == request, Attempt.open == True)  # noqa: E712
        if attempt is None:
            return  # a person closed the Request meanwhile
        Attempt.update(state="withdrawn", open=False, reason=reason, settled_at=now).where(
            Attempt.request == request,
            Attempt.open == True,  # noqa: E712
        ).execute()
        due(request, now)
        events.append(request, "withdrawn", now, turn=attempt.turn, reason=reason)
        advice.settle(request, advice.REFUSED, now, reason)
        budgets.freed(now)
    context.observer.acted(observing.ACTIONS[attempt.kind], "withdrawn")


def _reserve(context: Context, request: str, judgement: Pass, known: facts.JournalFacts, case: Case) -> bool:
    """Reserve the one try, or write down which budget it waits for; whether it is reserved."""
    policy = judgement.fired
    assert policy is not None
    own = judging.of_policy(judgement, policy)
    assert own is not None
    kind = context.rules.attempt(policy)
    with context.journal.transaction():
        session = lock(Request.get_by_id(request).session)
        budgets.take(context)
        now = context.journal.advance_clock().ms
        if facts.journal_facts(request) != known:
            due(request, now)
            raise FactsChanged(f"{request} changed while it was being decided")
        _note_capacity(session, case, now)
        wait = budgets.room(context, request, kind, now)
        judging.record(context, request, judgement, "admission", known.turn, now, acts=wait is None)
        advice.judged(request, judgement.records, policy, now)
        if wait is not None:
            budgets.wait(context, request, policy, wait, now, now)
        else:
            budgets.over(request)
            _keep(request, kind, policy, own["decision_id"], now)
    context.observer.acted(observing.ACTIONS[kind], "reserved" if wait is None else "wait")
    return wait is None


def _keep(request: str, kind: str, policy: str, decision: str, now: int) -> None:
    """Write the Attempt down. Inside a transaction."""
    ordinal = 1 + Attempt.select().where(Attempt.request == request, Attempt.kind == kind).count()
    turn = f"{request}-{kind}-{ordinal}"
    Attempt.insert(
        request=request,
        kind=kind,
        ordinal=ordinal,
        turn=turn,
        decision=decision,
        state="reserved",
        open=True,
        reserved_at=now,
    ).execute()
    due(request, now)
    events.append(request, "reserved", now, turn=turn, policy=policy, decision=decision)


def _note_capacity(session: Session, case: Case, now: int) -> None:
    """Remember what was seen of the route's room. Inside a transaction."""
    reading = case.reading("route.state")
    if reading.status == "known":
        budgets.seen(session.runtime, str(reading.value), now)


def _note(context: Context, request: str, judgement: Pass, known: facts.JournalFacts, case: Case) -> None:
    """Nothing may act now: store why, and when to look again."""
    with context.journal.transaction():
        session = lock(Request.get_by_id(request).session)
        now = context.journal.advance_clock().ms
        if facts.journal_facts(request) != known:
            due(request, now)
            raise FactsChanged(f"{request} changed while it was being decided")
        judging.record(context, request, judgement, "admission", known.turn, now, acts=False)
        _note_capacity(session, case, now)
        budgets.judged(request, judgement.records)
        advice.judged(request, judgement.records, None, now)
        waiting = [each for each in judgement.records if each["outcome"] == "wait"]
        if waiting:
            times = [judging.millis(each["until"]) or now + context.settings.observe_again for each in waiting]
            due(request, max(now + 1, min(times)))
            return
        due(request, None, _held(judgement))


def _held(judgement: Pass) -> str | None:
    for each in judgement.records:
        if each["outcome"] == "hold":
            return f"{each['policy']['name']}: {each['reason']['gate'] or each['reason']['kind']}"
    return None
