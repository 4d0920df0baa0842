"""Rows V: what an interrupted Turn left visible is reviewed only when it is all there, and proven to be that Turn's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import RAW, Look, command, planned, step
from tests.rows.antigravity_world import Desk
from tests.rows.interrupted_world import (
    CLEARED,
    CLOSED,
    DRAFT,
    IDLE_OR_NOT,
    MATERIAL,
    ON,
    REVIEW,
    held,
    interrupted,
    steward_desk,
)
from tests.rows.removals import all_of, gate, guard, read_once
from tests.rows.row import row

from oncemore.adapters.antigravity import reading
from oncemore.adapters.antigravity.conversation import Invocation
from oncemore.adapters.antigravity.steps import Step


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with steward_desk(tmp_path, monkeypatch, REVIEW) as made:
        taken_out(made.w)
        yield made


def _said(steps: list[RAW]) -> list[RAW]:
    """The person's input with one character more."""
    said = dict(steps[0]["userInput"])
    (item,) = said["items"]
    return [{**steps[0], "userInput": {**said, "items": [{"text": item["text"] + "?"}]}}, *steps[1:]]


@row(
    "V3",
    "A conversation whose input differs from what was sent by one character is not the Turn's.",
    on=ON,
    removed=guard(f"{MATERIAL}._prompt", lambda one, turn: "matched", "comparing the input with what was sent"),
)
def test_V03_an_input_that_differs_by_one_character_is_not_the_turns(d: Desk) -> None:
    request = interrupted(d)
    d.change(_said)
    held(d, request)


def _about(steps: list[RAW], **about: Any) -> list[RAW]:
    """The last step, with other metadata."""
    return [*steps[:-1], {**steps[-1], "metadata": {**steps[-1]["metadata"], **about}}]


@row(
    "V4",
    "A step of another execution in the answer's place is not the Turn's.",
    on=ON,
    removed=all_of(
        "comparing the executions of the steps",
        guard(f"{MATERIAL}._execution", lambda one, turn: "matched"),
        guard(f"{MATERIAL}._range", lambda seen, one: "matched"),
    ),
)
def test_V04_a_step_of_another_execution_is_not_the_turns(d: Desk) -> None:
    request = interrupted(d)
    d.change(lambda steps: _about(steps, executionId="somebody-elses"))
    held(d, request)


@row(
    "V5",
    "A step from outside the Turn's time is not the Turn's.",
    on=ON,
    removed=guard(
        f"{MATERIAL}._time", lambda one, turn, terms: "matched", "comparing the times of the steps with the Turn's"
    ),
)
def test_V05_a_step_from_outside_the_turns_time_is_not_the_turns(d: Desk) -> None:
    request = interrupted(d)
    d.change(lambda steps: _about(steps, createdAt="2026-01-01T00:00:00Z"))
    held(d, request)


def _state(steps: list[RAW], state: str) -> list[RAW]:
    return [*steps[:-1], {**steps[-1], "status": f"CORTEX_STEP_STATUS_{state}"}]


@row(
    "V6",
    "A segment in which something may still move is open, and its answer is not reviewed.",
    on=ON,
    removed=all_of("asking whether the segment is closed, and the runtime idle", CLOSED, IDLE_OR_NOT),
)
@pytest.mark.parametrize("what", ["a-step-generates", "the-conversation-runs"])
def test_V06_an_open_segment_is_not_reviewed(d: Desk, what: str) -> None:
    request = interrupted(d)
    if what == "a-step-generates":
        d.change(lambda steps: _state(steps, "GENERATING"))
    else:
        d.change(lambda steps: steps, run="RUNNING")
    held(d, request)


@row(
    "V7",
    "A segment whose steps were left in different states is mixed, and its answer is not reviewed.",
    on=ON,
    removed=CLOSED,
)
def test_V07_a_segment_of_mixed_states_is_not_reviewed(d: Desk) -> None:
    held(d, interrupted(d, planned("There are", stop="CLIENT_STREAM_ERROR"), CLEARED))


