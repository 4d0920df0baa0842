"""What do the readings of a Session's threads say about one Turn?

Each `native.*` fact is a value, a value that says "no proof" (`changing`, `partial`, `unreadable`, `projected`), or is
reported as unknown with the reason in its evidence. Facts about items are given for the native turn that holds the
Turn's client id; without one they are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncemore.adapters.codex.effects import KNOWN_ITEMS, judge
from oncemore.adapters.codex.failure import classify, turn_error
from oncemore.adapters.codex.lock import Lock
from oncemore.adapters.codex.log import BENIGN_ITEMS, Logged
from oncemore.adapters.codex.owner import IDLE, Terminal
from oncemore.adapters.codex.reading import STATUSES, History
from oncemore.engine.ports import NativeRecord, NativeStatus, NativeTurn, Observation, SessionView, TurnView
from oncemore.rules.case import Evidence, Reading, Value

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """How a thread is held while it is read.

    Attributes:
        owner: `none`, `ours`, `other` or `unknown`.
        lock: as looked at.
        status: the thread's status in our process; None when it is not ours or did not say.
        terminals: its background commands; None likewise.
        running: a turn of our process runs, though the status may not say so yet.
        unanswered: a start of ours got no answer and may still become a turn.
    """

    owner: str
    lock: Lock
    status: Mapping[str, Any] | None = None
    terminals: tuple[Terminal, ...] | None = None
    running: bool = False
    unanswered: bool = False

    @property
    def quiet(self) -> bool:
        """Whether it is ours and provably no turn runs in it."""
        return self.owner == "ours" and not self.running and (self.status or {}).get("type") in IDLE


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was read for one inventory.

    Attributes:
        histories: of the Session's recorded threads in the order of use, as last read by a fresh process.
        held: by thread id.
        agree: the readings by fresh processes, and by the owner where the thread is ours, are equal.
        problem: why they are not, or are not complete.
        logged: what the log holds of the bound turn; empty without one.
    """

    session: SessionView
    turn: TurnView
    histories: tuple[History, ...]
    held: Mapping[str, Held]
    agree: bool
    problem: str | None
    logged: Logged
    observed_at: int
    digest: str

    @property
    def complete(self) -> bool:
        """Whether every page of every thread was read."""
        return all(history.complete for history in self.histories)


def bound(histories: Iterable[History], turn: TurnView) -> tuple[History, Mapping[str, Any]] | None:
    """The native turn of a Turn: the recorded one, else the only one that holds its client id."""
    listed = [(history, native) for history in histories for native in history.turns]
    if turn.native is not None:
        wanted = turn.native
        same = [
            (history, native)
            for history, native in listed
            if (history.thread.thread_id, native.get("id")) == (wanted.thread_id, wanted.turn_id)
        ]
    else:
        same = [(history, native) for history, native in listed if turn.client_id in client_ids(native)]
    return same[0] if len(same) == 1 else None


