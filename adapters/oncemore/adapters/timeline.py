"""What happened to one Request, in order, from the message to the last reply?

Gathered from the journal as plain data; the faces write it for people. What people and models wrote are quotations, and
a report of unfinished work is one of them: it is somebody's claim.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oncemore.engine import advice, texts
from oncemore.engine.errors import NotFound
from oncemore.engine.tables import (
    Attempt,
    Decision,
    DecisionPass,
    Delivery,
    Event,
    Request,
    Session,
    SessionThread,
    StartReceipt,
    Turn,
)
from oncemore.rules import times

Entry = dict[str, Any]

SHOWN = (
    *("stopped", "released", "opted_out", "fault", "ambiguous", "absent", "let_go", "withdrawn", "not_sent"),
    *("waits_for_budget", "gave_up_waiting", "advised", "advice_taken", "advice_refused"),
)
"""Events that no other row tells of."""

ORDER = ("message", "ended", "settled", "decided", "reserved", "queued", "started", "reply")
"""Which of two comes first in the same millisecond: a cause before what it led to."""


def timeline(request: str) -> dict[str, Any]:
    """The Request with everything that happened to it.

    Raises:
        NotFound: there is no such Request.
    """
    row = Request.get_or_none(Request.id == request)
    if row is None:
        raise NotFound(f"there is no Request {request}")
    session = Session.get_by_id(row.session)
    threads = SessionThread.select().where(SessionThread.session == session.id).order_by(SessionThread.ordinal)
    entries = [
        {"at": row.created_at, "kind": "message", "id": row.message, "author": row.sender, "text": _text(row.digest)},
        *_turns(request),
        *_attempts(request),
        *_deliveries(request),
        *_decisions(request),
        *_events(request),
    ]
    entries.sort(key=lambda entry: (entry["at"], ORDER.index(entry["kind"]) if entry["kind"] in ORDER else len(ORDER)))
    return {
        "request": row.id,
        "state": row.state,
        "held": row.held,
        "due": _time(row.due_at),
        "workspace": session.workspace,
        "owner": session.owner,
        "session": session.id,
        "runtime": session.runtime,
        "threads": [thread.thread for thread in threads],
        "ran_in": [f"{thread.runtime} {thread.thread}{' (review)' if thread.set_aside else ''}" for thread in threads],
        "timeline": [entry | {"at": _time(entry["at"])} for entry in entries],
    }


def _turns(request: str) -> Iterator[Entry]:
    for turn in Turn.select().where(Turn.request == request).order_by(Turn.position):
        receipt = StartReceipt.get_or_none(StartReceipt.turn == turn.id)
        native = {
            "thread": receipt.native_thread if receipt else turn.native_thread,
            "turn": receipt.native_turn if receipt else turn.native_turn,
            "proof": receipt.proof if receipt else None,
        }
        yield {"at": turn.queued_at, "kind": "queued", "turn": turn.id, "phase": turn.phase}
        if turn.started_at is not None:
            yield {"at": turn.started_at, "kind": "started", "turn": turn.id, "native": native}
        if turn.ended_at is None:
            continue
        yield {
            "at": turn.ended_at,
            "kind": "ended",
            "turn": turn.id,
            "status": turn.status,
            "error": None if turn.error == "none" else turn.error,
            "detail": turn.detail,
            "answer": _text(turn.reply_digest),
            "report": _report(turn),
        }


def _attempts(request: str) -> Iterator[Entry]:
    for attempt in Attempt.select().where(Attempt.request == request).order_by(Attempt.reserved_at):
        which = {"attempt": f"{attempt.kind} {attempt.ordinal}", "turn": attempt.turn}
        yield {"at": attempt.reserved_at, "kind": "reserved", **which, "decision": attempt.decision}
        if attempt.settled_at is not None:
            yield {
                "at": attempt.settled_at,
                "kind": "settled",
                **which,
                "state": attempt.state,
                "reason": None if attempt.reason == "none" else attempt.reason,
            }


def _deliveries(request: str) -> Iterator[Entry]:
    for delivery in Delivery.select().where(Delivery.request == request).order_by(Delivery.frozen_at, Delivery.id):
        yield {
            "at": delivery.verified_at or delivery.sent_at or delivery.frozen_at,
            "kind": "reply",
            "stage": delivery.stage,
            "state": delivery.state,
            "reply": delivery.reply,
            "detail": delivery.detail,
            "text": _text(delivery.text_digest),
        }


def _decisions(request: str) -> Iterator[Entry]:
    passes = {one.id: one for one in DecisionPass.select().where(DecisionPass.request == request)}
    for decision in Decision.select().where(Decision.request == request).order_by(Decision.at, Decision.policy):
        one = passes[decision.decision_pass]
        let = advice.let_through(request, decision.policy, decision.level, decision.at)
        yield {
            "at": decision.at,
            "kind": "decided",
            "decision": decision.id,
            "stage": one.stage,
            "policy": decision.policy,
            "level": decision.level if let is None else "advise",
            "let_through": None if let is None else let.who,
            "outcome": decision.outcome,
            "reason": decision.reason_kind,
            "gate": decision.reason_gate,
            "until": _time(decision.until),
            "seen": one.seen,
            "last_seen": _time(one.last_seen),
        }


def _events(request: str) -> Iterator[Entry]:
    for event in Event.select().where(Event.request == request, Event.kind.in_(SHOWN)).order_by(Event.seq):
        yield {"at": event.at, "kind": event.kind, **json.loads(event.body)}


def _report(turn: Turn) -> Entry | None:
    """What the answer said of itself; `words` are the agent's, None when they are no longer kept."""
    if turn.report_state in (None, "none"):
        return None
    kept = _text(turn.response_digest)
    words = json.loads(kept)["report"] if kept is not None else None
    return {"state": turn.report_state, "words": words}


def _text(digest: str | None) -> str | None:
    if digest is None:
        return None
    try:
        return texts.fetch(digest)
    except NotFound:
        return None


def _time(ms: int | None) -> str | None:
    return None if ms is None else times.format_ms(ms)
