"""What happened to one Request, in order, from the message to the last reply?

Gathered from the journal as plain data; `render` writes the same for people. What people and models wrote stands there
as quotations, and a report of unfinished work is one of them: it is somebody's claim.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from oncemore.adapters.cli import output
from oncemore.engine import texts
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

SHOWN = ("stopped", "released", "opted_out", "fault", "ambiguous", "absent", "let_go", "withdrawn", "not_sent")
"""Events that no other row tells of."""

SAW = {
    "delivered": "; a person saw that the reply arrived",
    "not-delivered": "; a person saw that the reply did not arrive",
    "ran": "; a person saw that the start ran",
    "did-not-run": "; a person saw that the start did not run",
}
"""What a person found out, in words."""

REASONS = {
    "all_passed": "every gate passed",
    "gate_failed": "gate {gate} does not hold",
    "floor": "gate {gate} does not hold",
    "evidence_missing": "gate {gate} could not be judged, evidence is missing",
    "evidence_stale": "gate {gate} could not be judged, evidence is too old",
    "evidence_conflict": "gate {gate} could not be judged, evidence conflicts",
    "when_unknown": "whether it is concerned is not known",
    "patience": "it has waited as long as it may, last for gate {gate}",
    "conflict": "another policy would fire too",
    "rival_undecided": "another policy is not decided yet",
    "fault": "the rules engine gave no valid answer",
    "not_concerned": "its condition is false",
}
"""Why it was decided so, in words."""

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


def render(told: dict[str, Any]) -> str:
    """The same for a terminal."""
    head = f"{told['request']}  {told['state']}"
    if told["held"]:
        head += f", held: {output.line(told['held'])}"
    if told["due"]:
        head += f", due {told['due']}"
    threads = ", ".join(told["ran_in"]) or "none yet"
    lines = [
        head,
        output.line(f"workspace {told['workspace']} of {told['owner']}, session {told['session']}"),
        output.line(f"runtime {told['runtime']}, threads: {threads}"),
    ]
    answers: set[str] = set()
    for entry in told["timeline"]:
        lines += ["", *_entry(entry, answers)]
        answers.add(entry.get("answer") or "")
    return "\n".join(lines)


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
        yield {
            "at": decision.at,
            "kind": "decided",
            "decision": decision.id,
            "stage": one.stage,
            "policy": decision.policy,
            "level": decision.level,
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


def _entry(entry: Entry, answers: Collection[str]) -> Iterator[str]:
    yield f"{entry['at']}  {_headline(output.lined(entry))}"
    text = entry.get("text", entry.get("answer"))
    if text is not None and entry["kind"] == "reply" and text in answers:
        yield "    (the answer above)"
    elif text is not None:
        yield output.quoted(text, "    ")
    elif "text" in entry:
        yield "    (no longer kept)"
    report = entry.get("report")
    if isinstance(report, dict):
        yield f"    its report of unfinished work is {report['state']}; in the agent's words:"
        words = report["words"] or {}
        for part in ("completed", "remaining"):
            if part in words:
                yield output.quoted(f"{part}: {words[part]}", "      ")


def _headline(entry: Entry) -> str:
    kind = entry["kind"]
    if kind == "message":
        return f"message {entry['id']} from {entry['author']}"
    if kind == "queued":
        return f"queued {entry['turn']}"
    if kind == "started":
        native = entry["native"]
        return f"started {entry['turn']} as turn {native['turn']} of thread {native['thread']}"
    if kind == "ended":
        why = ", ".join(str(part) for part in (entry["error"], entry["detail"]) if part)
        return f"ended {entry['turn']}: {entry['status']}" + (f" ({why})" if why else "")
    if kind == "reserved":
        return f"reserved attempt {entry['attempt']} by decision {entry['decision']}"
    if kind == "settled":
        return f"settled attempt {entry['attempt']}: {entry['state']}" + (
            f" ({entry['reason']})" if entry["reason"] else ""
        )
    if kind == "reply":
        detail = f" ({entry['detail']})" if entry["detail"] else ""
        return f"reply {entry['reply'] or 'not named'} at stage {entry['stage']}: {entry['state']}{detail}"
    if kind == "decided":
        reason = REASONS.get(entry["reason"], str(entry["reason"])).format(gate=entry["gate"])
        again = f", seen {entry['seen']} times until {entry['last_seen']}" if entry["seen"] > 1 else ""
        until = f", until {entry['until']}" if entry["until"] else ""
        said = f"{entry['policy']} ({entry['level']}) at {entry['stage']}: {entry['outcome']}, {reason}{until}{again}"
        return f"decided {said}\n    {entry['decision']}"
    return _event(entry)


def _event(entry: Entry) -> str:
    """An event in words."""
    kind, why = entry["kind"], f": {entry['why']}" if entry.get("why") else ""
    about = f"the reply at stage {entry['stage']}" if entry.get("stage") else str(entry.get("turn") or "it")
    if kind == "stopped":
        target = f"; {entry['target']} is interrupted" if entry.get("target") else ""
        return f"stopped by the {entry['origin']}{why}{target}"
    if kind == "released":
        saw = SAW.get(entry.get("saw") or "", "")
        return f"{'closed' if entry.get('close') else 'released'} by hand{why}{saw}"
    if kind == "opted_out":
        return "recovery was switched off for this Request"
    if kind == "fault":
        return f"a step failed with {entry['error']}" if entry.get("error") else "held: its steps came to no end"
    if kind == "ambiguous":
        done = "was sent" if entry.get("stage") else "ran"
        return f"it is not known whether {about} {done}{why}"
    if kind == "absent":
        return f"{about} never began: the runtime's complete inventory does not hold it"
    if kind == "let_go":
        again = f"; tried again from {times.format_ms(entry['until'])}" if entry.get("until") else ""
        return f"{about} could not go on{why}{again}"
    if kind == "withdrawn":
        return f"withdrawn {about}" + (f": {entry['reason']}" if entry.get("reason") else "")
    if kind == "not_sent":
        return f"{about} was not sent{why}"
    rest = ", ".join(f"{key} {value}" for key, value in entry.items() if key not in ("at", "kind") and value)
    return f"{kind} {rest}".rstrip()
