"""Does no command of a cancelled turn live on, though the harness leaves some, and does none that is another's end?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.adapters.antigravity.stand import values
from tests.adapters.antigravity.workbench import READ, SHELL, Workbench
from tests.adapters.states.truth import living, until

from oncemore.adapters.antigravity import commands
from oncemore.adapters.antigravity.commands import Command, Commands
from oncemore.adapters.antigravity.harness_process import RESTING, HarnessProcess
from oncemore.adapters.antigravity.lock import Lock
from oncemore.adapters.demo.model import Hang, ModelRequest, Say, Script, Shell
from oncemore.engine.errors import Busy, Uncertain
from oncemore.engine.ports import NativeTurn

pytest.importorskip("websockets")

FACTS = ("native.status", "native.run_state", "native.background", "native.effects", "native.last_step")
SETTLED = {
    "native.status": "interrupted",
    "native.run_state": "idle",
    "native.background": "none",
    "native.effects": "reported",
    "native.last_step": "canceled",
}
ALIVE = {
    "native.status": "in_progress",
    "native.run_state": "idle",
    "native.background": "running",
    "native.effects": "active",
    "native.last_step": "active",
}

STAYS = "sh {loop}"
LEAVES = "setsid sh {loop}"
WITHOUT_MARK = "env -i PATH=/usr/bin:/bin setsid sh {loop}"
WITHOUT_FILES = f'{sys.executable} -c \'import subprocess; subprocess.Popen(["setsid", "sh", "{{loop}}"])\''


def begin(bench: Workbench, name: str, command: str = LEAVES, client_id: str = "request-1") -> NativeTurn:
    """Begin a turn whose command starts a loop in this way, and then waits for a file that says that it may answer."""
    loop = bench.folder / f"{name}.sh"
    loop.write_text(f"touch {bench.folder}/{name}.begun\nwhile [ ! -e {bench.folder}/stop ]; do sleep 0.05; done\n")
    waits = f"while [ ! -e {bench.folder}/{name}.answer ] && [ ! -e {bench.folder}/stop ]; do sleep 0.05; done"
    line = f"{command.format(loop=loop)} < /dev/null > /dev/null 2>&1 & {waits}"
    bench.cleanup.callback((bench.folder / "stop").touch)

    def script(request: ModelRequest) -> Script:
        return Hang(bench.release) if request.last_user == "hang" else [Shell(line), Say("done")]

    bench.script = script
    native = bench.start(client_id, name)
    until((bench.folder / f"{name}.begun").exists)
    return native


def finish(bench: Workbench, name: str, native: NativeTurn) -> None:
    (bench.folder / f"{name}.answer").touch()
    until(lambda: bench.runtime.observe(native, 1).ended)


def lives(bench: Workbench, name: str) -> bool:
    return living(bench.folder / f"{name}.sh")


def process_of(bench: Workbench) -> HarnessProcess:
    process = bench.runtime._process(bench.threads[0].thread_id)
    assert process is not None
    return process


def halt(bench: Workbench) -> None:
    process = process_of(bench)
    process.halt()
    # Where interrupts are ignored, as below a shell's `&`, it first waits for its commands for a quarter of a minute.
    until(lambda: process.state == RESTING, 60)


@pytest.mark.parametrize("command", [STAYS, LEAVES, WITHOUT_MARK, WITHOUT_FILES])
def test_a_cancel_ends_every_command_of_the_turn_however_it_was_started(bench: Workbench, command: str) -> None:
    native = begin(bench, "loop", command)
    bench.runtime.cancel(native)
    assert not lives(bench, "loop")
    assert Lock(bench.home, native.thread_id).free()
    seen = bench.runtime.observe(native, 0)
    assert (seen.status, seen.ended) == ("interrupted", True)
    assert values(bench.inventory("request-1", native).readings, *FACTS) == SETTLED


def test_what_runs_next_does_not_find_a_cancelled_command(bench: Workbench) -> None:
    native = begin(bench, "loop")
    bench.runtime.cancel(native)
    bench.script = lambda request: Say("next")
    _, seen = bench.run("request-2", "more")
    assert seen.answer == "next"


@pytest.mark.parametrize("command", [LEAVES, WITHOUT_MARK, WITHOUT_FILES])
def test_a_command_that_outlives_a_halt_is_told_as_running_and_the_turn_not_as_ended(
    bench: Workbench, command: str
) -> None:
    native = begin(bench, "loop", command)
    halt(bench)
    during = bench.inventory("request-1", native)
    assert values(during.readings, *FACTS, "native.steps_ended") == ALIVE | {"native.steps_ended": False}
    assert during.observation is None
    assert not bench.runtime.observe(native, 0).ended
    assert lives(bench, "loop")
    (bench.folder / "stop").touch()
    until(lambda: not lives(bench, "loop"))
    assert values(bench.inventory("request-1", native).readings, *FACTS) == SETTLED


def test_a_conversation_in_which_a_command_lives_is_neither_released_nor_loaded_anew(bench: Workbench) -> None:
    native = begin(bench, "loop")
    finish(bench, "loop", native)
    pid = process_of(bench).pid
    assert not bench.runtime.release(bench.session)
    with pytest.raises(Busy):
        bench.load(READ)
    assert process_of(bench).pid == pid and lives(bench, "loop")
    bench.load(SHELL)
    (bench.folder / "stop").touch()
    until(lambda: not lives(bench, "loop"))
    assert bench.runtime.release(bench.session)


def test_what_an_answered_turn_left_running_makes_its_effects_unsettled(bench: Workbench) -> None:
    native = begin(bench, "loop")
    finish(bench, "loop", native)
    wanted = {"native.status": "completed", "native.background": "running", "native.effects": "reported"}
    assert values(bench.inventory("request-1", native).readings, *wanted) == wanted
    (bench.folder / "stop").touch()
    until(lambda: not lives(bench, "loop"))
    settled = {"native.background": "none", "native.effects": "settled"}
    assert values(bench.inventory("request-1", native).readings, *settled) == settled


def test_a_command_of_an_earlier_turn_lives_on_and_its_process_is_kept(bench: Workbench) -> None:
    first = begin(bench, "server")
    finish(bench, "server", first)
    second = begin(bench, "loop", client_id="request-2")
    pid = process_of(bench).pid
    bench.runtime.cancel(second)
    assert lives(bench, "server") and not lives(bench, "loop")
    assert process_of(bench).pid == pid
    assert bench.runtime.observe(second, 0).status == "interrupted"


def test_what_was_said_meanwhile_runs_on(bench: Workbench) -> None:
    native = begin(bench, "loop")
    process = process_of(bench)
    process.say("hang")
    bench.runtime.cancel(native)
    assert not lives(bench, "loop")
    until(lambda: bench.model.calls == 2)
    assert process.alive and process.state != RESTING
    assert bench.runtime.observe(native, 0).status == "interrupted"


def test_a_second_cancel_does_not_halt_what_was_said_meanwhile(bench: Workbench) -> None:
    native = begin(bench, "loop")
    process = process_of(bench)
    process.say("hang")
    bench.runtime.cancel(native)
    until(lambda: bench.model.calls == 2)
    bench.runtime.cancel(native)
    assert process.alive and process.state != RESTING


def test_a_turn_that_was_left_behind_is_not_cancelled_by_halting_a_later_one(bench: Workbench) -> None:
    first = begin(bench, "loop", STAYS)
    bench.kill()
    (bench.folder / "stop").touch()
    until(lambda: _loaded(bench, bench.load))
    bench.start("request-2", "hang")
    until(lambda: bench.model.calls == 2)
    process = process_of(bench)
    bench.runtime.cancel(first)
    assert process.alive and process.state != RESTING


def test_a_command_that_outlived_its_killed_harness_is_ended_by_a_cancel(bench: Workbench) -> None:
    native = begin(bench, "loop", STAYS)
    bench.kill()
    assert lives(bench, "loop")
    bench.runtime.cancel(native)
    assert not lives(bench, "loop")
    assert bench.runtime.observe(native, 0).status == "interrupted"


def test_a_command_that_is_not_known_to_be_the_turns_lives_on_and_the_cancel_is_not_confirmed(bench: Workbench) -> None:
    native = begin(bench, "loop", STAYS)
    bench.kill()
    bench.runtime._begun.clear()
    with pytest.raises(Uncertain):
        bench.runtime.cancel(native)
    assert lives(bench, "loop")
    assert not bench.runtime.observe(native, 0).ended


def test_a_harness_that_another_program_has_loaded_meanwhile_is_not_ended(bench: Workbench) -> None:
    native = begin(bench, "loop", STAYS)
    bench.kill()
    (bench.folder / "stop").touch()
    until(lambda: not lives(bench, "loop"))
    other = bench.another()
    until(lambda: _loaded(bench, lambda: bench.load(runtime=other)))
    with pytest.raises(Uncertain):
        bench.runtime.cancel(native)
    assert len(other.processes()) == 1


def _loaded(bench: Workbench, load: Callable[[], object]) -> bool:
    try:
        load()
    except Busy:
        return False
    return True


def test_other_conversations_and_other_programs_are_left_alone(bench: Workbench, tmp_path: Path) -> None:
    with ExitStack() as cleanup:
        (tmp_path / "other").mkdir()
        other = Workbench(tmp_path / "other", cleanup)
        native = begin(bench, "loop")
        begin(other, "loop")
        alike = subprocess.Popen(["sleep", "600"], cwd=bench.folder, env={commands.VARIABLE: f"{native.thread_id}x."})
        cleanup.callback(alike.wait)
        cleanup.callback(alike.kill)
        bench.runtime.cancel(native)
        assert not lives(bench, "loop")
        assert lives(other, "loop")
        assert alike.poll() is None


def test_a_process_that_has_another_ones_id_by_now_is_left_alone(bench: Workbench) -> None:
    begin(bench, "loop")
    process = process_of(bench)
    with subprocess.Popen(["sleep", "600"]) as alien:
        process.commands._kill(Command(alien.pid, os.getsid(alien.pid)))
        assert alien.poll() is None
        alien.kill()


def test_closing_ends_what_the_harness_forgot(bench: Workbench) -> None:
    native = begin(bench, "loop")
    halt(bench)
    assert lives(bench, "loop")
    bench.runtime.close()
    assert not lives(bench, "loop")
    assert Lock(bench.home, native.thread_id).free()


def test_where_the_kernel_does_not_tell_the_free_lock_is_the_proof(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(commands, "PROCESSES", tmp_path / "nothing")
    bench.script = lambda request: [Shell("echo made > made"), Hang(bench.release)]
    first = bench.start("request-1", "first")
    assert bench.model.wait_for_calls(2)
    bench.runtime.cancel(first)
    assert (bench.folder / "made").exists()
    assert bench.runtime.observe(first, 0).status == "interrupted"
    assert values(bench.inventory("request-1", first).readings, "native.background") == {"native.background": "none"}
    second = begin(bench, "second", client_id="request-2")
    with pytest.raises(Uncertain):
        bench.runtime.cancel(second)
    assert lives(bench, "second")
    assert not bench.runtime.observe(second, 0).ended


def test_where_the_kernel_does_not_tell_effects_are_unknown_until_the_process_is_let_go(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(commands, "PROCESSES", tmp_path / "nothing")
    bench.script = lambda request: [Shell("echo made > made"), Say("done")]
    native, _ = bench.run("request-1", "do")
    told = ("native.effects", "native.background")
    during = bench.inventory("request-1", native).readings
    assert values(during, *told) == {"native.effects": "reported", "native.background": "reported"}
    assert bench.runtime.release(bench.session)
    after = bench.inventory("request-1", native).readings
    assert values(after, *told) == {"native.effects": "settled", "native.background": "none"}


def test_only_commands_of_one_start_are_told_from_all_others(bench: Workbench) -> None:
    native = begin(bench, "loop")
    process = process_of(bench)
    mine = {command.session for command in process.living() or ()}
    assert mine and process.pid not in mine
    told = {command.pid for command in Commands(native.thread_id).living() or ()}
    assert process.pid in told  # to whoever does not run it, the harness is a process of the conversation too
    assert mine <= {os.getsid(pid) for pid in told if Path(f"/proc/{pid}").exists()}
    assert Commands("0" * 32).living() == ()
