"""Who has a thread loaded, and what is known of a turn whose process is not ours or no longer lives?"""

from __future__ import annotations

import shutil

import pytest
from tests.adapters.codex.stage import READ, WRITE, Stage, values

from oncemore.adapters.codex.lock import Lock, look
from oncemore.adapters.demo.model import Say, Shell
from oncemore.engine.errors import Busy, Refused, Unreadable
from oncemore.engine.ports import NativeTurn, Thread


def test_a_turn_that_runs_in_another_process_does_not_count_as_ended(stage: Stage) -> None:
    other = stage.another()
    native = stage.start("request-1", "hang", runtime=other)
    assert stage.model.wait_for_calls(1)
    inventory = stage.inventory("request-1", native)
    unknown = {
        "live_owner": "other",
        "status": "reported",
        "run_state": "reported",
        "background": "reported",
        "pending": "reported",
        "end_evidence": "projected",
        "read": "stable",
    }
    assert values(inventory, *unknown) == unknown
    assert inventory.observation is None
    assert inventory.turns[0].status == "in_progress"
    evidence = inventory.readings["native.status"].evidence
    assert evidence is not None and "no end of the turn is stored" in evidence.details["why"]


def test_a_turn_whose_process_was_killed_has_no_recorded_end(stage: Stage) -> None:
    other = stage.another()
    native = stage.start("request-1", "hang", runtime=other)
    assert stage.model.wait_for_calls(1)
    stage.kill(other)
    inventory = stage.inventory("request-1", native)
    wanted = {"live_owner": "none", "status": "interrupted", "end_evidence": "projected", "background": "reported"}
    assert values(inventory, *wanted) == wanted
    assert inventory.observation is None
    assert inventory.turns[0].ended_at is None
    why = {name: inventory.readings[f"native.{name}"].evidence for name in ("end_evidence", "background")}
    assert why["end_evidence"] is not None and "stored" in why["end_evidence"].details["why"]
    assert why["background"] is not None and "died" in why["background"].details["why"]


def test_a_killed_turn_has_provably_ended_once_we_hold_the_writer_lock(stage: Stage) -> None:
    other = stage.another()
    native = stage.start("request-1", "hang", runtime=other)
    assert stage.model.wait_for_calls(1)
    stage.kill(other)
    stage.load()
    inventory = stage.inventory("request-1", native)
    assert inventory.complete
    assert values(inventory, "live_owner", "end_evidence") == {"live_owner": "ours", "end_evidence": "projected"}
    seen = inventory.observation
    assert seen is not None and (seen.status, seen.ended, seen.ended_at) == ("interrupted", True, None)
    assert stage.runtime.observe(native, 30) == seen
    assert stage.model.calls == 1


