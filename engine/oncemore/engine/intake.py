"""How does a person's word get into the journal: a message, a stop, a release, an opt-out?

Each is one transaction that locks the Session like every step of the executor does: the executor either sees it, or it
comes after a Turn that is already starting.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import peewee as pw

from oncemore.engine import budgets, events, prompts, queueing, texts
from oncemore.engine.allowance_tables import Advice
from oncemore.engine.context import lock, wake
from oncemore.engine.errors import Conflict, NotFound, QueueFull
from oncemore.engine.journal import Journal
from oncemore.engine.locks import locking, one_at_a_time
from oncemore.engine.ports import GrantRef
from oncemore.engine.process import callers_gone
from oncemore.engine.tables import Attempt, Delivery, Request, Session, StartIntent, Turn

MESSAGE_LENGTH = 200_000
"""Longest message of a person, in characters."""

Saw = Literal["delivered", "not-delivered", "ran", "did-not-run"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A human message as its Source told it.

    Attributes:
        message: the Source's id of it.
        language: the asker's, for our own texts.
    """

    message: str
    sender: str
    text: str
    language: str = "en"
    role: Literal["project", "steward", "agent"] = "project"
    audience: Literal["private", "group"] = "private"
    host: Literal["managed", "attached"] = "managed"
    attachments: int = 0
    delegated: bool = False


def random_word() -> str:
    """The word that marks one Turn's envelope: 128 bits that nobody but this Turn's input knows."""
    return secrets.token_hex(16)


def open_session(journal: Journal, grant: GrantRef, *, runtime: str, home: str, source: str, conversation: str) -> str:
    """The Session of a conversation, made when there is none or when its people left the last one.

    Raises:
        Conflict: the conversation is bound to another workspace, or its Session is closed.
    """
    with journal.transaction():
        # Two first messages of a conversation may come in the same moment, or one while its people leave it.
        one_at_a_time(f"conversation\0{source}\0{conversation}")
        now = journal.advance_clock().ms
        every = list(locking(Session.select().where(Session.source == source, Session.conversation == conversation)))
        found = next((one for one in every if one.left_at is None), None)
        session = _session_id(source, conversation, len(every)) if found is None else str(found.id)
        if found is None:
            Session.insert(
                id=session,
                workspace=grant.workspace_id,
                owner=grant.owner,
                grant_level=grant.level,
                grant_revision=grant.revision,
                root=grant.root.path,
                root_device=grant.root.device,
                root_inode=grant.root.inode,
                runtime=runtime,
                home=home,
                source=source,
                conversation=conversation,
                state="open",
                fence=0,
                created_at=now,
            ).execute()
        elif (found.workspace, found.runtime, found.home) != (grant.workspace_id, runtime, home):
            raise Conflict(f"the conversation {conversation} is bound to the workspace {found.workspace}")
        elif found.state == "closed":
            raise Conflict(f"the conversation {conversation} is closed; a closed Session is never reopened")
    return session


def _session_id(source: str, conversation: str, earlier: int) -> str:
    parts = [source, conversation, *([str(earlier)] if earlier else [])]
    return "s-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def known(source: str, message: str) -> Request | None:
    """The Request of a message that was taken in before, in whichever Session of its conversation that was."""
    sessions = Session.select(Session.id).where(Session.source == source)
    row = Request.get_or_none(Request.message == message, Request.session.in_(sessions))
    assert row is None or isinstance(row, Request)
    return row


def again(session: str, arrival: Arrival) -> str | None:
    """The Request of this very message, when it was taken in before. Inside a transaction.

    Raises:
        Conflict: it was, with other content.
    """
    found = known(Session.get_by_id(session).source, arrival.message)
    if found is None:
        return None
    if found.digest != texts.digest(arrival.text) or found.sender != arrival.sender:
        raise Conflict(f"the message {arrival.message} came again with other content")
    return str(found.id)


