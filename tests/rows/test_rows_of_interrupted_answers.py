"""Rows V: an answer that an interrupted Turn left visible is reviewed once, by reading, when it is proven to be its."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import RAW, Look, command, planned, step
from tests.rows.antigravity_world import (
    WORKING,
    Desk,
    desk,
    read_once,
    replaced,
    switched_off,
    together,
    without,
)
from tests.rows.row import row

from oncemore.adapters.antigravity import material, reading
from oncemore.adapters.antigravity.conversation import Invocation
from oncemore.adapters.antigravity.steps import Step
from oncemore.adapters.codex import count
from oncemore.adapters.demo.model import Call, ModelRequest, Patch, Say, Script, Shell
from oncemore.adapters.inbox import Inbox
from oncemore.engine import deliveries, dispatch, intake, prompts, response
from oncemore.engine.context import Context
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import Uncertain
from oncemore.engine.ports import Receipt, SourceRef, Thread
from oncemore.engine.response import Response
from oncemore.engine.tables import Delivery
from oncemore.rules.case import Reading

REVIEW = "review-interrupted-answer"
READING = "by reading only"
"""Words of every review's input."""
DRAFT = "There are two parts, and the second is"
ANSWER = "There are two parts."
MINUTE = 60_000
HOUR = 60 * MINUTE
CLEARED = planned(DRAFT, "CLEARED", stop="")
ON = "fake language server, real Codex"
MATERIAL = "oncemore.adapters.antigravity.material"


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with desk(tmp_path, monkeypatch, REVIEW, level="portfolio_read", role="steward") as made:
        made.hurried = False
        made.w.model.capacity = "available"
        reviewed(made, Say(ANSWER))
        taken_out(made.w)
        yield made


def reviewed(d: Desk, reply: Script) -> None:
    """What the model says to a review; to anything else it says hello."""

    def answer(request: ModelRequest) -> Script:
        return reply if READING in request.last_user else Say("Hello.")

    d.w.plot.first = d.w.plot.other = answer


def interrupted(d: Desk, *steps: RAW, **asked: Any) -> str:
    """A Turn that ended with an error of the runtime; what it left visible is its draft, unless steps are given."""
    d.server.after_send(WORKING, Look(steps or (CLEARED,), executors=[("ERROR", len(steps or (1,)) - 1)]))
    request = d.ask(**asked)
    d.work(0)
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"]) == ("failed", "runtime_error")
    return request


def kept(d: Desk, request: str) -> object:
    """What nothing may change: the failed Turn, and the notice about it with its reply."""
    notice = d.w.rows("select * from delivery where request = ? and stage = 'notice' and state = 'verified'", request)
    return d.w.first_turn(request), notice, d.w.replies()[:1]


def held(d: Desk, request: str, *more: str) -> None:
    """No review, whatever time goes by: no model, no message but these, and nothing of the old Turn changed."""
    before = d.w.first_turn(request)
    d.work(2 * MINUTE, HOUR)
    assert d.w.model.calls == 0
    assert d.w.replies() == [prompts.FAILED["en"], *more]
    assert d.w.first_turn(request) == before
    assert d.books() == (1, 0)


def codex_turns(d: Desk) -> list[dict[str, Any]]:
    """What Codex's own store holds of reviews, read by a process of its own."""
    threads = d.w.rows("select thread from session_thread where runtime = 'codex'")
    return [turn for one in threads for turn in count.turns(d.w.folder / "codex", one["thread"])]


@row(
    "V1",
    "An answer left visible by an error of the runtime is reviewed once; the failed Turn and its notice stay the same.",
    on=ON,
    removed=switched_off(REVIEW),
)
def test_V01_an_answer_left_visible_is_reviewed_once_beside_the_notice(d: Desk) -> None:
    request = interrupted(d)
    before, files = d.w.first_turn(request), sorted(d.w.workspace.iterdir())
    d.work(2 * MINUTE)
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.first_turn(request) == before
    (asked,) = d.w.model.requests
    assert READING in asked.last_user and f"\n{DRAFT}\n" in asked.last_user
    profile = d.w.row("select profile from turn where phase = 'review'")["profile"]
    assert (json.loads(profile)["sandbox"], sorted(d.w.workspace.iterdir())) == ("read_only", files)
    assert (d.books(), len(codex_turns(d))) == ((1, 0), 1)


