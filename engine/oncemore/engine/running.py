"""How does a started Turn come to its end in the journal?

The intent is stored before; here is the call, its receipt, the watching, and the settling: one transaction in which the
Turn ends and never changes again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

from oncemore.engine import advice, breaker, budgets, deliveries, events, facts, judging, observing, texts
from oncemore.engine.context import Context, due, lock, wake
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import PortError, Refused, Unreadable
from oncemore.engine.ports import NativeTurn, Observation, Profile, SessionView, TurnView
from oncemore.engine.response import Response, parse
from oncemore.engine.tables import Attempt, Request, Session, StartIntent, StartReceipt, Turn


def start(context: Context, turn: Turn) -> NativeTurn | None:
    """Call the runtime, once, and store its receipt; None when the Turn is not running afterwards."""
    runtime = context.runs(turn)
    turn = Turn.get_by_id(turn.id)
    try:
        native = runtime.start(
            facts.running_view(turn), turn.id, texts.fetch(turn.input_digest), _recorded_profile(turn.id)
        )
    except Refused as error:
        settle(context, turn.id, Observation("failed", True, error="route_unavailable"), f"not started: {error}")
        return None
    except PortError:
        # Nobody knows whether it runs. With every process of ours ended, nothing can still be on its way,
        # and the inventory tells.
        runtime.close()
        return None
    context.checkpoint(CrashPoint.AFTER_START_CALL, turn.id)
    return native if receive(context, turn.id, native, "answered") else None


def receive(context: Context, turn: str, native: NativeTurn, proof: str) -> bool:
    """Store which native turn a start led to; False when that was somebody else's turn already."""
    intent = StartIntent.select().where(StartIntent.turn == turn).order_by(StartIntent.ordinal.desc()).get()
    if native.turn_id in json.loads(intent.held):
        settle(context, turn, Observation("failed", True, error="other"), MERGED)
        return False
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        row = Turn.get_by_id(turn)
        lock(row.session)
        StartReceipt.insert(
            turn=turn, native_thread=native.thread_id, native_turn=native.turn_id, proof=proof, at=now
        ).execute()
        Turn.update(status="running", native_thread=native.thread_id, native_turn=native.turn_id).where(
            Turn.id == turn
        ).execute()
        events.append(
            row.request, "started", now, turn=turn, thread=native.thread_id, native=native.turn_id, proof=proof
        )
    context.checkpoint(CrashPoint.AFTER_START_RECEIPT, turn)
    return True


MERGED = "the start went into a native turn that was there before; whose work it became is not known"


CANCEL_PATIENCE = 60_000
"""How long an interrupted Turn may take to end before it is looked up in the inventory instead, milliseconds."""


def watch(context: Context, turn: Turn, native: NativeTurn) -> Observation | None:
    """Wait for the end; interrupt on a stop or when the time is over. None when the runtime can no longer be asked."""
    runtime = context.runs(turn)
    if not _still_granted(context, turn):
        with context.journal.transaction():
            events.append(turn.request, "workspace_changed", context.journal.advance_clock().ms, turn=turn.id)
        with suppress(PortError):
            runtime.cancel(native)
    began = context.ticks()
    told = timed_out = False
    retries = 0
    cancelled: float | None = None
    while True:
        try:
            seen = runtime.observe(native, context.settings.slice / 1000)
        except Unreadable:
            return None
        if not told:
            context.checkpoint(CrashPoint.WHILE_RUNNING, turn.id)
            told = True
        if seen.retries > retries:
            retries = seen.retries
            _note_retries(context, turn, retries)
        if not seen.ended and cancelled is None and _somebody_elses(seen):
            settle(context, turn.id, Observation("failed", True, error="other", deltas=seen.deltas), FOREIGN)
            return None
        context.renew()
        if not seen.ended and seen.readings and _settled_in_turn(context, turn, seen):
            return None
        if seen.ended:
            late = timed_out and seen.status == "interrupted"
            return replace(seen, error="hard_timeout") if late else seen
        deliveries.answer_commands(context)
        ticks = context.ticks()
        if cancelled is not None:
            if ticks - cancelled > CANCEL_PATIENCE:
                return None
            continue
        stopped = Request.get_by_id(turn.request).state == "stopped"
        timed_out = ticks - began > context.settings.hard_timeout
        if stopped or timed_out:
            try:
                runtime.cancel(native)
            except PortError:
                return None
            cancelled = ticks


