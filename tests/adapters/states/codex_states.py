"""How is each state brought about on the real Codex, over the scripted model?"""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import threading
from pathlib import Path
from typing import Any

from tests.adapters.codex.stage import READ, WRITE
from tests.adapters.states.codex_world import Seat
from tests.adapters.states.states import FAILURES, Book
from tests.adapters.states.truth import Read, Truth, living, until

from oncemore.adapters.codex import lock
from oncemore.adapters.codex.home import write_config
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.model import (
    Call,
    Drop,
    Eof,
    Fail,
    Hang,
    Patch,
    Plan,
    Say,
    Script,
    Shell,
    Together,
)
from oncemore.engine.ports import NativeTurn

BOOK = Book()
state = BOOK.state

WRITES = Shell("echo made > made")
PATCH = "*** Begin Patch\n*** Add File: note\n+kept\n*** End Patch"


def said(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "text_elements": []}]


@state("finished")
def finished(seat: Seat) -> tuple[Truth, Read]:
    return Truth(answered=True), seat.reading(seat.finish())


def _finished(name: str, script: Script, truth: Truth, **options: Any) -> None:
    def provoke(seat: Seat) -> tuple[Truth, Read]:
        seat.says = lambda request: script
        return truth, seat.reading(seat.finish(**options))

    BOOK.enter(name, provoke)


_finished("finished after a command", [WRITES, Say("done")], Truth(acted="something", answered=True))
_finished("finished after a patch", [Patch(PATCH), Say("done")], Truth(acted="something", answered=True))
_finished("finished after a plan only", [Plan(), Say("done")], Truth(answered=True))
_finished("finished, read only", [Shell("ls"), Say("done")], Truth(answered=True), profile=READ)
_finished("finished with commentary alone", Say("looking", phase="commentary"), Truth())
_finished("finished with two answers", Together((Say("one"), Say("two"))), Truth(answered=True))
_finished("command failed", [Shell("echo x > made; exit 7"), Say("done")], Truth(acted="something", answered=True))
_finished("command denied", [WRITES, Say("done")], Truth(acted="tried", answered=True), profile=READ)
_finished("unknown tool called", [Call("teleport", {"to": "there"}), Say("done")], Truth(acted="tried", answered=True))
for _words, _kind in FAILURES:
    _finished(f"failed: {_words}", Fail(_kind), Truth())  # type: ignore[arg-type]
_finished("failed: connection reset", Drop(), Truth())
_finished("failed: stream closed early", Eof(), Truth())
_finished("failed after a denied command", [WRITES, Fail("usage_limit")], Truth(acted="tried"), profile=READ)
_finished("failed after a command that wrote", [WRITES, Fail("usage_limit")], Truth(acted="something"))


@state("failed: silence")
def silence(seat: Seat) -> tuple[Truth, Read]:
    seat.own_home(idle_ms=300)
    return Truth(), seat.reading(seat.finish("hang"))


