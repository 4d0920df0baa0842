"""Has the answer reached the message that asked, exactly once?

A text is frozen, then an intent is stored, then Source and grant are read again, then it is sent, its receipt stored,
and read back. Whatever breaks in between is settled by looking, never by sending again blindly.
"""

from __future__ import annotations

from collections.abc import Callable

from oncemore.engine import budgets, events, facts, prompts, queueing, texts
from oncemore.engine.context import Context, due, lock, look
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import Busy, NotFound, PortError, Refused
from oncemore.engine.ports import Receipt, Search
from oncemore.engine.process import callers_gone
from oncemore.engine.statements import Prepared, row_of
from oncemore.engine.tables import (
    Attempt,
    Decision,
    DecisionPass,
    Delivery,
    DeliveryIntent,
    Request,
    Session,
    Turn,
    database,
)
from oncemore.rules.case import Reading

VERIFY_PATIENCE = 600_000
"""For how long a sent reply may not show in the Source before it is called unverified, milliseconds."""

PERSON_FIRST = "a person's word came first"
"""The reason of an Attempt that gave way to a person: nobody is told that nothing was continued."""


def freeze(context: Context, request: str) -> bool | None:
    """Freeze the text that the Request owes its Source now, if it owes one that is not frozen yet; whether it did.

    None when it owes one that is no longer kept: the Request is held.
    """
    if not owes(context, request):
        return False  # most steps find nothing here, and need no lock to see that
    with context.journal.transaction():
        row = Request.get_by_id(request)
        lock(row.session)
        owed = _owed(context, row)
        if owed is None or _AT_STAGE(request, owed[0]):
            return False
        now = context.journal.advance_clock().ms
        stage, turn, words = owed
        try:
            text = words()
        except NotFound as error:
            due(request, None, f"nothing to deliver: {error}")
            return None
        put(request, stage, text, now, turn)
        due(request, now)
    context.checkpoint(CrashPoint.AFTER_FREEZE, f"{request}/{stage}")
    return True


def put(request: str, stage: str, text: str, now: int, turn: str | None = None) -> None:
    """Freeze one text at its stage. Inside a transaction."""
    stored = texts.store(text, now)
    Delivery.insert(
        id=f"{request}/{stage}",
        request=request,
        stage=stage,
        turn=turn,
        text_digest=stored.digest,
        text_length=stored.length,
        state="frozen",
        frozen_at=now,
    ).execute()
    events.append(request, "frozen", now, stage=stage, text=stored.digest, length=stored.length)


_UNSETTLED = Prepared(
    database,
    1,
    lambda request: (
        Delivery.select()
        .where(Delivery.request == request, Delivery.state.in_(("frozen", "sending", "sent", "ambiguous")))
        .order_by(Delivery.frozen_at, Delivery.id)
        .limit(1)
    ),
)
_AT_STAGE = Prepared(
    database,
    2,
    lambda request, stage: (
        Delivery.select(Delivery.id).where(Delivery.request == request, Delivery.stage == stage).limit(1)
    ),
)


def unsettled(request: str) -> Delivery | None:
    """The oldest Delivery of the Request that is neither verified nor given up."""
    found = _UNSETTLED(request)
    return row_of(Delivery, found[0]) if found else None


def answer_commands(context: Context) -> None:
    """Take the answers to commands a step further while a Turn runs: nobody waits for a Turn to learn its state."""
    now = context.journal.now().ms
    waiting = (
        Delivery.select()
        .join(Request, on=(Request.id == Delivery.request))
        .where(Delivery.stage == "command", Delivery.state.in_(("frozen", "sending", "sent")), Request.due_at <= now)
        .order_by(Delivery.frozen_at)
    )
    for delivery in list(waiting):
        with context.leases.session(Request.get_by_id(delivery.request).session) as held:
            if held:
                with context.journal.transaction():
                    look(delivery.request)
                deliver(context, delivery)


