"""When has a turn at the language server ended, and what is told of one that only looks like it?"""

from __future__ import annotations

import pytest
from tests.adapters.antigravity.fake import Look, asked, command, planned, step
from tests.adapters.antigravity.stand import Stand, values

ASKED = asked("please", "request-1")
SETTLE = (
    "native.coverage",
    "native.foreign_input",
    "native.pending",
    "native.run_state",
    "native.last_step",
    "native.steps_ended",
    "native.normal_final",
)
SETTLED = {
    "native.coverage": "complete",
    "native.foreign_input": False,
    "native.pending": "none",
    "native.run_state": "idle",
    "native.last_step": "canceled",
    "native.steps_ended": True,
    "native.normal_final": False,
}


def test_a_final_answer_at_rest_completes_the_turn(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("all done"), step("CHECKPOINT")]))
    seen = stand.observe(native)
    assert (seen.status, seen.ended, seen.answer, seen.error) == ("completed", True, "all done", "none")
    assert seen.ended_at is not None
    assert seen.readings["native.normal_final"].value is True


@pytest.mark.parametrize(
    "tail",
    [
        [planned(calls=["call-1"]), command(state="CANCELED")],
        [planned("I will build it", calls=["call-1"]), command(), planned(state="CANCELED", stop="")],
        [planned(calls=["call-1"]), command(), command("call-2", state="CANCELED")],
    ],
    ids=["a command", "an answer", "the second command"],
)
def test_a_settled_cancel_is_told_as_it_is_and_not_ended_here(stand: Stand, tail: list[dict[str, object]]) -> None:
    native = stand.reads(Look([ASKED, *tail], executors=[("USER_CANCELED", len(tail))]))
    seen = stand.observe(native)
    assert values(seen.readings, *SETTLE) == SETTLED
    assert (seen.status, seen.ended, seen.answer) == ("in_progress", False, None)
    assert seen.readings["native.effects"].status == "reported"
    assert stand.server.cancels == []


def test_a_step_that_is_still_being_written_keeps_a_cancelled_tail_open_and_its_answer_wins(stand: Stand) -> None:
    writing = planned(state="GENERATING", stop="")
    native = stand.reads(
        Look([ASKED, writing, command(state="CANCELED")]),
        Look([ASKED, planned("", calls=["call-1"]), command(state="CANCELED"), planned("done after all")]),
    )
    seen = stand.observe(native)
    assert values(seen.readings, "native.steps_ended", "native.last_step") == {
        "native.steps_ended": False,
        "native.last_step": "canceled",
    }
    assert not seen.ended
    later = stand.observe(native)
    assert (later.status, later.ended, later.answer) == ("completed", True, "done after all")


def test_a_short_rest_between_a_tool_and_the_planner_is_no_end(stand: Stand) -> None:
    native = stand.reads(
        Look([ASKED, planned("I look first", calls=["call-1"]), command()]),
        Look([ASKED, planned("I look first", calls=["call-1"]), command(), planned("done")]),
    )
    seen = stand.observe(native)
    assert (seen.status, seen.ended) == ("in_progress", False)
    assert values(seen.readings, "native.run_state", "native.last_step", "native.normal_final") == {
        "native.run_state": "idle",
        "native.last_step": "done",
        "native.normal_final": False,
    }
    assert stand.observe(native).answer == "done"


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("WAITING", False),
        ("ERROR", False),
        ("INVALID", False),
        ("CLEARED", False),
        ("INTERRUPTED", False),
        ("HALTED", False),
        ("QUEUED", False),
        ("SOMETHING_NEW", "reported"),
        ("UNSPECIFIED", "reported"),
    ],
)
def test_any_other_state_keeps_a_cancelled_tail_from_being_settled(stand: Stand, state: str, told: object) -> None:
    native = stand.reads(Look([ASKED, planned("", calls=["call-1"]), command(state=state), command("c", "CANCELED")]))
    seen = stand.observe(native)
    assert values(seen.readings, "native.steps_ended") == {"native.steps_ended": told}
    assert not seen.ended


@pytest.mark.parametrize("run", ["RUNNING", "CANCELING", "BUSY"])
def test_a_conversation_at_work_is_active(stand: Stand, run: str) -> None:
    native = stand.reads(Look([ASKED, planned("done")], run=run))
    seen = stand.observe(native)
    assert seen.readings["native.run_state"].value == "active"
    assert (seen.status, seen.ended) == ("in_progress", False)


@pytest.mark.parametrize("run", ["", "UNSPECIFIED", "UNLOADED"])
def test_a_run_status_that_is_not_known_is_no_rest(stand: Stand, run: str) -> None:
    native = stand.reads(Look([ASKED, planned("done")], run=run))
    seen = stand.observe(native)
    assert seen.readings["native.run_state"].status == "reported"
    assert not seen.ended


def test_an_input_of_somebody_else_shows_beside_a_cancelled_tail(stand: Stand) -> None:
    foreign = asked("and now this")
    native = stand.reads(Look([ASKED, planned("", calls=["call-1"]), foreign, command(state="CANCELED")]))
    seen = stand.observe(native)
    assert values(seen.readings, "native.foreign_input", "native.user_inputs") == {
        "native.foreign_input": True,
        "native.user_inputs": 2,
    }


def test_an_input_of_somebody_else_after_the_turn_shows_too_and_the_turn_is_no_longer_the_latest(stand: Stand) -> None:
    later = [asked("mine", execution="theirs"), planned("yours", execution="theirs")]
    native = stand.reads(Look([ASKED, planned("done"), *later]))
    seen = stand.observe(native)
    assert values(seen.readings, "native.foreign_input", "native.latest", "native.steps") == {
        "native.foreign_input": True,
        "native.latest": False,
        "native.steps": 2,
    }
    assert (seen.ended, seen.answer) == (True, "done")


