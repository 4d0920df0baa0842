"""What do the readings of a Session's conversations say about one Turn?

Each fact is a value, a value that says "no proof", or is reported as unknown with the reason in its evidence. Facts of
one native turn are given for the one that holds the Turn's client id. A fact that Antigravity cannot supply is absent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from oncemore.adapters.antigravity import conversation
from oncemore.adapters.antigravity.conversation import Conversation, Invocation
from oncemore.adapters.antigravity.steps import ACTIVE, KNOWN_KINDS, KNOWN_STATES, Step
from oncemore.engine.ports import NativeTurn
from oncemore.rules.case import Evidence, Reading, Value

SOURCE = "antigravity"


@dataclass(frozen=True)
class Seen:
    """Everything that was read for one answer.

    Attributes:
        conversations: of the Session's recorded threads in the order of use.
        client_ids: of every Turn of the Session that may have been started; None where they are not known here.
        client_id, native: of the Turn asked for.
        cancelled: turns that were cancelled by us, and read back as such.
    """

    conversations: Sequence[Conversation]
    client_ids: Collection[str] | None
    client_id: str
    native: NativeTurn | None
    observed_at: int
    cancelled: Collection[NativeTurn] = ()

    @cached_property
    def invocations(self) -> list[Invocation]:
        """Every native turn, oldest first."""
        return [one for read in self.conversations for one in conversation.invocations(read)]

    @cached_property
    def bound(self) -> Invocation | None:
        """The native turn of the Turn asked for."""
        return conversation.bound(self.invocations, self.client_id, self.native)

    @property
    def complete(self) -> bool:
        """Whether every step was read in both readings."""
        return all(read.complete for read in self.conversations)

    @property
    def agree(self) -> bool:
        """Whether both readings were whole and equal."""
        return all(read.agree for read in self.conversations)

    @property
    def problem(self) -> str | None:
        """Why they were not."""
        return next((read.problem for read in self.conversations if read.problem is not None), None)

    @property
    def commands(self) -> int | None:
        """How many commands live; None where that is not told of each conversation."""
        told = [read.commands for read in self.conversations]
        return None if None in told else sum(one or 0 for one in told)

    @property
    def digest(self) -> str:
        """SHA-256 over the contents."""
        parts = "\n".join(f"{read.thread_id} {read.digest}" for read in self.conversations)
        return hashlib.sha256(parts.encode()).hexdigest()


class Speaker:
    """Makes readings with one look's evidence; a value of None is reported as unknown."""

    def __init__(self, observed_at: int, digest: str) -> None:
        self._at = observed_at
        self._digest = digest

    def __call__(
        self, value: Value | None, why: str | None = None, *, digest: str | None = None, **details: str
    ) -> Reading:
        """A reading of the value; `why` and `details` go into its evidence."""
        told = {**({"why": why} if why else {}), **details}
        evidence = Evidence(SOURCE, self._at, digest=digest or self._digest, details=told)
        return Reading("reported", None, evidence) if value is None else Reading("known", value, evidence)


def readings(seen: Seen) -> dict[str, Reading]:
    """The `native.*` facts."""
    say = Speaker(seen.observed_at, seen.digest)
    facts = {
        "native.read": say("stable" if seen.agree else "changing" if seen.complete else "unreadable", seen.problem),
        "native.coverage": say("complete" if seen.complete else "partial", seen.problem),
    }
    if not seen.complete:
        return facts
    found = seen.bound
    facts |= {
        "native.run_state": _run_state(say, seen),
        "native.pending": _pending(say, seen),
        "native.background": _background(say, seen),
    }
    return facts | (_turn_facts(say, seen, found) if found is not None else _absent_facts(say, seen))


def _run_state(say: Speaker, seen: Seen) -> Reading:
    states = [read.run_state for read in seen.conversations]
    if None in states:
        words = [read.run or "none, or two" for read in seen.conversations if read.run_state is None]
        return say(None, f"the run status is {words[0]}")
    return say("active" if "active" in states else "idle")


def _pending(say: Speaker, seen: Seen) -> Reading:
    waits = [step.waits_for for read in seen.conversations for step in read.steps if step.waits_for]
    if "unknown" in waits:
        return say(None, "a step waits, and does not say in known words what for")
    return say(waits[0] if waits else "none")


