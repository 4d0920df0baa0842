"""Does one turn run once, under its own limits, and end as the model ended it?"""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.adapters.codex.stage import READ, WRITE, Stage, values

from oncemore.adapters.codex.count import main, turns
from oncemore.adapters.demo.model import Drop, Eof, Fail, Plan, Say, Shell, Together
from oncemore.engine.errors import Busy, Refused, Unreadable
from oncemore.engine.ports import NativeTurn


def test_a_completed_turn_is_answered_once_and_read_back_as_stable(stage: Stage) -> None:
    native, seen = stage.run("request-1", "hello")
    inventory = stage.inventory("request-1", native)
    assert (seen.status, seen.ended, seen.answer, seen.error) == ("completed", True, "answer to hello", "none")
    assert stage.model.calls == 1
    assert inventory.complete
    assert inventory.answer == "answer to hello"
    assert inventory.observation is not None and inventory.observation.answer == "answer to hello"
    assert [record.native for record in inventory.under("request-1")] == [native]
    wanted = {
        "read": "stable",
        "coverage": "complete",
        "status": "completed",
        "end_evidence": "recorded",
        "turn_bound": True,
        "latest": True,
        "error": "none",
        "effects": "none",
        "background": "none",
        "run_state": "idle",
        "live_owner": "ours",
        "pending": "none",
        "user_inputs": 1,
        "final_answers": 1,
        "user_only": False,
        "unknown_items": 0,
        "foreign_input": False,
        "normal_final": True,
        "steps": 2,
    }
    assert values(inventory, *wanted) == wanted