@row(
    "V8",
    "A segment that holds an unknown step or a tool call is not reviewed.",
    on=ON,
    removed=all_of(
        "asking for unknown steps and tool calls",
        CLOSED,
        gate("native-known", "no-tool-calls", "floor/unknown-items"),
        guard("oncemore.adapters.antigravity.conversation.Invocation.tool_calls", property(lambda one: 0)),
    ),
)
@pytest.mark.parametrize(
    "before",
    [step("TELEPATHY", "CLEARED"), planned("I look.", "CLEARED", calls=["call-1"], stop=""), command(state="CLEARED")],
    ids=["an-unknown-step", "a-call", "a-command"],
)
def test_V08_an_unknown_step_or_a_tool_call_is_not_reviewed(d: Desk, before: RAW) -> None:
    held(d, interrupted(d, before, CLEARED))


@row(
    "V9",
    "More than 128 steps, or more than 64 KiB of an answer, are not reviewed.",
    on=ON,
    removed=gate("steps-bounded", "material-bounded"),
)
@pytest.mark.parametrize("what", ["too-many-steps", "too-long"])
def test_V09_more_than_its_bounds_is_not_reviewed(d: Desk, what: str) -> None:
    if what == "too-long":
        held(d, interrupted(d, planned("x" * 65_537, "CLEARED", stop="")))
    else:
        held(d, interrupted(d, *[planned(f"{DRAFT} {n}", "CLEARED", stop="") for n in range(128)]))


def _anything_shown(one: Invocation) -> str:
    return next((found.response for found in reversed(one.steps) if found.response), "")


@row(
    "V10",
    "When the last answer shows nothing, or lost what it showed, nothing before it is reviewed instead.",
    on=ON,
    removed=guard(f"{MATERIAL}.visible", _anything_shown, "taking the last answer alone"),
)
@pytest.mark.parametrize("lost", [False, True], ids=["it-is-empty", "it-lost-its-content"])
def test_V10_when_the_last_answer_shows_nothing_there_is_nothing_to_review(d: Desk, lost: bool) -> None:
    last = planned("", "CLEARED", stop="")
    bare = {name: value for name, value in last.items() if name != "plannerResponse" or not lost}
    held(d, interrupted(d, CLEARED, bare))


def _with_thoughts(listed: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    def told(raw: Mapping[str, Any]) -> Mapping[str, Any]:
        said = raw.get("plannerResponse", {})
        thought = said.get("response") or said.get("thinking", "")
        return {**raw, "plannerResponse": {**said, "response": thought}} if said else raw

    return READ_STEPS([told(raw) for raw in listed])


READ_STEPS = reading.read_steps


@row(
    "V11",
    "What the model only thought is never handed over: without a visible answer there is nothing to review.",
    on=ON,
    removed=guard(
        "oncemore.adapters.antigravity.reading.read_steps",
        _with_thoughts,
        "leaving thoughts behind when a step is read",
    ),
)
def test_V11_what_the_model_only_thought_is_never_handed_over(d: Desk) -> None:
    request = interrupted(d, planned("", "CLEARED", stop="", thinking="I could say that there are two."))
    held(d, request)
    assert "I could say" not in str(d.w.rows("select body from text"))


@row(
    "V15",
    "A conversation that reads otherwise from one reading to the next is not reviewed.",
    on=ON,
    removed=guard("oncemore.adapters.antigravity.reading.look", read_once, "reading a second time"),
)
def test_V15_a_conversation_that_reads_otherwise_each_time_is_not_reviewed(d: Desk) -> None:
    request = interrupted(d)
    look = d.reads()
    more = Look(
        [*look.steps, step("CHECKPOINT", "CLEARED", metadata=look.steps[-1]["metadata"])], "IDLE", look.executors
    )
    d.server.script(*[look, more] * 100)
    held(d, request)