def _background(say: Speaker, seen: Seen) -> Reading:
    living = [read for read in seen.conversations if not read.abandoned]
    running = any(step.kind == "RUN_COMMAND" and step.active for read in living for step in read.steps)
    if running or any(read.commands for read in seen.conversations):
        return say("running")
    return say(None, "whether a command of it still runs is not told") if seen.commands is None else say("none")


def _turn_facts(say: Speaker, seen: Seen, one: Invocation) -> dict[str, Reading]:
    every = seen.invocations
    following = every[next(place for place, other in enumerate(every) if other is one) :]
    status = conversation.status_of(one, one.native in seen.cancelled)
    done, told = conversation.effects(one)
    finals = [step for step in one.steps if step == one.final]
    return {
        "native.turn_bound": say(_turn_bound(seen, one)),
        "native.latest": say(one is following[-1] and not one.foreign_steps),
        "native.status": say(status, None if status else "it is over, and nothing says how it ended"),
        "native.end_evidence": say(_end_evidence(one, status)),
        "native.error": say({"completed": "none", "failed": "other"}.get(status or "")),
        "native.user_only": say(all(step.kind == "USER_INPUT" for step in one.steps)),
        "native.user_inputs": say(len(one.inputs)),
        "native.final_answers": say(len(finals)),
        "native.effects": say(done, told or None),
        "native.unknown_items": say(_unknown(step for other in following for step in other.steps)),
        "native.foreign_input": say(_foreign(following, seen.client_ids)),
        "native.steps": say(len(one.steps)),
        "native.last_step": _last_step(say, one.steps[-1]),
        "native.steps_ended": _steps_ended(say, one.steps),
        "native.normal_final": _normal_final(say, one),
    }


def _absent_facts(say: Speaker, seen: Seen) -> dict[str, Reading]:
    every = seen.invocations
    return {
        "native.status": say("absent"),
        "native.end_evidence": say("none"),
        "native.turn_bound": say(False),
        "native.latest": say(False),
        "native.foreign_input": say(_foreign(every, seen.client_ids)),
        "native.unknown_items": say(_unknown(step for read in seen.conversations for step in read.steps)),
    }


def _turn_bound(seen: Seen, one: Invocation) -> bool | None:
    if seen.client_ids is None:
        return None
    same = seen.native is None or seen.native == one.native
    return same and bool(one.execution) and seen.client_id in one.client_ids


def _end_evidence(one: Invocation, status: str | None) -> str:
    if status == "in_progress" or status is None:
        return "none"
    return "recorded" if one.executor is not None and one.executor.reason else "projected"


def _last_step(say: Speaker, step: Step) -> Reading:
    words = {"DONE": "done", "CANCELED": "canceled", "ERROR": "error"}
    if step.state not in KNOWN_STATES:
        return say(None, f"the last step's status is {step.state or 'not told'}")
    return say(words.get(step.state, "active" if step.state in ACTIVE else "other"), f"{step.kind} {step.state}")


def _steps_ended(say: Speaker, steps: Sequence[Step]) -> Reading:
    open_ = [step for step in steps if step.state in KNOWN_STATES and step.state not in ("DONE", "CANCELED")]
    if open_:
        return say(False, f"step {open_[0].index} is {open_[0].state}")
    unknown = [step for step in steps if step.state not in KNOWN_STATES]
    return say(None, f"the status of step {unknown[0].index} is not known") if unknown else say(True)


def _normal_final(say: Speaker, one: Invocation) -> Reading:
    if one.final is not None:
        return say(True)
    unclear = [step for step in one.steps if step.kind == "PLANNER_RESPONSE" and step.state not in KNOWN_STATES]
    return say(None, "the status of an answer is not known") if unclear else say(False)


def _unknown(steps: Iterable[Step]) -> int:
    return sum(step.kind not in KNOWN_KINDS for step in steps)


def _foreign(following: Sequence[Invocation], ours: Collection[str] | None) -> bool | None:
    """An input of nobody's Turn in this native turn or in a later one.

    Earlier ones do not count: the Turn was started after them, with them in its context.
    """
    if ours is None:
        return None
    return any(client_id not in ours for one in following for client_id in one.client_ids)