def client_ids(native: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Of the user messages of a native turn, in order."""
    ids = [item.get("clientId") for item in native.get("items", []) if item.get("type") == "userMessage"]
    return tuple(found if isinstance(found, str) else None for found in ids)


def status_of(native: Mapping[str, Any], held: Held | None) -> NativeStatus:
    """What a native turn does. A turn that runs in another process reads as interrupted without an end, exactly like
    one whose process died; with an owner that is not ours and not provably absent it may be running."""
    listed = STATUSES.get(str(native.get("status")), "in_progress")
    if listed == "interrupted" and native.get("completedAt") is None and may_run(held):
        return "in_progress"
    return listed  # type: ignore[return-value]


def may_run(held: Held | None) -> bool:
    """Whether a turn without a recorded end may still be running."""
    if held is None or held.owner in ("other", "unknown"):
        return True
    return held.owner == "ours" and not held.quiet


def ended_at(native: Mapping[str, Any]) -> int | None:
    """The recorded end in milliseconds: Codex stores whole seconds, so the last millisecond of that second."""
    second = native.get("completedAt")
    return second * 1000 + 999 if isinstance(second, int) else None


def final_answers(items: Iterable[Item]) -> list[str]:
    """Texts of the messages that are answers, not commentary."""
    return [
        str(item.get("text", ""))
        for item in items
        if item.get("type") == "agentMessage" and item.get("phase") in (None, "final_answer")
    ]


def record(history: History, native: Mapping[str, Any], held: Held | None) -> NativeRecord:
    """A native turn as an inventory lists it."""
    named = NativeTurn(history.thread.thread_id, str(native["id"]))
    return NativeRecord(named, client_ids(native), status_of(native, held), ended_at(native))


def observation(native: Mapping[str, Any], held: Held | None, spoke: bool = False) -> Observation:
    """What a native turn does, by what was read of it.

    It has ended when its end is recorded, or when we hold the thread's writer lock and no turn runs in our process:
    then a turn that reads as interrupted without an end can never go on.
    """
    status = status_of(native, held)
    items = native.get("items", [])
    projected = status == "interrupted" and held is not None and held.owner == "ours"
    ended = status != "in_progress" and (native.get("completedAt") is not None or projected)
    answers = final_answers(items) if ended and status == "completed" else []
    return Observation(
        status=status,
        ended=ended,
        answer=answers[-1] if answers else None,
        error=turn_error(status, native.get("error")) if ended else "none",
        deltas=spoke or any(item.get("type") == "agentMessage" for item in items),
        ended_at=ended_at(native),
    )


def readings(seen: Seen) -> dict[str, Reading]:
    """The `native.*` facts about the Turn."""
    say = _Speaker(seen)
    found = bound(seen.histories, seen.turn)
    threads = list(seen.held.values())
    facts = {
        "native.read": say("stable" if seen.agree else "changing" if seen.complete else "unreadable", seen.problem),
        "native.coverage": say("complete" if seen.complete else "partial", seen.problem),
        "native.live_owner": _together(say, [_owner(held) for held in threads], ("other", "ours", "none")),
        "native.run_state": _together(say, [_run_state(found, held) for held in threads], ("active", "idle")),
        "native.background": _together(
            say, [_background(one, seen.held) for one in seen.histories], ("running", "none")
        ),
        "native.pending": _together(say, [_pending(held) for held in threads], ("approval", "question", "none")),
    }
    if found is not None:
        facts |= _turn_facts(say, seen, *found)
    elif seen.complete:
        facts |= _absent_facts(say, seen)
    else:
        for name in ("status", "turn_bound", "latest", "foreign_input", "unknown_items"):
            facts[f"native.{name}"] = say(None, seen.problem)
    return facts


class _Speaker:
    """Makes readings with the inventory's evidence; a value of None is one that the runtime itself calls unknown."""

    def __init__(self, seen: Seen) -> None:
        self._at = seen.observed_at
        self._digest = seen.digest

    def __call__(self, value: Value | None, why: str | None = None) -> Reading:
        details = {"why": why} if why else {}
        evidence = Evidence("codex", self._at, digest=self._digest, details=details)
        return Reading("reported", None, evidence) if value is None else Reading("known", value, evidence)


Said = tuple[str | None, str | None]


def _together(say: _Speaker, said: Sequence[Said], order: Sequence[str]) -> Reading:
    """One value over all threads: unknown if any is, else the first of `order` that any has. No thread has the last."""
    for value, why in said:
        if value is None:
            return say(None, why)
    values = {value for value, _ in said}
    return say(next((value for value in order if value in values), order[-1]))


def _owner(held: Held) -> Said:
    return (None, "the writer lock cannot be looked at") if held.owner == "unknown" else (held.owner, None)


def _run_state(found: tuple[History, Mapping[str, Any]] | None, held: Held) -> Said:
    if held.owner == "none":
        return "idle", None
    if held.owner != "ours":
        return None, "another process may have the thread loaded, and only that process knows"
    kind = (held.status or {}).get("type")
    if held.running:
        return "active", None
    if kind in ("idle", "active"):
        return kind, None
    if kind == "systemError" and found is not None and found[1].get("completedAt") is not None:
        return "idle", None
    return None, f"our process reports the thread as {kind}"


def _background(history: History, held_by: Mapping[str, Held]) -> Said:
    held = held_by[history.thread.thread_id]
    if held.owner == "ours":
        if held.terminals is None:
            return None, "the background commands could not be listed"
        return ("running" if held.terminals else "none"), None
    if held.owner == "none" and (held.lock.state == "absent" or (history.complete and not history.turns)):
        return "none", None
    if held.owner == "none":
        return None, "the process that had the thread loaded died; what it left behind is not known"
    return None, "only the process that has the thread loaded knows its background commands"


def _pending(held: Held) -> Said:
    if held.owner == "none":
        return "none", None
    if held.owner != "ours" or held.status is None:
        return None, "only the process that has the thread loaded knows what it waits for"
    if held.status.get("type") in IDLE:
        return "none", None
    flags = held.status.get("activeFlags")
    if held.status.get("type") != "active" or not isinstance(flags, list):
        return None, f"our process reports the thread as {held.status.get('type')}"
    known = {"waitingOnApproval": "approval", "waitingOnUserInput": "question"}
    if not flags:
        return "none", None
    return known.get(str(flags[0])), f"the thread waits for {flags[0]}"


def _turn_facts(say: _Speaker, seen: Seen, history: History, native: Mapping[str, Any]) -> dict[str, Reading]:
    held = seen.held[history.thread.thread_id]
    status = status_of(native, held)
    recorded = native.get("completedAt") is not None
    uncertain = native.get("status") == "interrupted" and not recorded and held.owner in ("other", "unknown")
    why_unended = None if recorded else "no end of the turn is stored; a running and a killed turn read alike"
    facts = {
        "native.turn_bound": say(seen.turn.client_id in client_ids(native)),
        "native.latest": say(native is next((t for h in reversed(seen.histories) for t in reversed(h.turns)), None)),
        "native.status": say(None if uncertain else status, why_unended),
        "native.end_evidence": say(
            "recorded" if recorded else "none" if native.get("status") == "inProgress" else "projected", why_unended
        ),
        "native.error": say(classify(str(native.get("status")), native.get("error"))),
        "native.foreign_input": say(_foreign(seen, native)),
        "native.unknown_items": say(sum(_unknown(turn) for turn in _from(seen, native))),
    }
    if native.get("itemsView") != "full" or (native.get("status") == "completed" and not native.get("items")):
        names = ("user_inputs", "final_answers", "user_only", "effects", "steps", "normal_final")
        return facts | {f"native.{name}": say(None, "the turn was listed without its items") for name in names}
    return facts | _item_facts(say, seen, native["items"], held, status)


def _item_facts(
    say: _Speaker, seen: Seen, items: Sequence[Item], held: Held, status: NativeStatus
) -> dict[str, Reading]:
    answers = final_answers(items)
    inputs = sum(item.get("type") == "userMessage" for item in items)
    alone = inputs == len(items) == 1
    logged = seen.logged
    effects = judge(items, logged, {terminal.item_id for terminal in held.terminals or ()})
    unsaid = alone and not logged.calls and logged.problem is not None
    why = ", ".join(filter(None, (logged.problem, _effect_names(items, seen)))) or None
    return {
        "native.user_inputs": say(inputs),
        "native.final_answers": say(len(answers)),
        "native.user_only": say(None, logged.problem) if unsaid else say(alone and not logged.calls),
        "native.effects": say(None if effects == "unknown" else effects, why),
        "native.steps": say(len(items)),
        "native.normal_final": say(status == "completed" and bool(answers)),
    }


def _effect_names(items: Sequence[Item], seen: Seen) -> str | None:
    told = [f"{item['type']} {item.get('status', '')}".strip() for item in items if item["type"] not in BENIGN_ITEMS]
    logged = [f"call {call.name}" for call in seen.logged.calls]
    return ", ".join(told + logged) or None


def _absent_facts(say: _Speaker, seen: Seen) -> dict[str, Reading]:
    every = [turn for history in seen.histories for turn in history.turns]
    return {
        "native.status": say("absent"),
        "native.end_evidence": say("none"),
        "native.turn_bound": say(False),
        "native.latest": say(False),
        "native.foreign_input": say(any(_holds_foreign(seen.session, turn) for turn in every)),
        "native.unknown_items": say(sum(_unknown(turn) for turn in every)),
    }


def _from(seen: Seen, native: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    every = [turn for history in seen.histories for turn in history.turns]
    return every[next(index for index, turn in enumerate(every) if turn is native) :]


def _foreign(seen: Seen, native: Mapping[str, Any]) -> bool:
    """An input of nobody's Turn in this native turn or in a later one, in any recorded thread.

    Earlier ones do not count: the Turn was started after them, with them in its context.
    """
    return any(_holds_foreign(seen.session, turn) for turn in _from(seen, native))


def _holds_foreign(session: SessionView, native: Mapping[str, Any]) -> bool:
    return any(client_id not in session.client_ids for client_id in client_ids(native))


def _unknown(native: Mapping[str, Any]) -> int:
    return sum(item.get("type") not in KNOWN_ITEMS for item in native.get("items", []))
