"""What may a turn have done, by its items and by the log that holds what items leave out?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.logs import THREAD, TURN, written
from tests.adapters.codex.stage import READ, Stage, values

from oncemore.adapters.codex.effects import judge
from oncemore.adapters.codex.log import Logged, read_log
from oncemore.adapters.demo.model import Call, Fail, ModelRequest, Patch, Say, Script, Shell

PATCH = "*** Begin Patch\n*** Add File: note.txt\n+kept\n*** End Patch"


def test_a_finished_command_is_a_settled_effect(stage: Stage) -> None:
    stage.script = lambda request: [Shell("echo x > kept"), Say("done")]
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "settled"}


def test_a_patch_is_a_settled_effect(stage: Stage) -> None:
    stage.script = lambda request: [Patch(PATCH), Say("done")]
    native, _ = stage.run("request-1", "hello")
    assert (stage.folder / "note.txt").read_text() == "kept\n"
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "settled"}


def test_a_command_that_failed_is_a_failed_effect(stage: Stage) -> None:
    stage.script = lambda request: [Shell("exit 7"), Say("done")]
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "failed"}


def test_a_denied_write_leaves_no_item_and_is_a_failed_effect_all_the_same(stage: Stage) -> None:
    stage.script = lambda request: [Shell("echo x > denied"), Say("done")]
    native, _ = stage.run("request-1", "hello", READ)
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "effects", "steps") == {"effects": "failed", "steps": 2}
    evidence = inventory.readings["native.effects"].evidence
    assert evidence is not None and evidence.details["why"] == "call exec_command"


def test_a_denied_write_before_a_usage_limit_is_not_the_user_message_alone(stage: Stage) -> None:
    stage.script = lambda request: [Shell("echo x > denied"), Fail("usage_limit")]
    native, seen = stage.run("request-1", "hello", READ)
    assert seen.error == "usage_limit_exceeded"
    facts = values(stage.inventory("request-1", native), "user_only", "effects", "steps")
    assert facts == {"user_only": False, "effects": "failed", "steps": 1}


def test_a_call_of_an_unknown_name_leaves_the_effects_unknown(stage: Stage) -> None:
    stage.script = lambda request: [Call("teleport", {"to": "there"}), Say("done")]
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "reported"}


def test_a_command_in_the_background_is_active_until_it_ends_and_then_changes_the_ended_turn(stage: Stage) -> None:
    stage.script = lambda request: [Shell("sleep 300", yield_ms=250), Say("done")]
    native, seen = stage.run("request-1", "hello")
    assert seen.ended
    before = stage.inventory("request-1", native)
    assert values(before, "effects", "background", "steps", "run_state") == {
        "effects": "active",
        "background": "running",
        "steps": 2,
        "run_state": "idle",
    }
    stage.runtime.cancel(native)
    after = stage.inventory("request-1", native)
    assert values(after, "effects", "background", "steps") == {"effects": "failed", "background": "none", "steps": 3}
    assert before.digest != after.digest


def test_waiting_for_a_slow_command_is_no_effect_of_its_own(stage: Stage) -> None:
    def script(request: ModelRequest) -> Script:
        told = request.tool_results_since_user
        if not told:
            return Shell("while [ ! -e go ]; do sleep 0.05; done; echo end", yield_ms=250)
        if len(told) == 1:
            (stage.folder / "go").touch()
            session = int(told[0].partition("session ID ")[2].split()[0])
            return Call("write_stdin", {"session_id": session, "chars": "", "yield_time_ms": 5000})
        return Say("done")

    stage.script = script
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "settled"}


def test_an_interrupt_stops_the_turn_and_its_command_and_is_confirmed(stage: Stage) -> None:
    stage.script = lambda request: [Shell("sleep 300"), Say("done")]
    native = stage.start("request-1", "hello")
    assert stage.model.wait_for_calls(1)
    stage.runtime.cancel(native)
    stage.runtime.cancel(native)
    seen = stage.runtime.observe(native, 30)
    assert (seen.status, seen.ended, seen.answer) == ("interrupted", True, None)
    facts = values(stage.inventory("request-1", native), "status", "end_evidence", "background", "error")
    assert facts == {"status": "interrupted", "end_evidence": "recorded", "background": "none", "error": "none"}
    assert stage.model.calls == 1


def test_an_interrupt_right_after_the_start_takes_hold(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    stage.runtime.cancel(native)
    assert stage.runtime.observe(native, 30).status == "interrupted"


def test_cancelling_a_turn_that_has_ended_changes_nothing(stage: Stage) -> None:
    native, seen = stage.run("request-1", "hello")
    stage.runtime.cancel(native)
    assert stage.runtime.observe(native, 30) == seen


@pytest.mark.parametrize(
    ("payload", "effects"),
    [
        ({"type": "function_call", "name": "mcp__files__read", "call_id": "c"}, "failed"),
        ({"type": "function_call", "name": "read", "namespace": "mcp__files", "call_id": "c"}, "failed"),
        ({"type": "local_shell_call", "call_id": "c"}, "failed"),
        ({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c"}, "failed"),
        ({"type": "function_call", "name": "write_stdin", "call_id": "c", "arguments": '{"chars": "y"}'}, "failed"),
        ({"type": "function_call", "name": "write_stdin", "call_id": "c", "arguments": "not json"}, "failed"),
        ({"type": "function_call", "name": "write_stdin", "call_id": "c", "arguments": "{}"}, "none"),
        ({"type": "function_call", "name": "update_plan", "call_id": "c"}, "none"),
        ({"type": "function_call", "name": "spawn_agent", "call_id": "c"}, "unknown"),
        ({"type": "quantum_call", "call_id": "c"}, "unknown"),
        ({"type": "message", "role": "user"}, "none"),
        ({"type": "reasoning", "summary": []}, "none"),
    ],
)
def test_a_call_without_an_item_counts_by_what_it_calls(tmp_path: Path, payload: dict[str, Any], effects: str) -> None:
    assert judge([], read_log(written(tmp_path, payload), THREAD, TURN), ()) == effects


@pytest.mark.parametrize(
    ("item", "effects"),
    [
        ({"type": "commandExecution", "status": "inProgress"}, "active"),
        ({"type": "commandExecution", "status": "declined"}, "failed"),
        ({"type": "fileChange", "status": "completed"}, "settled"),
        ({"type": "mcpToolCall", "status": "half-done"}, "unknown"),
        ({"type": "webSearch"}, "settled"),
        ({"type": "reasoning"}, "none"),
        ({"type": "somethingNew"}, "unknown"),
    ],
)
def test_an_item_counts_by_its_own_status(item: dict[str, Any], effects: str) -> None:
    assert judge([{"id": "i", **item}], Logged(), ()) == effects


def test_something_that_runs_outweighs_a_failure_and_a_failure_what_is_unknown() -> None:
    failed = {"id": "1", "type": "commandExecution", "status": "failed"}
    running = {"id": "2", "type": "commandExecution", "status": "inProgress"}
    unread = Logged((), "cut")
    assert judge([failed, running], unread, ()) == "active"
    assert judge([failed], unread, ()) == "failed"
    assert judge([], unread, ()) == "unknown"
