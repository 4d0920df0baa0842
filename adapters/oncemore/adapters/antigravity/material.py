"""What can be shown of an answer that was interrupted, and does it belong to exactly this Turn?

Only the last text that the planner showed counts, of a part of the conversation that is closed: nothing runs, and every
step behind the input bears the one state that a provider gives to what it cleared away. Such a text is material for a
review. It is no answer, and proves neither that something was done nor that it was not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from oncemore.adapters.antigravity.conversation import Invocation
from oncemore.adapters.antigravity.facts import Seen, Speaker
from oncemore.adapters.antigravity.steps import KNOWN_KINDS
from oncemore.engine import canonical
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import TurnView
from oncemore.rules.case import Reading

MARKERS = frozenset({"CLEARED"})
SKEW_MS = 5_000

Word = Literal["matched", "mismatched", "unknown"]


@dataclass(frozen=True, slots=True)
class Material:
    """The text for a review.

    Attributes:
        digest: of the text, as `material.kind` bears it in its evidence.
    """

    kind: Literal["visible_response"]
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What the operator settles about material.

    Attributes:
        markers: the states of which every step of a closed part must bear one and the same.
        skew_ms: by how much the runtime's clock may differ from ours.
    """

    markers: Collection[str] = MARKERS
    skew_ms: int = SKEW_MS


def readings(seen: Seen, turn: TurnView, terms: Terms) -> dict[str, Reading]:
    """The `material.*` facts; none unless the look was whole and holds the Turn."""
    one = seen.bound
    if not seen.agree or one is None:
        return {}
    say = Speaker(seen.observed_at, seen.digest)
    text = visible(one)
    details = identity(seen, one, turn, terms)
    words = set(details.values())
    named = "mismatched" if "mismatched" in words else None if "unknown" in words else "matched"
    return {
        "material.kind": say("visible_response" if text else "none", digest=digest(text) if text else None),
        "material.segment": say(segment(one, terms), _states(one)),
        "material.identity": say(named, **details),
        "material.tool_calls": say(one.tool_calls),
        "material.bytes": say(len(text.encode("utf-8", "surrogatepass"))),
    }


def take(seen: Seen, turn: TurnView, terms: Terms) -> Material:
    """The text itself.

    Raises:
        Unreadable: the look was not whole, or there is no such text that is closed and the Turn's own.
    """
    if not seen.agree or seen.bound is None:
        raise Unreadable(f"the conversation could not be read as one: {seen.problem or 'the turn is not in it'}")
    one = seen.bound
    wrong = [name for name, word in identity(seen, one, turn, terms).items() if word != "matched"]
    if wrong:
        raise Unreadable(f"the material is not proven to be this turn's: {', '.join(wrong)}")
    if segment(one, terms) != "closed" or one.tool_calls:
        raise Unreadable("the material is not closed, or has tool calls in it")
    text = visible(one)
    if not text:
        raise Unreadable("nothing of the answer is left to be seen")
    return Material("visible_response", text, digest(text))


def visible(one: Invocation) -> str:
    """What the last of the planner's steps shows; empty where it shows nothing, whatever earlier ones do."""
    planned = [step for step in one.steps if step.kind == "PLANNER_RESPONSE"]
    return planned[-1].response if planned else ""


def digest(text: str) -> str:
    """The digest of a text, as the engine writes it."""
    return canonical.digest(text.encode("utf-8", "surrogatepass"))


def segment(one: Invocation, terms: Terms) -> str:
    """`open` while anything of it may still move, `closed` when its steps uniformly bear a marker, else `mixed`.

    The input itself may be done: it is not part of the answer.
    """
    if one.conversation.run_state != "idle" or any(step.active for step in one.steps):
        return "open"
    states = {step.state for step in one.steps if step.kind != "USER_INPUT"}
    inputs = {step.state for step in one.inputs}
    closed = len(states) == 1 and states <= set(terms.markers) and inputs <= states | {"DONE"}
    known = all(step.kind in KNOWN_KINDS for step in one.steps)
    return "closed" if closed and known and not one.may_move else "mixed"


def identity(seen: Seen, one: Invocation, turn: TurnView, terms: Terms) -> dict[str, Word]:
    """What ties the part to the Turn: the text that was sent, the execution, the places of the steps, their times."""
    return {
        "prompt_hash": _prompt(one, turn),
        "execution": _execution(one, turn),
        "range": _range(seen, one),
        "time": _time(one, turn, terms),
    }


def _prompt(one: Invocation, turn: TurnView) -> Word:
    texts = [step.text for step in one.inputs]
    if turn.input_digest is None or None in texts:
        return "unknown"
    return _word(len(texts) == 1 and digest(str(texts[0])) == turn.input_digest)


def _execution(one: Invocation, turn: TurnView) -> Word:
    if turn.native is None or any(not step.execution for step in one.steps):
        return "unknown"
    return _word(one.native == turn.native and not one.foreign_steps)


def _range(seen: Seen, one: Invocation) -> Word:
    """The steps stand where they say, one behind the other, and none of the execution's stands elsewhere."""
    if any(step.told_index is None for step in one.steps):
        return "unknown"
    own = [step for other in seen.invocations for step in other.steps if step.execution == one.execution]
    return _word(
        len(own) == len(one.steps) and all(step.told_index == step.index for step in one.steps) and len(one.inputs) == 1
    )


def _time(one: Invocation, turn: TurnView, terms: Terms) -> Word:
    times = [step.created_at for step in one.steps]
    if turn.started_at is None or turn.ended_at is None or None in times:
        return "unknown"
    earliest, latest = turn.started_at - terms.skew_ms, turn.ended_at + terms.skew_ms
    return _word(all(earliest <= time <= latest for time in times if time is not None))


def _word(holds: bool) -> Word:
    return "matched" if holds else "mismatched"


def _states(one: Invocation) -> str:
    return ", ".join(sorted({f"{step.kind} {step.state or 'without a state'}" for step in one.steps}))