FOREIGN = "somebody else wrote into the conversation before it was cancelled there; what it did is not known"


def _somebody_elses(seen: Observation) -> bool:
    """Whether a whole look shows that the Turn was cut off and that somebody else has written there since it began.

    No answer of it can come, and what comes is theirs: there is nothing to wait for, and a cancellation when the time
    is over would hit their work. An input of somebody else alone ends nothing; the answer may still come.
    """
    now = seen.readings.get("native.status")
    going_on = now is None or (now.status == "known" and now.value == "in_progress")
    wanted = {
        "native.foreign_input": True,
        "native.steps_ended": True,
        "native.last_step": "canceled",
        "native.normal_final": False,
    }
    found = {name: seen.readings[name] for name in wanted if name in seen.readings}
    return not going_on and {name: one.value for name, one in found.items() if one.status == "known"} == wanted


CANCELLED = "cancelled at the runtime; it may have been executed, and what it did is not known"


def _settled_in_turn(context: Context, turn: Turn, seen: Observation) -> bool:
    """Let the policies that may settle a running Turn judge this one complete look; whether one did.

    Nothing is cancelled and nothing is sent: the runtime has come to rest by itself. A crash before the transaction
    leaves the Turn running, and the next look derives the same answer.
    """
    with context.journal.transaction():
        known = facts.journal_facts(turn.request, about=Turn.get_by_id(turn.id))
        moment = context.journal.advance_clock()
    observed = facts.Observed(seen.readings, None, None, None, ())
    judgement = judging.judge(context, turn.request, facts.build_case(known, observed, moment, None), "in_turn")
    fires = judgement.fired is not None
    with context.journal.transaction():
        lock(turn.session)
        if fires and turn.phase != "business":
            budgets.take(context)
        if facts.journal_facts(turn.request, about=Turn.get_by_id(turn.id)) != known:
            return False
        now = context.journal.advance_clock().ms
        judging.record(context, turn.request, judgement, "in_turn", turn.id, now, acts=fires)
        if fires:
            ended = Observation("failed", True, error="upstream_transport_failure", deltas=seen.deltas)
            _end(context, turn.id, ended, Response(text=""), CANCELLED, now, cancelled=True)
    if fires:
        context.observer.acted("settle_turn", "settled")
        context.checkpoint(CrashPoint.AFTER_SETTLE, turn.id)
    return fires


def finish(context: Context, turn: Turn, native: NativeTurn, seen: Observation, detail: str | None = None) -> None:
    """Settle a Turn that has ended, a review only after it was checked, and let its thread go."""
    turn = Turn.get_by_id(turn.id)
    view = facts.running_view(turn)
    if turn.phase == "review" and seen.status == "completed":
        rejected = _rejection(context, turn, native, view, seen)
        if rejected is not None:
            seen, detail = Observation("failed", True, error="other", deltas=seen.deltas), rejected
    settle(context, turn.id, seen, detail)
    with suppress(PortError):
        context.runs(turn).release(view)


def _rejection(context: Context, turn: Turn, native: NativeTurn, view: SessionView, seen: Observation) -> str | None:
    """Why a review's answer may not be delivered: it did more than read, or asks for more than an answer."""
    try:
        inventory = context.runs(turn).inventory(view, TurnView(turn.id, native))
    except PortError as error:
        return f"the review cannot be checked: {error}"
    if inventory.only_reading is not True:
        return "the review did more than read" if inventory.only_reading is False else "the review cannot be checked"
    gates = set(parse(seen.answer or "", turn.word).gates) - {"gate"}
    return f"the review's answer holds {', '.join(sorted(gates))}" if gates else None