def test_a_look_that_is_not_whole_tells_no_facts(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, command(state="CANCELED")], total=5, page=2, refuses_pages=True))
    seen = stand.observe(native)
    assert (seen.status, seen.ended, seen.readings) == ("in_progress", False, {})


def test_an_answer_whose_stream_broke_is_no_final_answer_though_it_is_done(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("half an ans", stop="CLIENT_STREAM_ERROR")]))
    seen = stand.observe(native)
    assert values(seen.readings, "native.normal_final", "native.last_step", "native.final_answers") == {
        "native.normal_final": False,
        "native.last_step": "done",
        "native.final_answers": 0,
    }
    assert (seen.status, seen.ended, seen.answer, seen.deltas) == ("in_progress", False, None, True)


@pytest.mark.parametrize(
    "tail",
    [
        [planned("I will build it", calls=["call-1"])],
        [planned("it is being built"), command()],
        [planned("half an ans"), step("ERROR_MESSAGE")],
        [planned("done"), planned("")],
    ],
    ids=["a call is to come", "a command came", "an error came", "nothing came"],
)
def test_a_text_with_more_to_come_is_no_final_answer(stand: Stand, tail: list[dict[str, object]]) -> None:
    native = stand.reads(Look([ASKED, *tail]))
    seen = stand.observe(native)
    assert seen.readings["native.normal_final"].value is False
    assert (seen.ended, seen.answer) == (False, None)


@pytest.mark.parametrize("stop", ["", "UNSPECIFIED", "STOP_PATTERN"])
def test_a_stop_reason_that_is_absent_or_normal_ends_an_answer(stand: Stand, stop: str) -> None:
    native = stand.reads(Look([ASKED, planned("done", stop=stop)]))
    assert stand.observe(native).ended


@pytest.mark.parametrize("reason", ["USER_CANCELED", "ERROR", "HALTED_STEP", "SOMETHING_NEW", ""])
def test_an_executor_that_ended_otherwise_takes_the_word_final_from_an_answer(stand: Stand, reason: str) -> None:
    native = stand.reads(Look([ASKED, planned("half an ans", stop="")], executors=[(reason, 1)]))
    seen = stand.observe(native)
    assert seen.readings["native.normal_final"].value is False
    assert seen.answer is None


def test_an_executor_that_ended_in_an_error_fails_the_turn_with_no_class_of_its_prose(stand: Stand) -> None:
    prose = step("ERROR_MESSAGE", errorMessage={"error": {"userErrorMessage": "usage limit reached, quota exceeded"}})
    native = stand.reads(Look([ASKED, prose], executors=[("ERROR", 1)]))
    seen = stand.observe(native)
    assert (seen.status, seen.ended, seen.error) == ("failed", True, "runtime_error")
    assert values(seen.readings, "native.error", "native.status", "native.end_evidence", "native.effects") == {
        "native.error": "other",
        "native.status": "failed",
        "native.end_evidence": "recorded",
        "native.effects": "none",
    }


def test_error_prose_without_the_record_of_an_end_ends_nothing(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, step("ERROR_MESSAGE")]))
    seen = stand.observe(native)
    assert not seen.ended
    assert seen.readings["native.status"].status == "reported"


def test_an_executor_at_its_limit_fails_the_turn(stand: Stand) -> None:
    steps = [ASKED, planned("", calls=["call-1"]), command()]
    native = stand.reads(Look(steps, executors=[("MAX_INVOCATIONS", 2)]))
    seen = stand.observe(native)
    assert (seen.status, seen.ended, seen.error) == ("failed", True, "other")


def test_an_executor_of_an_earlier_turn_says_nothing_of_this_one(stand: Stand) -> None:
    earlier = [asked("before", execution="earlier"), step("ERROR_MESSAGE", execution="earlier")]
    native = stand.reads(Look([*earlier, ASKED, planned("done")], executors=[("ERROR", 1)]))
    assert stand.observe(native).status == "completed"


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ({"permission": {}}, "approval"),
        ({"filePermission": {}}, "approval"),
        ({"askQuestion": {}}, "question"),
        ({"askForTheMoon": {}}, "reported"),
        ({}, "reported"),
    ],
)
def test_what_a_step_waits_for_is_told(stand: Stand, asks: dict[str, object], told: str) -> None:
    waiting = command(state="WAITING", **({"requestedInteraction": asks} if asks else {}))
    native = stand.reads(Look([ASKED, planned("", calls=["call-1"]), waiting], run="RUNNING"))
    assert values(stand.observe(native).readings, "native.pending") == {"native.pending": told}


def test_a_question_waits_for_its_answer(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, step("ASK_QUESTION", "WAITING")]))
    assert stand.observe(native).readings["native.pending"].value == "question"


def test_a_turn_is_watched_until_it_ends_within_the_time_given(stand: Stand) -> None:
    native = stand.reads(Look([ASKED], run="RUNNING"), Look([ASKED], run="RUNNING"), Look([ASKED, planned("done")]))
    assert stand.observe(native, 20.0).answer == "done"


def test_another_program_reads_the_same_end_but_not_whose_the_inputs_are(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("done")]))
    seen = stand.another().observe(native, 0.0)
    assert seen.answer == "done"
    assert values(seen.readings, "native.foreign_input", "native.turn_bound") == {
        "native.foreign_input": "reported",
        "native.turn_bound": "reported",
    }