def _verified_too(request: str) -> Delivery | None:
    found = Delivery.select().where(Delivery.request == request).order_by(Delivery.frozen_at.desc()).first()
    assert found is None or isinstance(found, Delivery)
    return found


@row(
    "V2",
    "Looked at again and again, the reviewed question gets no second review and no second message.",
    on=ON,
    removed=replaced("leaving a verified reply alone", "oncemore.engine.deliveries.unsettled", _verified_too),
)
def test_V02_looked_at_again_it_gets_no_second_review_and_no_second_message(d: Desk) -> None:
    request = interrupted(d)
    d.work(2 * MINUTE)
    before = kept(d, request)
    d.work(HOUR, 24 * HOUR)
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.model.calls == 1
    assert len(d.w.rows("select * from turn")) == 2
    assert kept(d, request) == before


def _said(steps: list[RAW]) -> list[RAW]:
    """The person's input with one character more."""
    said = dict(steps[0]["userInput"])
    (item,) = said["items"]
    return [{**steps[0], "userInput": {**said, "items": [{"text": item["text"] + "?"}]}}, *steps[1:]]


@row(
    "V3",
    "A conversation whose input differs from what was sent by one character is not the Turn's.",
    on=ON,
    removed=replaced("comparing the input with what was sent", f"{MATERIAL}._prompt", lambda one, turn: "matched"),
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
    removed=together(
        "comparing the executions of the steps",
        replaced("", f"{MATERIAL}._execution", lambda one, turn: "matched"),
        replaced("", f"{MATERIAL}._range", lambda seen, one: "matched"),
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
    removed=replaced(
        "comparing the times of the steps with the Turn's", f"{MATERIAL}._time", lambda one, turn, terms: "matched"
    ),
)
def test_V05_a_step_from_outside_the_turns_time_is_not_the_turns(d: Desk) -> None:
    request = interrupted(d)
    d.change(lambda steps: _about(steps, createdAt="2026-01-01T00:00:00Z"))
    held(d, request)


def _state(steps: list[RAW], state: str) -> list[RAW]:
    return [*steps[:-1], {**steps[-1], "status": f"CORTEX_STEP_STATUS_{state}"}]


IDLE_OR_NOT = without("native-idle", "session-idle", "floor/session")
CLOSED = replaced("asking whether the segment is closed", f"{MATERIAL}.segment", lambda one, terms: "closed")


@row(
    "V6",
    "A segment in which something may still move is open, and its answer is not reviewed.",
    on=ON,
    removed=together("asking whether the segment is closed, and the runtime idle", CLOSED, IDLE_OR_NOT),
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
    removed=together(
        "asking for unknown steps and tool calls",
        CLOSED,
        without("native-known", "no-tool-calls", "floor/unknown-items"),
        replaced("", "oncemore.adapters.antigravity.conversation.Invocation.tool_calls", property(lambda one: 0)),
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
    removed=without("steps-bounded", "material-bounded"),
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
    removed=replaced("taking the last answer alone", f"{MATERIAL}.visible", _anything_shown),
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
    removed=replaced(
        "leaving thoughts behind when a step is read",
        "oncemore.adapters.antigravity.reading.read_steps",
        _with_thoughts,
    ),
)
def test_V11_what_the_model_only_thought_is_never_handed_over(d: Desk) -> None:
    request = interrupted(d, planned("", "CLEARED", stop="", thinking="I could say that there are two."))
    held(d, request)
    assert "I could say" not in str(d.w.rows("select body from text"))


@row(
    "V12",
    "Material of another kind than a visible answer is none for this review.",
    on=ON,
    removed=without("visible-response"),
)
@pytest.mark.parametrize("kind", ["visible_results", "none"])
def test_V12_material_of_another_kind_is_not_reviewed(d: Desk, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    request = interrupted(d)
    told = material.readings

    def otherwise(*asked: Any) -> dict[str, Reading]:
        found = told(*asked)
        return {**found, "material.kind": replace(found["material.kind"], value=kind)}

    monkeypatch.setattr(material, "readings", otherwise)
    held(d, request)


def _nothing(d: Desk, request: str) -> None:
    """The attachment came with the question."""


def _edit(d: Desk, request: str) -> None:
    with d.w.house() as house:
        house.inbox.edit(d.w.row("select message from request")["message"], "How many chapters?")


def _opt_out(d: Desk, request: str) -> None:
    with d.w.house() as house:
        intake.opt_out(house.journal, request)


@row(
    "V13",
    "A question that came with an attachment, was edited or stopped, or whose person opted out, is not reviewed.",
    on=ON,
    removed=without(
        "no-attachments",
        "source-unchanged",
        "not-opted-out",
        "floor/attachments",
        "floor/source",
        "floor/opted-out",
        "still-open",
        "floor/open",
        "floor/stopped",
    ),
)
@pytest.mark.parametrize("what", ["attachment", "edited", "opted-out", "stopped"])
def test_V13_a_question_that_is_not_as_it_was_is_not_reviewed(d: Desk, what: str) -> None:
    request = interrupted(d, attachments=int(what == "attachment"))

    def stop(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_ENQUEUE:
            with d.w.house() as house:
                intake.stop(house.journal, request, "user")

    if what == "stopped":
        d.on = stop
        held(d, request, prompts.STOPPED["en"])
        assert d.passed[CrashPoint.AFTER_ENQUEUE] == 1
    else:
        {"attachment": _nothing, "edited": _edit, "opted-out": _opt_out}[what](d, request)
        held(d, request)


def _without_gates(text: str, word: str) -> Response:
    return replace(PARSE(text, word), gates=())


PARSE = response.parse


@row(
    "V14",
    "A draft that looks complete beside an older tool whose effect is unknown is reviewed, and settles nothing else.",
    on=ON,
    removed=replaced("keeping what a review leaves to a person", "oncemore.engine.running.parse", _without_gates),
)
def test_V14_a_draft_that_looks_complete_settles_nothing_else(d: Desk) -> None:
    old = interrupted(d, planned("I build it.", "CLEARED", calls=["call-1"], stop=""), command(state="ERROR"))
    before = d.w.first_turn(old)
    d.server.after_send(WORKING, Look([planned("It is all built.", "CLEARED", stop="")], executors=[("ERROR", 0)]))
    later = d.ask("Is it built?")
    d.work(MINUTE)
    word = "oncemore-"

    def partly(request: ModelRequest) -> Script:
        mark = request.last_user.rsplit(f"<{word}", 1)[1].split(">")[0]
        return Say(f'Perhaps. <{word}{mark}>{{"gate": {{"summary": "look at the build"}}}}</{word}{mark}>')

    d.w.plot.first = d.w.plot.other = partly
    d.work(4 * MINUTE, HOUR)
    assert d.w.model.calls == 1
    assert d.w.replies()[-1] == "Perhaps."
    rows = {row["id"]: row for row in d.w.rows("select id, state, held from request")}
    assert rows[old] == {"id": old, "state": "open", "held": f"{REVIEW}: segment-closed"}
    assert rows[later]["state"] == "open" and "leaves something to a person" in rows[later]["held"]
    assert d.w.first_turn(old) == before
    assert d.books() == (2, 0)


@row(
    "V15",
    "A conversation that reads otherwise from one reading to the next is not reviewed.",
    on=ON,
    removed=replaced("reading a second time", "oncemore.adapters.antigravity.reading.look", read_once),
)
def test_V15_a_conversation_that_reads_otherwise_each_time_is_not_reviewed(d: Desk) -> None:
    request = interrupted(d)
    look = d.reads()
    more = Look(
        [*look.steps, step("CHECKPOINT", "CLEARED", metadata=look.steps[-1]["metadata"])], "IDLE", look.executors
    )
    d.server.script(*[look, more] * 100)
    held(d, request)


@row(
    "V16",
    "When what was left changes between the reservation and the dispatch, no model is started.",
    on=ON,
    removed=replaced(
        "comparing what the review was handed with what the runtime holds",
        "oncemore.engine.inputs.material_stands",
        lambda context, request, text: True,
    ),
)
def test_V16_what_changes_between_reservation_and_dispatch_starts_no_model(d: Desk) -> None:
    request = interrupted(d)

    def change(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_ENQUEUE:
            d.change(lambda steps: [*steps[:-1], {**steps[-1], "plannerResponse": {"response": "There are three."}}])

    d.on = change
    d.work(2 * MINUTE, HOUR)
    assert d.passed[CrashPoint.AFTER_ENQUEUE] == 1
    assert d.w.model.calls == 0
    assert ANSWER not in d.w.replies()
    assert d.w.row("select state from attempt where request = ?", request)["state"] == "withdrawn"


@row(
    "V17",
    "A question that was edited while its review ran gets no answer of it.",
    on=ON,
    removed=replaced(
        "reading message and grant once more before a reply",
        "oncemore.engine.deliveries._may_send",
        lambda context, row, session: None,
    ),
)
def test_V17_a_question_edited_during_the_review_gets_no_answer_of_it(d: Desk) -> None:
    request = interrupted(d)

    def edit(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_NATIVE_END and "review" in about:
            _edit(d, request)

    d.on = edit
    d.work(2 * MINUTE, HOUR)
    assert d.w.model.calls == 1
    assert d.w.replies() == [prompts.FAILED["en"]]
    assert d.w.row("select held from request")["held"] == "not delivered: source.state is edited"


def _as_the_conversations_own(session: str, thread: Thread, now: int, *, set_aside: bool = False) -> None:
    RECORD(session, thread, now)


RECORD = dispatch._record_thread


@row(
    "V18",
    "The next ordinary question goes on in its own conversation, and bears nothing of the review.",
    on=ON,
    removed=replaced(
        "setting the review's thread aside", "oncemore.engine.dispatch._record_thread", _as_the_conversations_own
    ),
)
def test_V18_the_next_question_bears_nothing_of_the_review(d: Desk) -> None:
    interrupted(d)
    d.work(2 * MINUTE)
    assert d.w.replies()[-1] == ANSWER
    d.server.after_send(WORKING, Look([planned("Fine.")], executors=[("NO_TOOL_CALL", 0)]))
    d.ask("And how are you?")
    d.work(3 * MINUTE)
    assert d.w.replies()[-1] == "Fine."
    first, second = d.server.sends
    assert READING not in second["items"][0]["text"]
    assert (first["cascadeId"], first["cascadeConfig"]) == (second["cascadeId"], second["cascadeConfig"])


class Deaf:
    """The Inbox, whose answer to the review's reply is lost after it was taken."""

    def __init__(self, inbox: Inbox, replies: list[str]) -> None:
        self._inbox, self._replies = inbox, replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inbox, name)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        receipt = self._inbox.reply(ref, text, key)
        if "recovery" in key:
            self._replies.append(key)
            if len(self._replies) == 1:
                raise Uncertain("no answer came")
        return receipt


def _send_again(context: Context, delivery: Delivery) -> bool:
    deliveries._set_state(context, delivery, "frozen", "no receipt")
    return True


@row(
    "V19",
    "When the answer to the review's reply is lost, it is looked for, found, and not sent again.",
    on=ON,
    removed=replaced("looking for a reply whose receipt was lost", "oncemore.engine.deliveries._settle", _send_again),
)
def test_V19_a_review_reply_whose_receipt_was_lost_is_found_and_not_sent_again(d: Desk) -> None:
    replies: list[str] = []
    interrupted(d)
    d.source = lambda inbox: Deaf(inbox, replies)
    d.work(2 * MINUTE, HOUR)
    assert len(replies) == 1
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.row("select state from delivery where stage like 'recovery%'")["state"] == "verified"


@row(
    "V20",
    "A review that writes, reaches out or hands work on changes nothing, and its answer is rejected.",
    on=ON,
    removed=replaced(
        "checking what a review did before its answer counts",
        "oncemore.engine.running._rejection",
        lambda context, turn, native, view, seen: None,
    ),
)
@pytest.mark.parametrize(
    "deed",
    [
        Shell("echo x > written.md"),
        Patch("*** Begin Patch\n*** Add File: written.md\n+x\n*** End Patch"),
        Call("spawn_agent", {"task": "write it"}),
    ],
    ids=["a-command", "a-patch", "a-delegation"],
)
def test_V20_a_review_that_does_more_than_read_is_rejected(d: Desk, deed: Shell | Patch | Call) -> None:
    request = interrupted(d)
    before = kept(d, request)
    reviewed(d, [deed, Say("It is written down.")])
    d.work(2 * MINUTE, HOUR)
    assert list(d.w.workspace.iterdir()) == []
    assert "It is written down." not in d.w.replies()
    assert d.w.row("select state, reason from attempt") == {
        "state": "failed",
        "reason": "the review did more than read",
    }
    assert kept(d, request) == before
