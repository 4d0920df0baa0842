"""Which Turns wait in a Session, in which order, and until when?

People's messages wait in the order in which they were taken in, only so many of them and only for so long. A recovery
takes no place and does not expire here: its policy's patience says how long it may wait.
"""

from __future__ import annotations

import peewee as pw

from oncemore.engine import events, texts
from oncemore.engine.tables import Request, Session, Turn

PLACES = 20
"""How many Turns of people may wait in one Session; a recovery Turn takes no place."""

PATIENCE = 3_600_000
"""How long a person's Turn may wait to be started, milliseconds, where nothing else is configured."""

EXPIRED = "session_queue_expired"
"""The error of a Turn that waited longer than it may; it was never executed."""


def queue_turn(
    request: str, phase: str, ordinal: int, text: str, word: str, now: int, *, expires_at: int | None = None
) -> str:
    """Put a Turn at the end of its Session's queue. Call it inside a transaction.

    Args:
        expires_at: from when on it may no longer be started, milliseconds since the epoch; a person's Turn has such a
            time and a recovery has none, which the journal enforces.

    Returns:
        The Turn's id, deterministic: `<request>-<phase>-<ordinal>`.

    Raises:
        Conflict: it is there already, for another Session.
    """
    turn = f"{request}-{phase}-{ordinal}"
    session = Request.get_by_id(request).session
    last = Turn.select(pw.fn.MAX(Turn.position)).where(Turn.session == session).scalar()
    stored = texts.store(text, now)
    Turn.insert(
        id=turn,
        session=session,
        request=request,
        phase=phase,
        ordinal=ordinal,
        position=(last or 0) + 1,
        status="queued",
        error="none",
        input_digest=stored.digest,
        input_length=stored.length,
        word=word,
        has_reply=False,
        has_deltas=False,
        settled_cancel=False,
        queued_at=now,
        expires_at=expires_at,
    ).execute()
    events.append(request, "queued", now, turn=turn, input=stored.digest)
    return turn


def people(session: str) -> pw.ModelSelect[Turn]:
    """The Turns of people that wait in the Session or are claimed and not started yet, oldest first."""
    return (
        Turn.select()
        .where(Turn.session == session, Turn.status == "queued", Turn.phase == "business")
        .order_by(Turn.position)
    )


def expire(session: str, now: int) -> list[str]:
    """End every person's Turn whose time in the queue is over; its Request is due, so that its person is told.

    A claimed one is left to who claimed it: it comes back here when it is let go. Call it inside a transaction that
    holds the Session.

    Returns:
        The ended Turns' ids.
    """
    claimed = Session.get_by_id(session).active_turn or ""
    over = list(people(session).where(Turn.expires_at <= now, Turn.id != claimed))
    for turn in over:
        Turn.update(status="timed_out", error=EXPIRED, ended_at=now).where(Turn.id == turn.id).execute()
        Request.update(due_at=now, held=None).where(Request.id == turn.request).execute()
        events.append(turn.request, "ended", now, turn=turn.id, status="timed_out", error=EXPIRED)
    return [turn.id for turn in over]