def accept(
    journal: Journal,
    session: str,
    arrival: Arrival,
    *,
    patience: int = queueing.PATIENCE,
    word: Callable[[], str] = random_word,
) -> str:
    """Take a message in: its Request, and the Turn that will answer it at the end of the Session's queue.

    The same message again gives the same Request.

    Args:
        patience: how long the Turn may wait there to be started, milliseconds.

    Returns:
        The Request's id.

    Raises:
        QueueFull: as many messages wait as may.
        Conflict: the same message with other content, a closed Session, or a text that is empty, too long or not
            writable as UTF-8.
    """
    check_text(arrival.text)
    with journal.transaction():
        now = journal.advance_clock().ms
        row = lock(session)
        if (before := again(session, arrival)) is not None:
            return before
        if row.state == "closed":
            raise Conflict(f"the Session {session} is closed")
        queueing.expire(session, now)
        if queueing.people(session).count() >= queueing.PLACES:
            raise QueueFull(f"{queueing.PLACES} messages already wait in the Session {session}; try again later")
        request = enter(session, arrival, now, state="open")
        mark = word()
        text = prompts.request_input(arrival.text, mark)
        queueing.queue_turn(request, "business", 1, text, mark, now, expires_at=now + patience)
        # A recovery that waits must see this message at once, not at its next look; one that is advised, too.
        advised = Advice.select(Advice.request).where(Advice.state == "waiting")
        Request.update(due_at=now, words=Request.words + 1).where(
            Request.session == session,
            Request.state == "open",
            Request.due_at.is_null(False) | Request.held.is_null() & Request.id.in_(advised),
            Request.id != request,
        ).execute()
    return request


def enter(session: str, arrival: Arrival, now: int, *, state: Literal["open", "answered"]) -> str:
    """Write down that the message was taken in, as a Request at the end of its Session's, due now; its id. Inside a
    transaction."""
    request = "r-" + hashlib.sha256(f"{session}\0{arrival.message}".encode()).hexdigest()[:12]
    stored = texts.store(arrival.text, now)
    last = Request.select(pw.fn.MAX(Request.position)).where(Request.session == session).scalar()
    Request.insert(
        id=request,
        session=session,
        position=(last or 0) + 1,
        message=arrival.message,
        sender=arrival.sender,
        digest=stored.digest,
        length=stored.length,
        language=arrival.language,
        role=arrival.role,
        audience=arrival.audience,
        host=arrival.host,
        attachments=arrival.attachments,
        delegated=arrival.delegated,
        steered=False,
        opted_out=False,
        state=state,
        stop_origin="none",
        due_at=now,
        words=0,
        words_seen=0,
        created_at=now,
        head="",
        events=0,
    ).execute()
    events.append(request, "accepted", now, message=arrival.message, digest=stored.digest, length=stored.length)
    return request


def stop(journal: Journal, request: str, origin: Literal["user", "operator", "system"], why: str = "") -> None:
    """Stop a Request: what waits never starts, what runs is interrupted, nothing of it is delivered any more.

    The target is frozen here: a later Turn of the Session is never hit.

    Raises:
        NotFound: no such Request.
        Conflict: it has already ended.
    """
    with journal.transaction():
        now = journal.advance_clock().ms
        row = _open_request(request)
        target = Session.get_by_id(row.session).active_turn
        if target is not None and Turn.get_by_id(target).request != request:
            target = None
        # A queued recovery Turn is left to its dispatch, which refuses it by a gate and so records why.
        for turn in Turn.select().where(Turn.request == request, Turn.status == "queued", Turn.phase == "business"):
            if turn.id != target:
                Turn.update(status="withdrawn", ended_at=now).where(Turn.id == turn.id).execute()
        Request.update(state="stopped", stop_origin=origin, stop_target=target).where(Request.id == request).execute()
        _due_now(request, now)
        wake(row.session, now)
        events.append(request, "stopped", now, origin=origin, target=target, why=why)


def release(journal: Journal, request: str, why: str, *, saw: Saw | None = None, close: bool = False) -> None:
    """A person clears a hold: the Request is due now and every gate is judged afresh. No gate is overridden.

    Args:
        why: the person's reason, recorded.
        saw: what the person found out about a call whose outcome was ambiguous; settles it.
        close: end the Request as answered by hand.

    Raises:
        NotFound: no such Request.
        Conflict: it has ended, or nothing of it is ambiguous in the way that `saw` says.
    """
    if not why.strip():
        raise Conflict("a release needs a reason")
    with journal.transaction():
        now = journal.advance_clock().ms
        row = _open_request(request, ended_too=saw is not None or close)
        if saw in ("delivered", "not-delivered"):
            _settle_delivery(request, saw, now)
        elif saw in ("ran", "did-not-run"):
            _settle_start(row.session, request, saw, now)
        if close:
            _close(row, now)
        else:
            Request.update(waiting_since=now).where(Request.id == request).execute()
            _due_now(request, now)
        wake(row.session, now)
        events.append(request, "released", now, why=why, saw=saw, close=close)


def opt_out(journal: Journal, request: str) -> None:
    """The person or tenant does not want recoveries of this Request."""
    with journal.transaction():
        now = journal.advance_clock().ms
        _open_request(request)
        Request.update(opted_out=True).where(Request.id == request).execute()
        _due_now(request, now)
        events.append(request, "opted_out", now)


