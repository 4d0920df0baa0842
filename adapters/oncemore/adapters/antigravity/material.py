"""What is left of an answer that was interrupted, and does it belong to exactly this Turn?

Either the last text that the planner showed, or, where no such text comes last, what its tools had given back by then.
Never both: a text that its planner only said on the way to a tool is no answer, and a text behind tools is not known by
their results. What is left is material for a review. It is no answer, and proves neither that something was done nor
that it was not.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from oncemore.adapters.antigravity.conversation import Invocation
from oncemore.adapters.antigravity.facts import Seen, Speaker
from oncemore.adapters.antigravity.results import Result
from oncemore.adapters.antigravity.steps import KNOWN_KINDS, TOOLS, Step
from oncemore.engine import canonical
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import TurnView
from oncemore.rules.case import Reading

MARKERS = frozenset({"CLEARED"})
SKEW_MS = 5_000
STEPS = 128
BYTES = 65_536

Kind = Literal["none", "visible_response", "visible_results"]
Word = Literal["matched", "mismatched", "unknown"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the operator settles about material.

    Attributes:
        markers: the states that a provider gives to what it cleared away. Every step of a closed answer bears one and
            the same of them.
        skew_ms: by how much the runtime's clock may differ from ours.
        steps, bytes: how many steps results may be of, and how long they may be in UTF-8; they are handed over whole or
            not at all. An answer's bounds are gates of its policy.
    """

    markers: Collection[str] = MARKERS
    skew_ms: int = SKEW_MS
    steps: int = STEPS
    bytes: int = BYTES


def readings(seen: Seen, turn: TurnView, terms: Terms) -> dict[str, Reading]:
    """The `material.*` facts; none unless the look was whole and holds the Turn."""
    one = seen.bound
    if not seen.agree or one is None:
        return {}
    say = Speaker(seen.observed_at, seen.digest)
    kind, text = left(one, terms)
    beyond = _beyond(kind, one, text, terms)
    details = identity(seen, one, turn, terms)
    words = set(details.values())
    named = "mismatched" if "mismatched" in words else None if "unknown" in words else "matched"
    return {
        "material.kind": say(None if beyond else kind, beyond, digest=digest(text) if text else None),
        "material.segment": say(segment(one, terms), _states(one)),
        "material.identity": say(named, **details),
        "material.tool_calls": say(one.tool_calls),
        "material.bytes": say(len(_encoded(text))),
    }


def take(seen: Seen, turn: TurnView, terms: Terms) -> dict[str, str]:
    """The material itself, as `Runtime.material` gives it.

    Raises:
        Unreadable: the look was not whole, or nothing is left that is closed, within bounds and the Turn's own.
    """
    if not seen.agree or seen.bound is None:
        raise Unreadable(f"the conversation could not be read as one: {seen.problem or 'the turn is not in it'}")
    one = seen.bound
    wrong = [name for name, word in identity(seen, one, turn, terms).items() if word != "matched"]
    if wrong:
        raise Unreadable(f"the material is not proven to be this turn's: {', '.join(wrong)}")
    kind, text = left(one, terms)
    if segment(one, terms) != "closed" or (kind == "visible_response" and one.tool_calls):
        raise Unreadable("the material is not closed, or has tool calls in it")
    if beyond := _beyond(kind, one, text, terms):
        raise Unreadable(beyond)
    if kind == "none":
        raise Unreadable("nothing of the answer is left to be seen")
    return {kind: text}


def left(one: Invocation, terms: Terms) -> tuple[Kind, str]:
    """What is left, and its text: the answer where one comes last, else the results."""
    found = results(one, terms)
    answer = visible(one)
    last = max((step.index for step in one.steps if step.kind == "PLANNER_RESPONSE"), default=-1)
    if answer and all(step.index < last for step, _ in found):
        return "visible_response", answer
    return ("visible_results", rendered(found)) if found else ("none", "")


def visible(one: Invocation) -> str:
    """What the last of the planner's steps shows; empty where it shows nothing, whatever earlier ones do."""
    planned = [step for step in one.steps if step.kind == "PLANNER_RESPONSE"]
    return planned[-1].response if planned else ""


def results(one: Invocation, terms: Terms) -> list[tuple[Step, Result]]:
    """What tools gave back that were done, or that the provider cleared away afterwards."""
    ended = {"DONE", *terms.markers}
    tools = [step for step in one.steps if step.kind in TOOLS and step.state in ended]
    return [(step, step.result) for step in tools if step.result is not None]


def rendered(found: Collection[tuple[Step, Result]]) -> str:
    """Results as data: a JSON object in a line each. A line break in one is escaped, so none of them can end a line."""
    lines = [{"tool": step.kind.lower(), **dict(result.about), "result": result.text} for step, result in found]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def digest(text: str) -> str:
    """The digest of a text, as the engine writes it."""
    return canonical.digest(_encoded(text))


def segment(one: Invocation, terms: Terms) -> str:
    """`open` while anything of it may still move, `closed` when its steps uniformly ended, else `mixed`.

    An answer's steps bear one and the same marker: a text that is not marked may be one that is still written. A
    result is whole once its tool is done, so for results only the tools count, done or marked, all alike; one that was
    called and not carried out to its end leaves them mixed. The input itself may be done: it is not part of the answer.
    """
    if one.conversation.run_state != "idle" or any(step.active for step in one.steps):
        return "open"
    known = all(step.kind in KNOWN_KINDS for step in one.steps)
    if not known or one.may_move:
        return "mixed"
    if left(one, terms)[0] == "visible_results":
        tools = [step for step in one.steps if step.kind in TOOLS or step.turned_down]
        states, ends = {step.state for step in tools}, {"DONE", *terms.markers}
        whole = not any(step.turned_down for step in tools) and _carried_out(one)
    else:
        states, ends = {step.state for step in one.steps if step.kind != "USER_INPUT"}, set(terms.markers)
        whole = True
    inputs = {step.state for step in one.inputs}
    return "closed" if whole and len(states) == 1 and states <= ends and inputs <= states | {"DONE"} else "mixed"


def _carried_out(one: Invocation) -> bool:
    """Every call that the planner made has its tool's step."""
    calls = {call for step in one.steps for call in step.calls}
    return calls <= {step.call for step in one.steps if step.kind in TOOLS}


def _beyond(kind: Kind, one: Invocation, text: str, terms: Terms) -> str | None:
    """Why what is left cannot be handed over whole and as it is; None where it can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "what is left is no text that can be written down: it holds half of a pair of surrogates"
    if kind != "visible_results":
        return None
    if len(one.steps) > terms.steps:
        return f"the results are of {len(one.steps)} steps, more than {terms.steps}"
    size = len(_encoded(text))
    return f"the results have {size} bytes, more than {terms.bytes}" if size > terms.bytes else None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