def _still_granted(context: Context, turn: Turn) -> bool:
    """Whether the workspace is still the granted folder now that the runtime works in it; unknown does not count as no.

    The runtime resolves the folder's path itself, so that a folder put in its place between loading and starting is
    seen only here.
    """
    try:
        if context.ports.grants is None:
            return False
        grant = context.ports.grants.read(facts.grant_ref(Session.get_by_id(turn.session)))
    except PortError:
        return True
    if grant.workspace is not None:
        grant.workspace.close()
    state = grant.readings.get("grant.state")
    return state is None or state.status != "known" or state.value == "intact"


def _note_retries(context: Context, turn: Turn, retries: int) -> None:
    """Say that the runtime does not get through: the first time, and each time that the number has doubled."""
    if retries & (retries - 1):
        return
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        events.append(turn.request, "retrying", now, turn=turn.id, tries=retries)


def settle(context: Context, turn: str, seen: Observation, detail: str | None = None) -> None:
    """End the Turn with what was seen, its Attempt with it, and free the Session. Earlier Turns are not touched."""
    response = Response(text="") if seen.answer is None else parse(seen.answer, Turn.get_by_id(turn).word)
    with context.journal.transaction():
        row = Turn.get_by_id(turn)
        lock(row.session)
        if row.phase != "business":
            budgets.take(context)
        if row.ended_at is not None:
            return
        now = context.journal.advance_clock().ms
        _end(context, turn, seen, response, detail, now)
    context.checkpoint(CrashPoint.AFTER_SETTLE, turn)


def _end(
    context: Context,
    turn: str,
    seen: Observation,
    response: Response,
    detail: str | None,
    now: int,
    *,
    cancelled: bool = False,
) -> None:
    """Write the Turn's end, its Attempt's with it, and free the Session. Inside a transaction; for a recovery it has
    taken the row of budgets, since one that failed may open the breaker."""
    row = Turn.get_by_id(turn)
    completed = seen.status == "completed"
    status = "timed_out" if seen.error == "hard_timeout" else seen.status
    reply = texts.store(response.text, now) if completed and response.text else None
    stored = texts.store(response.stored(), now) if completed else None
    if row.phase != "business":
        state = "ambiguous" if detail == MERGED else _attempt_state(seen, response)
        Attempt.update(state=state, open=False, reason=detail or seen.error, settled_at=now).where(
            Attempt.turn == turn
        ).execute()
        breaker.judge(context.settings.budgets.breaker, now)
        budgets.freed(now)
        advice.settle(row.request, advice.DONE, now)
        context.observer.acted(observing.ACTIONS[row.phase], state)
    if seen.error == "usage_limit_exceeded":
        budgets.seen(_route(context, row), "exhausted", now)
    Turn.update(
        status=status,
        error=seen.error,
        detail=detail,
        native_ended_at=seen.ended_at,
        reply_digest=reply.digest if reply else None,
        reply_length=reply.length if reply else None,
        response_digest=stored.digest if stored else None,
        report_state=response.report_state if completed else None,
        has_gate=bool(response.gates) if completed else None,
        has_reply=reply is not None,
        has_deltas=seen.deltas,
        settled_cancel=cancelled,
        ended_at=now,
    ).where(Turn.id == turn).execute()
    Session.update(active_turn=None).where(Session.id == row.session, Session.active_turn == turn).execute()
    due(row.request, now)
    events.append(
        row.request,
        "ended",
        now,
        turn=turn,
        status=status,
        error=seen.error,
        report=response.report_state if completed else None,
        reply=reply.digest if reply else None,
        detail=detail,
    )
    wake(row.session, now)


def _route(context: Context, turn: Turn) -> str:
    return budgets.route_of(budgets.reviews_on(context), Session.get_by_id(turn.session), turn.phase)


def _attempt_state(seen: Observation, response: Response) -> str:
    if seen.status != "completed":
        return "failed"
    return "unfinished" if response.report_state == "valid" else "answered"


def _recorded_profile(turn: str) -> Profile:
    recorded = Turn.get_by_id(turn).profile
    assert recorded is not None, "stored with the intent"
    stored = json.loads(recorded)
    return Profile(sandbox=stored["sandbox"], writable_roots=tuple(stored["writable_roots"]), network=stored["network"])