def test_an_orderly_end_of_the_process_records_the_end_of_its_turn(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    stage.runtime.close()
    inventory = stage.inventory("request-1", native)
    wanted = {"status": "interrupted", "end_evidence": "recorded", "live_owner": "none", "background": "none"}
    assert values(inventory, *wanted) == wanted
    assert inventory.observation is not None and inventory.observation.ended


def test_a_thread_that_another_process_has_loaded_is_busy(stage: Stage) -> None:
    stage.run("request-1", "hello")
    with pytest.raises(Busy):
        stage.load(runtime=stage.another())


def test_codex_itself_refuses_a_second_writer_where_locks_cannot_be_looked_at(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.run("request-1", "hello")
    monkeypatch.setattr("oncemore.adapters.codex.lock.sys.platform", "darwin")
    with pytest.raises(Busy):
        stage.load(runtime=stage.another())
    facts = values(stage.inventory("request-1", None, stage.another()), "live_owner", "run_state")
    assert facts == {"live_owner": "reported", "run_state": "reported"}
    assert values(stage.inventory("request-1"), "live_owner") == {"live_owner": "ours"}


def test_the_lock_is_held_by_the_loading_process_freed_by_its_death_and_gone_after_an_orderly_end(
    stage: Stage,
) -> None:
    stage.run("request-1", "hello")
    thread_id = stage.threads[0].thread_id
    ((_, pid),) = stage.runtime.processes()
    assert look(stage.home, thread_id) == Lock("held", pid)
    stage.kill(stage.runtime)
    assert look(stage.home, thread_id) == Lock("free")
    stage.load()
    assert stage.runtime.release(stage.session)
    assert look(stage.home, thread_id) == Lock("absent")
    assert look(stage.home, "../../etc/passwd") == Lock("unknown")


def test_loading_again_answers_at_once_with_the_same_process(stage: Stage) -> None:
    assert stage.load()
    before = stage.runtime.processes()
    assert not stage.load()
    assert stage.runtime.processes() == before


def test_a_thread_that_was_made_but_not_recorded_is_given_again(stage: Stage) -> None:
    first = stage.runtime.load(stage.session, WRITE, stage.workspace)
    second = stage.runtime.load(stage.session, WRITE, stage.workspace)
    assert first == second and second.created
    assert len(stage.runtime.processes()) == 1


def test_a_recorded_thread_that_never_held_a_turn_is_replaced_by_a_new_one(stage: Stage) -> None:
    assert stage.load()
    stage.runtime.close()
    inventory = stage.inventory("request-1")
    assert inventory.complete and inventory.turns == ()
    assert values(inventory, "status", "background") == {"status": "absent", "background": "none"}
    assert stage.load()
    assert len(set(stage.threads)) == 2
    native, seen = stage.run("request-1", "hello")
    assert seen.ended
    assert values(stage.inventory("request-1", native), "read", "latest") == {"read": "stable", "latest": True}


def test_a_thread_whose_log_was_lost_is_not_taken_for_an_empty_one(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.runtime.close()
    shutil.rmtree(stage.home / "sessions")
    inventory = stage.inventory("request-1", native)
    assert not inventory.complete
    assert values(inventory, "read", "coverage", "status") == {
        "read": "unreadable",
        "coverage": "partial",
        "status": "reported",
    }
    with pytest.raises(Unreadable):
        stage.load()
    assert len(stage.threads) == 1


def test_reading_loads_nothing_and_calls_no_model(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.runtime.close()
    stage.inventory("request-1", native)
    assert look(stage.home, native.thread_id) == Lock("absent")
    assert stage.model.calls == 1


def test_a_thread_with_a_running_command_is_kept_and_let_go_once_it_ends(stage: Stage) -> None:
    stage.script = lambda request: [Shell("sleep 300", yield_ms=250), Say("done")]
    native, _ = stage.run("request-1", "hello")
    assert not stage.runtime.release(stage.session)
    assert len(stage.runtime.processes()) == 1
    stage.runtime.cancel(native)
    assert stage.runtime.release(stage.session)
    assert stage.runtime.processes() == []


def test_a_thread_in_another_home_is_refused(stage: Stage) -> None:
    stage.threads = (Thread("codex", "/elsewhere", "0190-a"),)
    with pytest.raises(Refused):
        stage.load()


def test_an_owner_that_died_is_unreadable_to_who_waits_on_it(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    stage.kill(stage.runtime)
    with pytest.raises(Unreadable):
        stage.runtime.observe(native, 30)
    assert stage.runtime.processes() == []


def test_a_turn_of_an_unknown_thread_is_unreadable(stage: Stage) -> None:
    with pytest.raises(Unreadable):
        stage.runtime.observe(NativeTurn("nowhere", "none"), 0.01)


def test_a_read_only_thread_is_loaded_anew_by_a_process_that_has_nothing_else(stage: Stage) -> None:
    stage.run("request-1", "hello", WRITE)
    ((_, before),) = stage.runtime.processes()
    stage.run("request-2", "look", READ)
    ((_, after),) = stage.runtime.processes()
    assert before != after
    assert len(stage.threads) == 1
