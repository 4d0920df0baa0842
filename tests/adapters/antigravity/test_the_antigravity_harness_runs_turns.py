"""Does one turn of the real harness run once, end as it ended, and read the same from a fresh process?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.stand import values
from tests.adapters.antigravity.workbench import READ, SHELL, WRITE, Workbench

from oncemore.adapters.antigravity import store
from oncemore.adapters.antigravity.harness import HarnessRuntime
from oncemore.adapters.antigravity.outbox import Outbox
from oncemore.adapters.antigravity.steps import Step
from oncemore.adapters.demo.model import Call, Drop, Eof, Fail, ModelRequest, Say, Shell
from oncemore.engine.errors import Busy, Refused, Unreadable
from oncemore.engine.ports import Inventory, NativeTurn, Profile, Thread, TurnView

pytest.importorskip("websockets")

SETTLED = {"native.last_step": "canceled", "native.steps_ended": True, "native.run_state": "idle"}


def test_a_completed_turn_is_answered_once_and_read_back_as_recorded(bench: Workbench) -> None:
    native, seen = bench.run("request-1", "hello")
    inventory = bench.inventory("request-1", native)
    assert (seen.status, seen.ended, seen.answer, seen.error) == ("completed", True, "answer to hello", "none")
    assert bench.model.calls == 1
    assert inventory.complete
    assert [record.native for record in inventory.under("request-1")] == [native]
    wanted = {
        "native.read": "stable",
        "native.coverage": "complete",
        "native.status": "completed",
        "native.end_evidence": "recorded",
        "native.turn_bound": True,
        "native.latest": True,
        "native.error": "none",
        "native.effects": "none",
        "native.background": "none",
        "native.run_state": "idle",
        "native.pending": "none",
        "native.user_inputs": 1,
        "native.final_answers": 1,
        "native.user_only": False,
        "native.unknown_items": 0,
        "native.foreign_input": False,
        "native.steps": 2,
        "native.last_step": "done",
        "native.steps_ended": True,
        "native.normal_final": True,
        "native.live_owner": "missing",
        "route.restricted_profile": "missing",
    }
    assert values(inventory.readings, *wanted) == wanted


def test_a_fresh_program_reads_the_same_and_starts_nothing(bench: Workbench) -> None:
    native, _ = bench.run("request-1", "hello")
    mine = bench.inventory("request-1", native)
    bench.runtime.close()
    fresh = bench.another()
    theirs = bench.inventory("request-1", native, fresh)
    assert (mine.digest, mine.turns) == (theirs.digest, theirs.turns)
    assert theirs.observation is not None and theirs.observation.answer == "answer to hello"
    assert fresh.processes() == []
    assert bench.model.calls == 1


def test_a_conversation_goes_on_in_a_new_process(bench: Workbench) -> None:
    first, _ = bench.run("request-1", "hello")
    assert bench.runtime.release(bench.session)
    assert bench.runtime.processes() == []
    second, seen = bench.run("request-2", "again")
    assert seen.answer == "answer to again"
    assert first.thread_id == second.thread_id and first.turn_id != second.turn_id
    inventory = bench.inventory("request-1", first)
    assert inventory.readings["native.latest"].value is False
    assert [record.client_ids for record in inventory.turns] == [("request-1",), ("request-2",)]
    assert bench.model.requests[-1].inputs == ("hello", "again")


def test_a_command_runs_and_settles(bench: Workbench) -> None:
    bench.script = lambda request: [Shell("echo made > made.txt"), Say("made")]
    native, seen = bench.run("request-1", "make")
    assert seen.answer == "made"
    assert (bench.folder / "made.txt").read_text() == "made\n"
    assert values(bench.inventory("request-1", native).readings, "native.effects", "native.steps") == {
        "native.effects": "settled",
        "native.steps": 4,
    }


def test_a_command_that_fails_is_told(bench: Workbench) -> None:
    bench.script = lambda request: [Shell("exit 7"), Say("it failed")]
    native, _ = bench.run("request-1", "make")
    assert bench.inventory("request-1", native).readings["native.effects"].value == "failed"


def test_a_usage_limit_is_an_error_without_a_class(bench: Workbench) -> None:
    bench.script = lambda request: Fail("usage_limit")
    native, seen = bench.run("request-1", "hello")
    assert (seen.status, seen.ended, seen.error, seen.answer) == ("failed", True, "runtime_error", None)
    wanted = {
        "native.status": "failed",
        "native.error": "other",
        "native.end_evidence": "recorded",
        "native.last_step": "done",
        "native.normal_final": False,
        "native.user_only": False,
    }
    assert values(bench.inventory("request-1", native).readings, *wanted) == wanted
    assert bench.model.calls == 1


def test_a_turn_after_a_failed_one_runs_in_a_new_process(bench: Workbench) -> None:
    bench.script = lambda request: Fail("http500")
    bench.run("request-1", "hello")
    bench.script = lambda request: Say("better")
    _, seen = bench.run("request-2", "again")
    assert seen.answer == "better"


@pytest.mark.parametrize("reply", [Drop(), Eof()])
def test_half_an_answer_is_no_answer(bench: Workbench, reply: Drop | Eof) -> None:
    bench.script = lambda request: reply
    native, seen = bench.run("request-1", "hello")
    assert (seen.status, seen.ended, seen.answer, seen.deltas) == ("failed", True, None, True)
    assert bench.inventory("request-1", native).readings["native.normal_final"].value is False


def test_a_halted_command_reads_as_a_settled_cancel_and_is_told_as_interrupted_to_who_halted_it(
    bench: Workbench,
) -> None:
    bench.script = lambda request: [Shell("echo begun > begun.txt; sleep 60"), Say("woke")]
    native = bench.start("request-1", "sleep")
    _wait_for(bench, bench.folder / "begun.txt", native)
    bench.runtime.cancel(native)
    seen = bench.runtime.observe(native, 0)
    assert (seen.status, seen.ended) == ("interrupted", True)
    assert values(seen.readings, *SETTLED) == SETTLED
    assert seen.readings["native.effects"].status == "reported"
    assert bench.runtime.release(bench.session)
    theirs = bench.inventory("request-1", native, bench.another())
    assert values(theirs.readings, *SETTLED, "native.normal_final") == SETTLED | {"native.normal_final": False}
    assert theirs.observation is None
    assert theirs.readings["native.status"].value == "interrupted"


def test_a_halted_model_call_leaves_no_answer(bench: Workbench) -> None:
    native = bench.start("request-1", "hang")
    assert bench.model.wait_for_calls(1)
    bench.runtime.cancel(native)
    seen = bench.runtime.observe(native, 0)
    assert (seen.status, seen.ended, seen.answer) == ("interrupted", True, None)


def test_a_running_turn_is_active_here_and_unknown_to_others(bench: Workbench) -> None:
    native = bench.start("request-1", "hang")
    assert bench.model.wait_for_calls(1)
    seen = bench.runtime.observe(native, 0)
    assert (seen.status, seen.ended) == ("in_progress", False)
    mine, theirs = bench.inventory("request-1", native), bench.inventory("request-1", native, bench.another())
    assert mine.readings["native.run_state"].value == "active"
    assert values(theirs.readings, "native.run_state", "native.background", "native.status") == {
        "native.run_state": "reported",
        "native.background": "reported",
        "native.status": "reported",
    }
    assert not mine.complete and not theirs.complete
    assert not bench.runtime.release(bench.session)


def test_a_conversation_that_is_loaded_elsewhere_is_busy(bench: Workbench) -> None:
    bench.load()
    with pytest.raises(Busy):
        bench.load(runtime=bench.another())


def test_nothing_is_sent_behind_a_running_turn(bench: Workbench) -> None:
    bench.start("request-1", "hang")
    with pytest.raises(Refused, match="STATE_RUNNING"):
        bench.runtime.start(bench.session, "request-2", "more", SHELL)
    assert [line.client_id for line in Outbox(bench.home, bench.threads[0].thread_id).lines()] == ["request-1"]


def test_a_killed_model_call_leaves_the_input_alone_and_an_end_that_is_only_inferred(bench: Workbench) -> None:
    native = bench.start("request-1", "hang")
    assert bench.model.wait_for_calls(1)
    bench.kill()
    inventory = bench.inventory("request-1", native, bench.another())
    wanted = {
        "native.status": "interrupted",
        "native.end_evidence": "projected",
        "native.run_state": "idle",
        "native.background": "none",
        "native.user_only": True,
        "native.normal_final": False,
    }
    assert values(inventory.readings, *wanted) == wanted
    assert inventory.complete
    assert inventory.observation is not None and inventory.observation.status == "interrupted"


def test_a_command_that_outlives_its_killed_harness_is_seen_and_its_effects_stay_unknown(bench: Workbench) -> None:
    command = f"echo begun > begun.txt; while [ ! -e {bench.folder}/stop ]; do sleep 0.1; done"
    bench.script = lambda request: [Shell(command), Say("woke")]
    native = bench.start("request-1", "wait")
    _wait_for(bench, bench.folder / "begun.txt", native)
    bench.kill()
    fresh = bench.another()
    during = bench.inventory("request-1", native, fresh)
    held = during.readings["native.run_state"].status == "reported"
    (bench.folder / "stop").touch()
    after = _until_free(bench, native, fresh)
    assert values(after.readings, "native.run_state", "native.effects", "native.background", "native.last_step") == {
        "native.run_state": "idle",
        "native.effects": "reported",
        "native.background": "none",
        "native.last_step": "active",
    }
    assert held and not during.complete
    assert after.observation is not None and not after.observation.answer


def test_an_input_that_nobody_here_sent_is_foreign(bench: Workbench) -> None:
    bench.run("request-1", "hello")
    native, _ = bench.run("request-2", "again")
    (bench.home / "sent" / f"{native.thread_id}.jsonl").write_text("")
    inventory = bench.inventory("request-2", native)
    assert values(inventory.readings, "native.foreign_input", "native.turn_bound") == {
        "native.foreign_input": True,
        "native.turn_bound": False,
    }


def test_the_same_text_twice_is_told_apart_by_its_place(bench: Workbench) -> None:
    first, _ = bench.run("request-1", "hello")
    second, _ = bench.run("request-2", "hello")
    turns = bench.inventory("request-2", second).turns
    assert [(record.native, record.client_ids) for record in turns] == [
        (first, ("request-1",)),
        (second, ("request-2",)),
    ]


def test_an_input_with_our_text_from_before_our_send_is_not_ours(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "c")
    outbox.write("request-1", 1, "hello")
    steps = [Step(place, "USER_INPUT", "DONE", text="hello") for place in range(3)]
    assert outbox.claimed(steps) == {1: "request-1"}
    outbox.write("request-2", 1, "hello")
    assert outbox.claimed(steps) == {1: "request-1", 2: "request-2"}


def test_a_process_that_ends_while_its_store_is_read_makes_the_reading_a_changing_one(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = bench.start("request-1", "hang")
    assert bench.model.wait_for_calls(1)
    look = store.look

    def killed(*given: Any, **named: Any) -> Any:
        read = look(*given, **named)
        bench.kill()
        return read

    monkeypatch.setattr(store, "look", killed)
    inventory = bench.inventory("request-1", native)
    assert inventory.readings["native.read"].value == "changing"
    assert (inventory.complete, inventory.observation, inventory.only_reading) == (False, None, None)


def test_a_list_of_sent_inputs_that_is_damaged_makes_the_reading_unreadable(bench: Workbench) -> None:
    native, _ = bench.run("request-1", "hello")
    (bench.home / "sent" / f"{native.thread_id}.jsonl").write_text('{"client_id": "request-1"')
    told = bench.inventory("request-1", native).readings
    assert values(told, "native.read", "native.coverage") == {
        "native.read": "unreadable",
        "native.coverage": "partial",
    }


def test_a_store_that_is_damaged_is_unreadable(bench: Workbench) -> None:
    native, _ = bench.run("request-1", "hello")
    bench.runtime.close()
    path = store.path_of(bench.home, native.thread_id)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(b"no database at all" * 100)
    inventory = bench.inventory("request-1", native)
    assert inventory.readings["native.read"].value == "unreadable"
    assert not inventory.complete


def test_a_session_without_a_conversation_has_nothing(bench: Workbench) -> None:
    inventory = bench.runtime.inventory(bench.session, TurnView("request-1"))
    assert inventory.complete
    assert inventory.readings["native.status"].value == "absent"
    assert bench.runtime.processes() == []


def test_a_conversation_that_was_loaded_and_never_used_is_empty(bench: Workbench) -> None:
    assert bench.load()
    inventory = bench.inventory("request-1")
    assert (inventory.complete, inventory.turns) == (True, ())


def test_a_conversation_of_another_folder_is_refused(bench: Workbench, tmp_path: Path) -> None:
    bench.run("request-1", "hello")
    bench.runtime.close()
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(Refused, match="not the workspace"):
        bench.runtime.load(bench.session, SHELL, bench.opened(other))
    assert bench.runtime.processes() == []


@pytest.mark.parametrize(
    ("profile", "confined", "has", "lacks"),
    [
        (SHELL, True, {"run_command", "write_to_file", "view_file"}, set()),
        (SHELL, False, {"write_to_file", "view_file"}, {"run_command", "manage_task"}),
        (WRITE, True, {"write_to_file", "view_file"}, {"run_command", "manage_task"}),
        (READ, True, {"view_file", "list_dir"}, {"run_command", "write_to_file", "replace_file_content"}),
    ],
)
def test_a_model_is_offered_only_what_the_profile_allows(
    bench: Workbench, profile: Profile, confined: bool, has: set[str], lacks: set[str]
) -> None:
    offered: list[frozenset[str]] = []

    def script(request: ModelRequest) -> Say:
        offered.append(request.tools)
        return Say("seen")

    bench.script = script
    bench.runtime = bench.another(confined=confined)
    bench.run("request-1", "hello", profile)
    assert has <= offered[0] and not lacks & offered[0]


def test_a_conversation_is_loaded_anew_for_another_profile(bench: Workbench) -> None:
    bench.load(SHELL)
    ((_, first),) = bench.runtime.processes()
    bench.load(READ)
    ((_, second),) = bench.runtime.processes()
    assert first != second


def test_a_call_that_was_not_offered_does_nothing_and_leaves_effects_unproven(bench: Workbench) -> None:
    write = Call("write_to_file", {"TargetFile": str(bench.folder / "made.txt"), "CodeContent": "x"})
    bench.script = lambda request: [write, Say("tried")]
    bench.run("request-1", "write", READ)
    assert not (bench.folder / "made.txt").exists()


def test_a_program_that_is_not_there_is_unreadable(bench: Workbench) -> None:
    with pytest.raises(Unreadable, match="no harness"):
        bench.another(program=bench.folder / "nothing")


def test_a_program_that_is_no_harness_is_unreadable_and_ended(bench: Workbench) -> None:
    bench.runtime = bench.another(program=Path("/bin/true"))
    with pytest.raises(Unreadable, match="did not start"):
        bench.load()
    assert bench.runtime.processes() == []


def test_an_id_that_is_none_opens_no_file(bench: Workbench) -> None:
    bench.threads = (Thread("antigravity", str(bench.home), "../../etc/passwd"),)
    inventory = bench.inventory("request-1")
    assert inventory.readings["native.read"].value == "unreadable"


def _wait_for(bench: Workbench, path: Path, native: NativeTurn) -> None:
    """Until a command has made a file; each look at the turn waits a little."""
    for _ in range(400):
        if path.exists():
            return
        bench.runtime.observe(native, 0.05)
    raise AssertionError(f"{path} was never made")


def _until_free(bench: Workbench, native: NativeTurn, runtime: HarnessRuntime) -> Inventory:
    for _ in range(400):
        inventory = bench.inventory("request-1", native, runtime)
        if inventory.readings["native.run_state"].status == "known":
            return inventory
        bench.release.wait(0.05)
    raise AssertionError("something of the conversation still runs")
