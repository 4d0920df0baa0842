"""How is each state brought about on the real Antigravity harness, over the scripted model's chat dialect?"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable

from tests.adapters.antigravity.workbench import READ
from tests.adapters.states.harness_world import Seat
from tests.adapters.states.states import FAILURES, Book
from tests.adapters.states.truth import Read, Truth, living, until

from oncemore.adapters.antigravity.harness import HarnessRuntime
from oncemore.adapters.antigravity.harness_process import RESTING
from oncemore.adapters.demo.model import Call, Drop, Eof, Fail, Hang, Say, Script, Shell
from oncemore.engine.ports import NativeTurn, TurnView

BOOK = Book()
state = BOOK.state

WRITES = Shell("echo made > made")


@state("finished")
def finished(seat: Seat) -> tuple[Truth, Read]:
    return Truth(answered=True), seat.reading(seat.finish())


def _finished(name: str, script: Callable[[Seat], Script], truth: Truth, **options: object) -> None:
    def provoke(seat: Seat) -> tuple[Truth, Read]:
        seat.says = lambda request: script(seat)
        return truth, seat.reading(seat.finish(**options))

    BOOK.enter(name, provoke)


def _write(seat: Seat) -> Call:
    about = {"Description": "a note", "toolAction": "Writing", "toolSummary": "A note"}
    named = {"TargetFile": str(seat.folder / "note"), "CodeContent": "kept\n", "Overwrite": False}
    return Call("write_to_file", {**named, **about})


def _look(seat: Seat) -> Call:
    return Call("list_dir", {"DirectoryPath": str(seat.folder), "toolAction": "Looking", "toolSummary": "A look"})


_finished("finished after a command", lambda seat: [WRITES, Say("done")], Truth(acted="something", answered=True))
_finished("finished after a patch", lambda seat: [_write(seat), Say("done")], Truth(acted="something", answered=True))
_finished("finished, read only", lambda seat: [_look(seat), Say("done")], Truth(answered=True), profile=READ)
_finished(
    "command failed",
    lambda seat: [Shell("echo x > made; exit 7"), Say("done")],
    Truth(acted="something", answered=True),
)
_finished("command denied", lambda seat: [WRITES, Say("done")], Truth(acted="tried", answered=True), profile=READ)
_finished(
    "unknown tool called",
    lambda seat: [Call("teleport", {"to": "there"}), Say("done")],
    Truth(acted="tried", answered=True),
)
for _words, _kind in FAILURES:
    _finished(f"failed: {_words}", lambda seat, kind=_kind: Fail(kind), Truth())  # type: ignore[misc]


@state("nobody listens")
def unreachable(seat: Seat) -> tuple[Truth, Read]:
    taken = seat.cleanup.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))  # bound and never listened to: every connection is refused
    seat.runtime = HarnessRuntime("scripted", f"http://127.0.0.1:{taken.getsockname()[1]}/v1", confined=True)
    seat.cleanup.callback(seat.runtime.close)
    return Truth(), seat.reading(seat.finish())


_finished("failed: connection reset", lambda seat: Drop(), Truth())
_finished("failed: stream closed early", lambda seat: Eof(), Truth())
_finished("failed after a denied command", lambda seat: [WRITES, Fail("http500")], Truth(acted="tried"), profile=READ)
_finished("failed after a command that wrote", lambda seat: [WRITES, Fail("http500")], Truth(acted="something"))


@state("only just started")
def just_started(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False), seat.reading(seat.begin("hang"))


@state("running here, the model is asked")
def running_here(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False), seat.reading(seat.hang())


@state("running here, in a command")
def command_here(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False, acted="something", runs=True), seat.reading(seat.in_a_command())


@state("running elsewhere, the model is asked")
def running_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False), seat.reading(seat.hang(), seat.another())


@state("running elsewhere, in a command")
def command_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    return Truth(ended=False, acted="something", runs=True), seat.reading(native, seat.another())


@state("running elsewhere, its lock file removed")
def lock_removed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    (seat.home / "locks" / f"{native.thread_id}.lock").unlink()
    return Truth(ended=False, acted="something", runs=True), seat.reading(native, seat.another())


@state("interrupted by a person, the model was asked")
def interrupted(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang()
    seat.runtime.cancel(native)
    return Truth(), seat.reading(native)


@state("interrupted by a person, in a command")
def command_interrupted(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.runtime.cancel(native)
    assert not living(seat.folder)
    return Truth(acted="something"), seat.reading(native)


@state("halted, its command lives on")
def command_left_by_a_halt(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(leaves=True)
    process = seat.runtime._process(native.thread_id)
    assert process is not None
    process.halt()
    until(lambda: process.state == RESTING)
    return Truth(acted="something", runs=True), seat.reading(native)


@state("finished, a command of it lives on")
def command_left_by_an_answer(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(leaves=True)
    (seat.folder / "answer").touch()
    until(lambda: seat.runtime.observe(native, 1).ended)
    return Truth(acted="something", runs=True, answered=True), seat.reading(native)


@state("message queued before the interrupt, done after it")
def queued_and_done(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.says = lambda request: Say("a later answer")
    seat.say("and then this")
    seat.runtime.cancel(native)
    assert not living(seat.folder)
    until(lambda: len(seat.runtime.inventory(seat.session, TurnView("request-1")).turns) == 2)
    return Truth(acted="something", foreign=True), seat.reading(native)


@state("message queued before the interrupt, running after it")
def queued_and_running(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    assert seat.asked.acquire(timeout=30)
    seat.say("hang")
    seat.runtime.cancel(native)
    assert not living(seat.folder)
    assert seat.asked.acquire(timeout=30)
    return Truth(acted="something", foreign=True), seat.reading(native)


@state("owner closed, the model was asked")
def closed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang()
    seat.runtime.close()
    return Truth(), seat.reading(native)


@state("owner closed, in a command")
def command_closed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.runtime.close()
    assert not living(seat.folder)
    return Truth(acted="something"), seat.reading(native)


@state("killed, the model was asked")
def killed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang()
    seat.kill()
    return Truth(), seat.reading(native)


@state("killed, its command lives on")
def command_lives(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.kill()
    return Truth(acted="something", runs=True), seat.reading(native)


@state("killed, its command ended later")
def command_ended(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.kill()
    seat.stop_the_command()
    return Truth(acted="something"), seat.reading(native)


@state("killed after a command, then loaded here")
def killed_and_loaded(seat: Seat) -> tuple[Truth, Read]:
    seat.says = lambda request: [WRITES, Hang(seat.release)]
    native = seat.begin()
    assert seat.asked.acquire(timeout=30) and seat.asked.acquire(timeout=30)
    seat.kill()
    seat.runtime = seat.another()
    seat.load()
    return Truth(acted="something"), seat.reading(native)


def _in_the_background(seat: Seat) -> NativeTurn:
    native = seat.in_a_command(250)
    assert seat.asked.acquire(timeout=30) and seat.asked.acquire(timeout=30)
    process = seat.runtime._process(native.thread_id)
    assert process is not None
    until(lambda: process.state == "STATE_WAITING_FOR_TASKS")
    return native


@state("background command alive")
def background(seat: Seat) -> tuple[Truth, Read]:
    # The harness asks the model again once the command ends: until then the turn may go on.
    return Truth(ended=False, acted="something", runs=True, answered=True), seat.reading(_in_the_background(seat))


@state("background command alive elsewhere")
def background_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    native = _in_the_background(seat)
    return Truth(ended=False, acted="something", runs=True, answered=True), seat.reading(native, seat.another())


@state("background command ended by itself")
def background_ended(seat: Seat) -> tuple[Truth, Read]:
    native = _in_the_background(seat)
    seat.stop_the_command()
    until(lambda: seat.runtime.observe(native, 1).ended)
    return Truth(acted="something", answered=True), seat.reading(native)


@state("background command ended with its owner")
def background_closed(seat: Seat) -> tuple[Truth, Read]:
    native = _in_the_background(seat)
    seat.runtime.close()
    assert not living(seat.folder)
    return Truth(acted="something", answered=True), seat.reading(native)


@state("background command, owner killed")
def background_killed(seat: Seat) -> tuple[Truth, Read]:
    native = _in_the_background(seat)
    seat.kill()
    return Truth(acted="something", answered=True, runs=True), seat.reading(native)


@state("another turn of ours after it")
def grown(seat: Seat) -> tuple[Truth, Read]:
    native = seat.finish()
    seat.run("request-2", f"{seat.name}: more")
    return Truth(answered=True), seat.reading(native)


@state("somebody's turn after it")
def foreign_turn(seat: Seat) -> tuple[Truth, Read]:
    native = seat.finish()
    seat.say("more")
    until(lambda: len(seat.runtime.inventory(seat.session, TurnView("request-1")).turns) == 2)
    return Truth(answered=True, foreign=True), seat.reading(native)


@state("loaded, no turn yet")
def loaded(seat: Seat) -> tuple[Truth, Read]:
    seat.load()
    return Truth(), seat.reading(None)


@state("let go, never a turn")
def let_go(seat: Seat) -> tuple[Truth, Read]:
    seat.load()
    seat.runtime.close()
    return Truth(), seat.reading(None)


def _written_and_closed(seat: Seat) -> NativeTurn:
    seat.says = lambda request: [WRITES, Say("done")]
    native = seat.finish()
    seat.runtime.close()
    return native


@state("unknown step type")
def unknown_type(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    seat.edit("update steps set step_type = 9999 where step_type = 21")
    return Truth(acted="something", answered=True), seat.reading(native)


@state("store removed")
def store_removed(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    for path in seat.path.parent.glob(f"{seat.path.name}*"):
        path.unlink()
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("home replaced")
def home_replaced(seat: Seat) -> tuple[Truth, Read]:
    seat.home = seat.folder.with_name(f"{seat.name}-home")
    native = _written_and_closed(seat)
    shutil.rmtree(seat.home)
    seat.home.mkdir()
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("store removed, thread loaded")
def store_removed_while_loaded(seat: Seat) -> tuple[Truth, Read]:
    seat.says = lambda request: [WRITES, Say("done")]
    native = seat.finish()
    for path in seat.path.parent.glob(f"{seat.path.name}*"):
        path.unlink()
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("store lost its last step")
def last_step_lost(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    seat.edit("delete from steps where idx = (select max(idx) from steps)")
    return Truth(acted="something", answered=True, lost="part"), seat.reading(native)


@state("log lost a call")
def step_lost(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    seat.edit("delete from steps where step_type = 21")
    return Truth(acted="something", answered=True, lost="part"), seat.reading(native)


@state("store is no database")
def no_database(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    seat.path.write_bytes(b"not what it was" * 100)
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)
