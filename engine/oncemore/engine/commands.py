"""Which messages does Oncemore answer itself, and what?

A command is one word alone in a message. What it is about and what it says are settled once, in the transaction that
takes it in; after that it is a Request that is answered already and has one text to deliver, and no Turn.
"""

from __future__ import annotations

from enum import StrEnum

from oncemore.engine import deliveries, events, intake, queueing
from oncemore.engine.command_texts import say
from oncemore.engine.context import lock, wake
from oncemore.engine.errors import Conflict, NotFound, OncemoreError
from oncemore.engine.explanation import Language, explain
from oncemore.engine.facts import STARTED
from oncemore.engine.intake import Arrival
from oncemore.engine.journal import Journal
from oncemore.engine.tables import Attempt, Delivery, Request, Session, Turn
from oncemore.rules import times
from oncemore.rules.outcome import FINALITY

STAGE = "command"
"""The stage at which a command's answer is delivered."""


class Command(StrEnum):
    """What a person can ask of Oncemore in a conversation."""

    STOP = "/stop"
    STATUS = "/status"
    NEW = "/new"
    WHY = "/why"
    HELP = "/help"


def command(text: str) -> Command | None:
    """The command that a text is; None for a message to the agent, such as `/stop please`."""
    word = text.strip().lower()
    return next((one for one in Command if one == word), None)


def accept_command(journal: Journal, session: str, arrival: Arrival, *, asked: Command | None = None) -> str:
    """Take a command in and do what it says; the same message again does and says nothing more.

    Args:
        asked: the command, where more than it stands in the text, such as the name of whom it calls.

    Returns:
        The id of its own Request.

    Raises:
        Conflict: it is no command, the same message came with other content, or the Session is closed.
    """
    asked = asked or command(arrival.text)
    if asked is None:
        raise Conflict(f"the message {arrival.message} is no command")
    with journal.transaction():
        now = journal.advance_clock().ms
        row = lock(session)
        if (before := intake.again(session, arrival)) is not None:
            return before
        if row.state == "closed":
            raise Conflict(f"the Session {session} is closed")
        queueing.expire(session, now)
        request = intake.enter(session, arrival, now, state="answered")
        target, text = _done(journal, row, asked, arrival, now)
        events.append(request, "command", now, name=asked.name.lower(), target=target)
        if text is not None:
            deliveries.put(request, STAGE, text, now)
    return request


def refuse(journal: Journal, session: str, arrival: Arrival) -> str:
    """Tell a person under their message that it waits for nothing, the queue being full; the same message again says
    nothing more.

    Returns:
        The id of its own Request, which is over and has no Turn.

    Raises:
        Conflict: the same message came with other content.
    """
    with journal.transaction():
        now = journal.advance_clock().ms
        lock(session)
        if (before := intake.again(session, arrival)) is not None:
            return before
        request = intake.enter(session, arrival, now, state="answered")
        events.append(request, "refused", now, why="queue_full")
        deliveries.put(request, STAGE, say("queue_full", arrival.language, count=queueing.PLACES), now)
    return request


def _done(
    journal: Journal, session: Session, asked: Command, arrival: Arrival, now: int
) -> tuple[str | None, str | None]:
    """Do it; the Request that it was about, and its answer. None as answer where another one says it already."""
    match asked:
        case Command.STOP:
            target = _in_hand(session, arrival.sender)
            if target is None:
                return None, say("nothing_to_stop", arrival.language)
            # The stop's own answer, under the message that is stopped, says it.
            intake.stop(journal, target, "user", Command.STOP)
            return target, None
        case Command.NEW:
            return None, _leave(journal, session, arrival, now)
        case Command.STATUS:
            return None, _status(session, arrival, now)
        case Command.WHY:
            return _why(session, arrival)
        case Command.HELP:
            return None, say("help", arrival.language)


def _in_hand(session: Session, sender: str) -> str | None:
    """The person's Request that runs in the Session, else the newest one that is open."""
    own = Request.select(Request.id).where(
        Request.session == session.id, Request.sender == sender, Request.state == "open"
    )
    active = Turn.select(Turn.request).where(Turn.id == session.active_turn)
    row = own.where(Request.id.in_(active)).first() or own.order_by(Request.position.desc()).first()
    return None if row is None else str(row.id)