@state("nobody listens")
def unreachable(seat: Seat) -> tuple[Truth, Read]:
    taken = seat.cleanup.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))  # bound and never listened to: every connection is refused
    seat.own_home(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    native = seat.begin()
    # Codex tries again for longer than anybody here waits.
    until(lambda: seat.runtime.observe(native, 0.1).retries)
    return Truth(ended=False), seat.reading(native)


@state("only just started")
def just_started(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False), seat.reading(seat.begin("hang"))


@state("running here, the model is asked")
def running_here(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False), seat.reading(seat.hang())


@state("running here, in a command")
def command_here(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    owner = seat.runtime._processes.named(native.thread_id)
    assert owner is not None
    until(owner.terminals)  # the command may write before its own process lists it
    return Truth(ended=False, acted="something", runs=True), seat.reading(native)


@state("running elsewhere, the model is asked")
def running_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    return Truth(ended=False), seat.reading(seat.hang(runtime=seat.another()))


@state("running elsewhere, in a command")
def command_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(runtime=seat.another())
    return Truth(ended=False, acted="something", runs=True), seat.reading(native)


@state("running elsewhere, its lock file removed")
def lock_removed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang(runtime=seat.another())
    (seat.home / lock.FOLDER / f"{native.thread_id}.lock").unlink()
    return Truth(ended=False), seat.reading(native)


def _waiting(seat: Seat, owner: CodexRuntime, reader: CodexRuntime) -> tuple[Truth, Read]:
    """A person's client asks for approval, and the person has not answered yet."""
    seat.load(READ, owner)
    thread_id = seat.threads[-1].thread_id
    held = owner._processes.named(thread_id)
    assert held is not None
    asked = threading.Event()
    held.connection._refuse = lambda message: asked.set()  # type: ignore[method-assign]
    wish = {"sandbox_permissions": "require_escalated", "justification": "it must write"}
    seat.says = lambda request: [Call("exec_command", {"cmd": "echo x > made", **wish}), Say("done")]
    seat.ids |= {"request-1"}
    given = {"clientUserMessageId": "request-1", "approvalPolicy": "on-request"}
    answer = seat.request("turn/start", owner, input=said(f"{seat.name}: do"), **given)
    assert asked.wait(30)
    truth = Truth(ended=False, acted="tried", waits=True)
    return truth, seat.reading(NativeTurn(thread_id, answer["turn"]["id"]), reader)


@state("waiting for approval here")
def waiting_here(seat: Seat) -> tuple[Truth, Read]:
    return _waiting(seat, seat.runtime, seat.runtime)


@state("waiting for approval elsewhere")
def waiting_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    return _waiting(seat, seat.another(), seat.runtime)


@state("interrupted by a person, the model was asked")
def interrupted(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang()
    seat.runtime.cancel(native)
    return Truth(), seat.reading(native)


@state("interrupted by a person, in a command")
def command_interrupted(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.runtime.cancel(native)
    until(lambda: not living(seat.folder))
    return Truth(acted="something"), seat.reading(native)


@state("owner closed, the model was asked")
def closed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang()
    seat.runtime.close()
    return Truth(), seat.reading(native)


@state("owner closed, in a command")
def command_closed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.runtime.close()
    until(lambda: not living(seat.folder))
    return Truth(acted="something"), seat.reading(native)


@state("killed, the model was asked")
def killed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.hang()
    seat.kill(seat.runtime)
    return Truth(), seat.reading(native)


@state("killed, in a command")
def command_killed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command()
    seat.kill(seat.runtime)
    until(lambda: not living(seat.folder))
    return Truth(acted="something"), seat.reading(native)


@state("killed after a command, then loaded here")
def killed_and_loaded(seat: Seat) -> tuple[Truth, Read]:
    other = seat.another()
    seat.says = lambda request: [WRITES, Hang(seat.release)]
    native = seat.begin(runtime=other)
    assert seat.asked.acquire(timeout=30) and seat.asked.acquire(timeout=30)
    seat.kill(other)
    seat.load()
    return Truth(acted="something"), seat.reading(native)


@state("background command alive")
def background(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(250)
    assert seat.runtime.observe(native, 30).ended
    return Truth(acted="something", runs=True, answered=True), seat.reading(native)


@state("background command alive elsewhere")
def background_elsewhere(seat: Seat) -> tuple[Truth, Read]:
    other = seat.another()
    native = seat.in_a_command(250, runtime=other)
    assert other.observe(native, 30).ended
    return Truth(acted="something", runs=True, answered=True), seat.reading(native)


@state("background command ended by itself")
def background_ended(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(250)
    assert seat.runtime.observe(native, 30).ended
    seat.stop_the_command()
    until(lambda: not seat.request("thread/backgroundTerminals/list")["data"])
    return Truth(acted="something", answered=True), seat.reading(native)


@state("background command ended with its owner")
def background_closed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(250)
    assert seat.runtime.observe(native, 30).ended
    seat.runtime.close()
    until(lambda: not living(seat.folder))
    return Truth(acted="something", answered=True), seat.reading(native)


@state("background command, owner killed")
def background_killed(seat: Seat) -> tuple[Truth, Read]:
    native = seat.in_a_command(250)
    assert seat.runtime.observe(native, 30).ended
    seat.kill(seat.runtime)
    until(lambda: not living(seat.folder))
    return Truth(acted="something", answered=True), seat.reading(native)


@state("another turn of ours after it")
def grown(seat: Seat) -> tuple[Truth, Read]:
    native = seat.finish()
    seat.run("request-2", f"{seat.name}: more")
    return Truth(answered=True), seat.reading(native)


@state("somebody's turn after it")
def foreign_turn(seat: Seat) -> tuple[Truth, Read]:
    native = seat.finish()
    other = seat.runtime.start(seat.session, "somebody", f"{seat.name}: more", WRITE)
    assert seat.runtime.observe(other, 30).ended
    return Truth(answered=True, foreign=True), seat.reading(native)


def _merged(seat: Seat, client_id: str) -> NativeTurn:
    native = seat.hang()
    steered = f"{seat.name}: and this"
    given = {"clientUserMessageId": client_id, "expectedTurnId": native.turn_id}
    seat.request("turn/steer", input=said(steered), **given)
    seat.release.set()
    assert seat.runtime.observe(native, 30).ended
    return native


@state("two inputs in it")
def steered(seat: Seat) -> tuple[Truth, Read]:
    seat.ids |= {"request-2"}
    return Truth(answered=True), seat.reading(_merged(seat, "request-2"))


@state("somebody's input in it")
def foreign_input(seat: Seat) -> tuple[Truth, Read]:
    return Truth(answered=True, foreign=True), seat.reading(_merged(seat, "somebody"))


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


def _forget(home: Path, thread_id: str) -> None:
    (path,) = home.glob("thread_history_*.sqlite")
    with sqlite3.connect(path) as index:
        for table in ("thread_turns", "thread_items", "thread_history_projection_state"):
            index.execute(f"delete from {table} where thread_id = ?", (thread_id,))
    index.close()


@state("store removed")
def store_removed(seat: Seat) -> tuple[Truth, Read]:
    seat.own_home()
    native = _written_and_closed(seat)
    shutil.rmtree(seat.home / "sessions")
    for path in seat.home.glob("*.sqlite*"):
        path.unlink()
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("store removed, thread loaded")
def store_removed_while_loaded(seat: Seat) -> tuple[Truth, Read]:
    seat.own_home()
    seat.says = lambda request: [WRITES, Say("done")]
    native = seat.finish()
    shutil.rmtree(seat.home / "sessions")
    for path in seat.home.glob("*.sqlite*"):
        path.unlink()
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("home replaced")
def home_replaced(seat: Seat) -> tuple[Truth, Read]:
    seat.own_home()
    native = _written_and_closed(seat)
    shutil.rmtree(seat.home)
    write_config(seat.home, seat.model.base_url, "MODEL_KEY")
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("index emptied")
def index_emptied(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    _forget(seat.home, native.thread_id)
    return Truth(acted="something", answered=True, lost="all"), seat.reading(native)


@state("log removed")
def log_removed(seat: Seat) -> tuple[Truth, Read]:
    native = _written_and_closed(seat)
    seat.log().unlink()
    return Truth(acted="something", answered=True, lost="part"), seat.reading(native)


@state("log lost its end")
def log_cut(seat: Seat) -> tuple[Truth, Read]:
    seat.says = lambda request: [WRITES, Fail("usage_limit")]
    native = seat.finish(profile=READ)
    seat.runtime.close()
    lines = seat.log().read_bytes().splitlines(keepends=True)
    call = next(at for at, line in enumerate(lines) if json.loads(line)["payload"].get("type") == "function_call")
    seat.log().write_bytes(b"".join(lines[:call]))
    return Truth(acted="tried", lost="part"), seat.reading(native)


@state("log lost a call")
def call_lost(seat: Seat) -> tuple[Truth, Read]:
    seat.says = lambda request: [WRITES, Fail("usage_limit")]
    native = seat.finish(profile=READ)
    seat.runtime.close()
    lines = seat.log().read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not str(json.loads(line)["payload"].get("type")).startswith("function_call")]
    seat.log().write_bytes(b"".join(kept))
    return Truth(acted="tried", lost="part"), seat.reading(native)