def test_two_programs_read_the_same_of_a_turn(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    mine = stage.inventory("request-1", native)
    theirs = stage.inventory("request-1", native, stage.another())
    assert mine.digest == theirs.digest
    assert mine.turns == theirs.turns


def test_a_recorded_end_is_rounded_up_to_the_end_of_its_second(stage: Stage) -> None:
    native, seen = stage.run("request-1", "hello")
    assert seen.ended_at is not None and seen.ended_at % 1000 == 999
    (record,) = stage.inventory("request-1", native).turns
    assert record.ended_at == seen.ended_at


def test_a_turn_that_waits_for_the_model_is_in_progress_and_then_ends(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    seen = stage.runtime.observe(native, 0.05)
    assert (seen.status, seen.ended, seen.ended_at) == ("in_progress", False, None)
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "run_state", "status") == {"run_state": "active", "status": "in_progress"}
    assert inventory.observation is None
    assert not inventory.complete
    stage.release.set()
    assert stage.runtime.observe(native, 30).answer == "released"


def test_a_second_start_while_a_turn_runs_is_busy_and_reaches_no_model(stage: Stage) -> None:
    stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    with pytest.raises(Busy):
        stage.start("request-2", "me too")
    stage.release.set()
    assert stage.model.calls == 1


def test_the_same_client_id_twice_makes_two_turns_and_the_inventory_shows_both(stage: Stage) -> None:
    stage.run("request-1", "hello")
    stage.run("request-1", "hello")
    inventory = stage.inventory("request-1")
    assert len(inventory.under("request-1")) == 2
    assert values(inventory, "turn_bound", "status") == {"turn_bound": False, "status": "absent"}


def test_a_turn_is_found_by_its_client_id_when_its_native_one_was_never_learnt(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.run("request-2", "more")
    inventory = stage.inventory("request-1")
    assert [record.native for record in inventory.under("request-1")] == [native]
    assert inventory.answer == "answer to hello"
    assert values(inventory, "turn_bound", "latest") == {"turn_bound": True, "latest": False}


def test_another_turn_than_the_recorded_one_is_not_bound(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.ids |= {"request-2"}
    assert values(stage.inventory("request-2", native), "turn_bound") == {"turn_bound": False}


@pytest.mark.parametrize(
    ("kind", "error", "journal"),
    [
        ("usage_limit", "usage_limit", "usage_limit_exceeded"),
        ("sse_quota", "usage_limit", "usage_limit_exceeded"),
        ("rate429", "rate_limit", "rate_limit_exceeded"),
        ("sse_rate", "rate_limit", "rate_limit_exceeded"),
        ("http503", "overloaded", "other"),
        ("http401", "auth", "other"),
        ("http500", "other", "runtime_error"),
        ("http400", "other", "other"),
        ("ctx", "context", "other"),
        ("server_error", "other", "other"),
    ],
)
def test_only_the_typed_error_classifies_a_failure(stage: Stage, kind: Any, error: str, journal: str) -> None:
    stage.script = lambda request: Fail(kind)
    native, seen = stage.run("request-1", "hello")
    assert (seen.status, seen.ended, seen.error, seen.answer, seen.deltas) == ("failed", True, journal, None, False)
    facts = values(stage.inventory("request-1", native), "status", "error", "user_only", "effects", "run_state")
    assert facts == {"status": "failed", "error": error, "user_only": True, "effects": "none", "run_state": "idle"}


@pytest.mark.parametrize("broken", [Drop(), Eof()])
def test_a_broken_stream_is_a_failure_whose_half_answer_is_no_answer(stage: Stage, broken: Drop | Eof) -> None:
    stage.script = lambda request: broken
    native, seen = stage.run("request-1", "hello")
    assert (seen.status, seen.answer, seen.deltas) == ("failed", None, True)
    assert values(stage.inventory("request-1", native), "normal_final") == {"normal_final": False}


def test_commentary_is_not_an_answer(stage: Stage) -> None:
    both = Together((Say("let me see", "commentary"), Say("the answer", "final_answer")))
    stage.script = lambda request: both
    native, seen = stage.run("request-1", "hello")
    inventory = stage.inventory("request-1", native)
    assert seen.answer == inventory.answer == "the answer"
    assert values(inventory, "final_answers") == {"final_answers": 1}


def test_two_final_answers_are_no_single_answer(stage: Stage) -> None:
    stage.script = lambda request: Together((Say("one"), Say("two")))
    native, _ = stage.run("request-1", "hello")
    inventory = stage.inventory("request-1", native)
    assert inventory.answer is None
    assert values(inventory, "final_answers") == {"final_answers": 2}


def test_a_plan_is_no_effect(stage: Stage) -> None:
    stage.script = lambda request: [Plan(), Say("done")]
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "none"}


def test_a_read_only_turn_cannot_write_whatever_the_turn_before_it_might(stage: Stage) -> None:
    stage.script = lambda request: [Shell(f"echo x > {request.last_user}"), Say("done")]
    stage.run("request-1", "first", WRITE)
    stage.run("request-2", "second", READ)
    assert {path.name for path in stage.folder.iterdir()} == {"first"}


def test_a_writing_turn_can_write_again_after_a_read_only_one_but_not_outside(stage: Stage) -> None:
    stage.script = lambda request: [Shell(f"echo x > {request.last_user}"), Say("done")]
    stage.run("request-1", "first", READ)
    stage.run("request-2", "second", WRITE)
    stage.run("request-3", "../third", WRITE)
    assert {path.name for path in stage.folder.iterdir()} == {"second"}
    assert not (stage.folder.parent / "third").exists()


def test_a_turn_has_no_network_without_one_in_its_profile(stage: Stage) -> None:
    port = stage.model.url.rpartition(":")[2]
    probe = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached || echo cut"
    stage.script = lambda request: (
        Say(request.tool_results_since_user[0]) if request.tool_results_since_user else Shell(probe)
    )
    _, seen = stage.run("request-1", "probe")
    assert seen.answer is not None and re.search(r"^cut$", seen.answer, re.MULTILINE)


def test_starting_in_a_thread_that_is_not_loaded_is_refused(stage: Stage) -> None:
    stage.run("request-1", "hello")
    assert stage.runtime.release(stage.session)
    with pytest.raises(Refused):
        stage.runtime.start(stage.session, "request-2", "more", WRITE)
    with pytest.raises(Unreadable):
        stage.runtime.observe(NativeTurn(stage.threads[0].thread_id, "any"), 0.01)
    assert stage.model.calls == 1


def test_a_separate_process_counts_the_turns(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.run("request-1", "hello")
    stage.run("request-2", "more")
    thread_id = stage.threads[0].thread_id
    counted = turns(stage.home, thread_id)
    assert [turn["client_ids"] for turn in counted] == [["request-1"], ["request-2"]]
    assert [turn["answers"] for turn in counted] == [["answer to hello"], ["answer to more"]]
    assert main([str(stage.home), thread_id]) == 0
    assert '"turns": 2' in capsys.readouterr().out


def test_a_turn_that_was_only_just_started_is_never_read_as_ended(stage: Stage) -> None:
    for number in range(5):
        native = stage.start(f"request-{number}", "hang")
        inventory = stage.inventory(f"request-{number}", native)
        assert inventory.observation is None
        assert not inventory.complete
        assert values(inventory, "run_state") == {"run_state": "active"}
        stage.runtime.cancel(native)