def _leave(journal: Journal, session: Session, arrival: Arrival, now: int) -> str:
    """End what is in hand for the person and leave the Session; the conversation's next message opens a fresh one."""
    unfinished = Turn.select(Turn.request).where(
        Turn.session == session.id,
        (Turn.id == session.active_turn) | (Turn.status == "queued") & (Turn.phase == "business"),
    )
    if Request.select().where(Request.id.in_(unfinished), Request.sender != arrival.sender).exists():
        return say("not_left", arrival.language)
    in_hand = Request.select(Request.id).where(
        Request.session == session.id,
        Request.sender == arrival.sender,
        Request.state == "open",
        Request.id.in_(unfinished) | Request.due_at.is_null(False),
    )
    for one in list(in_hand):
        intake.stop(journal, one.id, "user", Command.NEW)
    Session.update(state="closed", left_at=now).where(Session.id == session.id).execute()
    # What waits here for others is judged at once, and learns that the Session is closed.
    wake(session.id, now)
    return say("left", arrival.language)


def _newest(session: Session, sender: str) -> Request | None:
    """The person's newest message to the agent; one that was a command has no Turn."""
    row = (
        Request.select()
        .where(Request.session == session.id, Request.sender == sender, Request.id.in_(Turn.select(Turn.request)))
        .order_by(Request.position.desc())
        .first()
    )
    assert row is None or isinstance(row, Request)
    return row


def _status(session: Session, arrival: Arrival, now: int) -> str:
    language = arrival.language
    lines = [say("status", language, at=times.format_ms(now)), _running(session, arrival)]
    if count := queueing.people(session.id).where(Turn.id != (session.active_turn or "")).count():
        lines.append(say("queue", language, count=count))
    newest = _newest(session, arrival.sender)
    if newest is None:
        lines.append(say("no_message", language))
    else:
        standing = _standing(newest, now)
        until = "" if newest.due_at is None else times.format_ms(newest.due_at)
        lines.append(
            say("last", language, at=times.format_ms(newest.created_at), stands=say(standing, language, until=until))
        )
    return "\n".join(lines)


def _running(session: Session, arrival: Arrival) -> str:
    turn = Turn.get_or_none(Turn.id == session.active_turn, Turn.status.in_(STARTED))
    if turn is None:
        return say("idle", arrival.language)
    own = Request.get_by_id(turn.request).sender == arrival.sender
    since = times.format_ms(turn.started_at or turn.queued_at)
    return say("running_own" if own else "running_other", arrival.language, since=since)


def _standing(row: Request, now: int) -> str:
    """How a Request stands, by the name of the text that says it. What nobody wrote down is not guessed."""
    if row.state != "open":
        return f"is_{row.state}"
    if row.held is not None:
        return "is_held"
    turns = list(Turn.select(Turn.status, Turn.phase).where(Turn.request == row.id, Turn.ended_at.is_null()))
    if any(turn.status in STARTED for turn in turns):
        return "is_running"
    if any(turn.phase == "business" for turn in turns):
        return "is_queued"
    pending = Delivery.select().where(Delivery.request == row.id, Delivery.state.in_(("frozen", "sending", "sent")))
    if pending.exists():
        return "is_replying"
    reserved = Attempt.select().where(Attempt.request == row.id, Attempt.open == True)  # noqa: E712
    if row.due_at is not None or turns or reserved.exists():
        return "is_waiting" if row.due_at is not None and row.due_at > now else "is_waiting_untimed"
    return "is_resting"


def _why(session: Session, arrival: Arrival) -> tuple[str | None, str]:
    """The newest decision on the person's newest message, in words for people; nothing internal is told."""
    from oncemore.engine import journal_records

    newest = _newest(session, arrival.sender)
    if newest is None:
        return None, say("no_message", arrival.language)
    language: Language = "zh" if arrival.language == "zh" else "en"
    try:
        records = journal_records.newest(newest.id)
    except NotFound:
        return newest.id, say("nothing_decided", language)
    except OncemoreError:
        # The text of a policy of that day is no longer kept.
        return newest.id, say("not_shown", language)
    # What is only watched changes nothing for the person, whatever it would have done.
    acting = [record for record in records if record["level"] == "enforce" and record["outcome"] != "not_concerned"]
    if not acting:
        return newest.id, say("no_rule", language)
    deciding = min(acting, key=lambda record: (FINALITY.index(record["outcome"]), record["policy"]["name"]))
    return newest.id, explain(deciding, language, "user").rstrip("\n")