def deliver(context: Context, delivery: Delivery) -> bool:
    """Take one Delivery a step further; whether anything changed. Otherwise the Request's next look is set."""
    if delivery.state in ("sending", "ambiguous"):
        return _settle(context, delivery)
    if delivery.state == "sent":
        return _verify(context, delivery)
    return _send(context, delivery)


def owes(context: Context, request: str) -> bool:
    """Whether the Request owes its Source a text that is not frozen yet."""
    owed = _owed(context, Request.get_by_id(request))
    return owed is not None and not _AT_STAGE(request, owed[0])


def _retry_may_follow(context: Context, turn: Turn) -> bool | None:
    """Whether a policy may still try the failed Turn again by itself; None when nothing was decided on it yet."""
    newest = (
        DecisionPass.select(DecisionPass.id)
        .where(DecisionPass.turn == turn.id, DecisionPass.stage == "admission")
        .order_by(DecisionPass.last_seen.desc(), DecisionPass.at.desc())
        .first()
    )
    if newest is None:
        return None
    if (wait := budgets.waiting(turn.request)) is not None and wait.given_up:
        return False
    rows = Decision.select().where(Decision.decision_pass == newest.id, Decision.level == "enforce")
    return any(row.outcome in ("fire", "wait") and context.rules.action(row.policy) == "retry_business" for row in rows)


def _owed(context: Context, row: Request) -> tuple[str, str | None, Callable[[], str]] | None:
    """The stage, Turn and text of what the Source should get now."""

    def fixed(words: dict[str, str]) -> Callable[[], str]:
        return lambda: prompts.in_language(words, row.language)

    if row.state == "stopped":
        return ("stop", row.stop_target, fixed(prompts.STOPPED))
    turn = facts.last_ended(row.id)
    if turn is None or row.state != "open":
        return None
    if turn.status == "completed":
        stage = "answer" if turn.phase == "business" else f"recovery:{turn.phase}-{turn.ordinal}"
        return (stage, turn.id, lambda: _reply(turn, row.language))
    if turn.status == "withdrawn":
        attempt = Attempt.get_or_none(Attempt.turn == turn.id)
        if attempt is None or attempt.reason == PERSON_FIRST:
            return None
        return ("notice", turn.id, fixed(prompts.NOT_CONTINUED))
    if turn.error == queueing.EXPIRED:
        return ("notice", turn.id, fixed(prompts.EXPIRED))
    # A failure that is going to be tried again is not told; the last one is.
    if turn.phase in ("business", "quota", "route") and _retry_may_follow(context, turn) is not False:
        return None
    return ("notice", turn.id, fixed(prompts.FAILED))


def _reply(turn: Turn, language: str) -> str:
    if turn.reply_digest is None:
        return prompts.in_language(prompts.NO_TEXT, language)
    return texts.fetch(turn.reply_digest)


def _send(context: Context, delivery: Delivery) -> bool:
    row = Request.get_by_id(delivery.request)
    session = Session.get_by_id(row.session)
    try:
        text = texts.fetch(delivery.text_digest)
    except NotFound as error:
        return _hold(context, delivery, str(error))
    if (refusal := _may_send(context, row, session)) is not None:
        return refusal(delivery)
    if _uncertain_before(delivery) and not _within_key_window(context, delivery):
        _set_state(context, delivery, "sending", "not sent again: the Source's promise about its key is over")
        return True
    with context.journal.transaction():
        lock(session.id)
        now = context.journal.advance_clock().ms
        if not _wanted(delivery):
            return _drop(delivery, now)
        ordinal = 1 + DeliveryIntent.select().where(DeliveryIntent.delivery == delivery.id).count()
        me = context.process
        DeliveryIntent.insert(
            delivery=delivery.id,
            ordinal=ordinal,
            host=me.host,
            boot=me.boot,
            pid=me.pid,
            pid_started=me.started,
            at=now,
        ).execute()
        Delivery.update(state="sending").where(Delivery.id == delivery.id).execute()
        events.append(row.id, "send_intent", now, stage=delivery.stage, ordinal=ordinal)
    context.checkpoint(CrashPoint.AFTER_DELIVERY_INTENT, delivery.id)
    # Once more after the intent: a message edited, or a Request stopped, in this moment is not answered.
    refusal = _may_send(context, row, session)
    if refusal is not None or not _wanted(delivery):
        _not_sent(context, delivery, "Source, grant or Request changed")
        return True if refusal is None else refusal(delivery)
    try:
        receipt = context.source(session).reply(facts.source_ref(row, session), text, delivery.id)
    except Busy as error:
        _not_sent(context, delivery, str(error))
        return _wait(context, delivery)
    except Refused as error:
        _not_sent(context, delivery, str(error))
        return _hold(context, delivery, f"the Source refused the reply: {error}")
    except PortError:
        # Whatever the failure was, it is not known to have prevented the reply.
        return _wait(context, delivery)
    context.checkpoint(CrashPoint.AFTER_SEND, delivery.id)
    _store_receipt(context, delivery, receipt, "answered")
    context.checkpoint(CrashPoint.AFTER_RECEIPT, delivery.id)
    return True


