"""How is a Request's timeline written on a terminal?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from oncemore.adapters.cli import output
from oncemore.adapters.timeline import Entry
from oncemore.rules import times

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


def render(told: dict[str, Any]) -> str:
    """The timeline for a terminal."""
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
        let = f", {entry['let_through']} let it act" if entry["let_through"] else ""
        said = (
            f"{entry['policy']} ({entry['level']}{let}) at {entry['stage']}: {entry['outcome']}, {reason}{until}{again}"
        )
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
    if kind == "waits_for_budget":
        return f"{entry['policy']} waits for a budget{why}"
    if kind == "gave_up_waiting":
        return f"{entry['policy']} has waited for a budget as long as it may{why}"
    if kind == "advised":
        return f"{entry['policy']} advises to act; an operator decides"
    if kind == "advice_taken":
        return f"{entry['policy']} is to act, says {entry['who']}{why}"
    if kind == "advice_refused":
        return f"{entry['policy']} was to act, and did not: {entry['reason']}"
    if kind == "not_sent":
        return f"{about} was not sent{why}"
    rest = ", ".join(f"{key} {value}" for key, value in entry.items() if key not in ("at", "kind") and value)
    return f"{kind} {rest}".rstrip()