def close_session(journal: Journal, session: str) -> None:
    """Close a Session for good.

    Raises:
        NotFound: no such Session.
        Conflict: a Turn of it is running or waits.
    """
    with journal.transaction():
        now = journal.advance_clock().ms
        if not Session.select().where(Session.id == session).exists():
            raise NotFound(f"there is no Session {session}")
        row = lock(session)
        queueing.expire(session, now)
        if row.active_turn is not None or queueing.people(session).exists():
            raise Conflict(f"the Session {session} still has work; stop it first")
        Session.update(state="closed").where(Session.id == session).execute()


def _due_now(request: str, now: int) -> None:
    """A person's word: whatever the executor is about to say of the Request's next look, it is due at once."""
    Request.update(due_at=now, held=None, words=Request.words + 1).where(Request.id == request).execute()


def check_text(text: str) -> None:
    """Whether a person's text can be kept, on either database.

    Raises:
        Conflict: it is empty, too long, or not writable as UTF-8.
    """
    if not text.strip():
        raise Conflict("the message is empty")
    if len(text) > MESSAGE_LENGTH:
        raise Conflict(f"the message has {len(text)} characters; at most {MESSAGE_LENGTH} are taken")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Conflict(f"the message has a character that is not Unicode text, at position {error.start}") from None
    if "\0" in text:
        raise Conflict(f"the message has a NUL character, which cannot be kept, at position {text.index(chr(0))}")


def _open_request(request: str, *, ended_too: bool = False) -> Request:
    """The Request as it stands now that its Session is locked.

    Raises:
        NotFound: there is none.
        Conflict: it has ended.
    """
    session = Request.select(Request.session).where(Request.id == request).scalar()
    if session is None:
        raise NotFound(f"there is no Request {request}")
    lock(session)
    row = Request.get_by_id(request)
    if row.state != "open" and not ended_too:
        raise Conflict(f"the Request {request} is already {row.state}")
    assert isinstance(row, Request)
    return row


def _close(row: Request, now: int) -> None:
    if Session.get_by_id(row.session).active_turn in {
        turn.id for turn in Turn.select(Turn.id).where(Turn.request == row.id)
    }:
        raise Conflict(f"a Turn of {row.id} is running; stop it first")
    Turn.update(status="withdrawn", ended_at=now).where(Turn.request == row.id, Turn.status == "queued").execute()
    Attempt.update(state="withdrawn", open=False, reason="closed by a person", settled_at=now).where(
        Attempt.request == row.id,
        Attempt.open == True,  # noqa: E712
    ).execute()
    budgets.over(row.id)
    budgets.freed(now)
    state = "answered" if row.state == "open" else row.state
    Delivery.update(state="unverified", detail="closed by a person").where(
        Delivery.request == row.id, Delivery.state == "frozen"
    ).execute()
    Request.update(state=state, due_at=None, held=None, words=Request.words + 1).where(Request.id == row.id).execute()


def _settle_delivery(request: str, saw: Saw, now: int) -> None:
    rows = list(Delivery.select().where(Delivery.request == request, Delivery.state == "ambiguous"))
    if not rows:
        raise Conflict(f"no reply of {request} is ambiguous")
    for row in rows:
        if saw == "delivered":
            Delivery.update(state="verified", verified_at=now, detail="a person saw it").where(
                Delivery.id == row.id
            ).execute()
        else:
            Delivery.update(state="frozen", detail="a person saw that it did not arrive").where(
                Delivery.id == row.id
            ).execute()


def _settle_start(session: str, request: str, saw: Saw, now: int) -> None:
    active = Session.get_by_id(session).active_turn
    turn = Turn.get_or_none(Turn.id == active, Turn.request == request, Turn.status == "starting")
    if turn is None or not StartIntent.select().where(StartIntent.turn == turn.id).exists():
        raise Conflict(f"no start of {request} is ambiguous")
    # A worker that is in the middle of the call has not called it ambiguous; its answer may still come.
    starts = StartIntent.select().where(StartIntent.turn == turn.id)
    if Request.get_by_id(request).held is None and not callers_gone(starts):
        raise Conflict(f"a worker is starting {turn.id} just now; use `stop` to end it")
    ended = "a person saw that it ran" if saw == "ran" else "a person saw that it did not run"
    Turn.update(status="failed", error="other", detail=ended, ended_at=now).where(Turn.id == turn.id).execute()
    Attempt.update(state="ambiguous" if saw == "ran" else "failed", open=False, reason=ended, settled_at=now).where(
        Attempt.turn == turn.id
    ).execute()
    budgets.freed(now)
    Session.update(active_turn=None).where(Session.id == session).execute()