def _wanted(delivery: Delivery) -> bool:
    """Whether the Request still wants this text: a stopped one only its stop's answer, a closed one none, a command
    always its own."""
    state = Request.get_by_id(delivery.request).state
    return bool(state == {"stop": "stopped", "command": "answered"}.get(delivery.stage, "open"))


def _drop(delivery: Delivery, now: int) -> bool:
    """Give up a text that is no longer wanted. Inside a transaction."""
    Delivery.update(state="unverified", detail="no longer wanted when it was to be sent").where(
        Delivery.id == delivery.id
    ).execute()
    events.append(delivery.request, "dropped", now, stage=delivery.stage)
    due(delivery.request, now)
    return True


class _Refusal:
    """Why nothing may be sent now, and what follows."""

    def __init__(self, context: Context, why: str | None) -> None:
        self._context, self._why = context, why

    def __call__(self, delivery: Delivery) -> bool:
        if self._why is None:
            return _wait(self._context, delivery)
        return _hold(self._context, delivery, self._why)


def _may_send(context: Context, row: Request, session: Session) -> _Refusal | None:
    """None when the message is there, unchanged, from the same person, and the grant stands."""
    readings: dict[str, Reading] = {}
    try:
        readings.update(context.source(session).read(facts.source_ref(row, session)))
        if context.ports.grants is None:
            return _Refusal(context, None)
        grant = context.ports.grants.read(facts.grant_ref(session))
        if grant.workspace is not None:
            grant.workspace.close()
        readings.update(grant.readings)
    except PortError:
        return _Refusal(context, None)
    wanted = {"source.state": "unchanged", "source.sender_verified": True, "grant.state": "intact"}
    for fact, value in wanted.items():
        reading = readings.get(fact)
        if reading is None or reading.status != "known" or reading.value == "unavailable":
            return _Refusal(context, None)
        if reading.value != value:
            return _Refusal(context, f"not delivered: {fact} is {reading.value}")
    return None


def _store_receipt(context: Context, delivery: Delivery, receipt: Receipt, proof: str) -> None:
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        Delivery.update(state="sent", reply=receipt.reply, sent_at=now).where(Delivery.id == delivery.id).execute()
        events.append(delivery.request, "send_receipt", now, stage=delivery.stage, reply=receipt.reply, proof=proof)


def _verify(context: Context, delivery: Delivery) -> bool:
    receipt = Receipt(delivery.reply, delivery.sent_at or 0)
    search = _search(context, delivery, receipt)
    if search is None or search.receipt is None:
        if search is None or context.journal.now().ms - (delivery.sent_at or 0) < VERIFY_PATIENCE:
            return _wait(context, delivery)
        return _give_up(context, delivery, "the Source took the reply and does not show it")
    with context.journal.transaction():
        lock(Request.get_by_id(delivery.request).session)
        now = context.journal.advance_clock().ms
        Delivery.update(state="verified", verified_at=now, reply=search.receipt.reply).where(
            Delivery.id == delivery.id
        ).execute()
        due(delivery.request, now)
        events.append(delivery.request, "verified", now, stage=delivery.stage, reply=search.receipt.reply)
    context.checkpoint(CrashPoint.AFTER_VERIFY, delivery.id)
    return True


def _settle(context: Context, delivery: Delivery) -> bool:
    """An intent without a receipt: found, absent, or neither."""
    search = _search(context, delivery, None)
    if search is not None and search.receipt is not None:
        _store_receipt(context, delivery, search.receipt, "found")
        return True
    if search is not None and search.absence_proven and _sender_gone(context, delivery):
        _set_state(context, delivery, "frozen", "absent: a complete read does not show it, and its sender is gone")
        return True
    if search is not None and _within_key_window(context, delivery) and _sender_gone(context, delivery):
        _set_state(
            context, delivery, "frozen", "may be sent again: the Source keeps one reply under its key", again=True
        )
        return True
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        if delivery.state != "ambiguous":
            Delivery.update(state="ambiguous").where(Delivery.id == delivery.id).execute()
            events.append(delivery.request, "ambiguous", now, stage=delivery.stage)
        # Looking again is only a read, and may yet find it; nothing is sent.
        due(delivery.request, now + context.settings.observe_again, f"the reply {delivery.stage} may have been sent")
    return False


def _search(context: Context, delivery: Delivery, receipt: Receipt | None) -> Search | None:
    row = Request.get_by_id(delivery.request)
    session = Session.get_by_id(row.session)
    try:
        text = texts.fetch(delivery.text_digest)
        return context.source(session).find(facts.source_ref(row, session), text, delivery.id, receipt)
    except (PortError, NotFound):
        return None


def _within_key_window(context: Context, delivery: Delivery) -> bool:
    """Whether the Source still promises to keep one reply only under this Delivery's key."""
    first = DeliveryIntent.get(DeliveryIntent.delivery == delivery.id, DeliveryIntent.ordinal == 1)
    session = Session.get_by_id(Request.get_by_id(delivery.request).session)
    try:
        window = context.source(session).key_window
    except PortError:
        return False
    return context.journal.now().ms - first.at < window


def _sender_gone(context: Context, delivery: Delivery) -> bool:
    """Whether nobody can still be sending: this process is not."""
    intents = DeliveryIntent.select().where(DeliveryIntent.delivery == delivery.id)
    return callers_gone(intents, but=context.process)


def _set_state(context: Context, delivery: Delivery, state: str, why: str, *, again: bool = False) -> None:
    """Store what became of a try: `not_sent` is certain, `send_again` is not."""
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        Delivery.update(state=state, detail=why).where(Delivery.id == delivery.id).execute()
        events.append(delivery.request, "send_again" if again else "not_sent", now, stage=delivery.stage, why=why)
        due(delivery.request, now)


def _uncertain_before(delivery: Delivery) -> bool:
    """Whether an earlier try of this Delivery may have arrived."""
    return events.happened(delivery.request, "send_again", stage=delivery.stage)


def _not_sent(context: Context, delivery: Delivery, why: str) -> None:
    """This try certainly did not arrive. It says nothing about an earlier one that may have."""
    _set_state(context, delivery, "sending" if _uncertain_before(delivery) else "frozen", f"not sent: {why}")


def _give_up(context: Context, delivery: Delivery, why: str) -> bool:
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        Delivery.update(state="unverified", detail=why).where(Delivery.id == delivery.id).execute()
        due(delivery.request, None, why)
        events.append(delivery.request, "unverified", now, stage=delivery.stage, why=why)
    return False


def _wait(context: Context, delivery: Delivery) -> bool:
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        due(delivery.request, now + context.settings.retry_outside)
    return False


def _hold(context: Context, delivery: Delivery, why: str) -> bool:
    with context.journal.transaction():
        context.journal.advance_clock()
        due(delivery.request, None, why)
    return False
