"""A thread that another Codex process has loaded, one whose owner was killed, and starts that went wrong."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.engine.executor.world import BACKOFF, KEY, World, hanging

from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.engine import prompts
from oncemore.engine.errors import Uncertain, Unreadable
from oncemore.engine.ports import NativeTurn, Profile, SessionView, Thread, Workspace


@contextmanager
def elsewhere(w: World) -> Iterator[CodexRuntime]:
    """Another program that has the Session's thread loaded and runs a turn in it."""
    home, thread = str(w.folder / "codex"), w.row("select thread from session_thread")["thread"]
    found = w.workspace.stat()
    folder = Workspace(str(w.workspace), found.st_dev, found.st_ino, os.open(w.workspace, os.O_RDONLY))
    view = SessionView("elsewhere", "codex", home, (Thread("codex", home, thread),))
    runtime = CodexRuntime(passed_on=[KEY])
    w.plot.other = hanging(w)
    calls = w.model.calls
    try:
        runtime.load(view, Profile("workspace_write"), folder)
        runtime.start(view, "not-of-oncemore", "Go on.", Profile("workspace_write"))
        assert w.model.wait_for_calls(calls + 1)
        yield runtime
    finally:
        runtime.close()
        folder.close()


def records(w: World) -> list[dict[str, Any]]:
    """The records of the newest pass, rendered from what is stored."""
    from oncemore.engine.journal_records import newest

    with w.house():
        return newest(w.row("select id from request")["id"])


def test_a_turn_running_in_another_process_does_not_count_as_ended(w: World) -> None:
    w.ask()
    w.work()
    w.offset = BACKOFF
    with elsewhere(w):
        w.work()
        record = records(w)[0]
    assert record["outcome"] in ("wait", "hold", "deny")
    gates = {gate["id"]: gate["result"] for gate in record["gates"]}
    assert gates["native-idle"] == "unknown"
    assert gates["not-owned-elsewhere"] == "fail"
    assert "native.run_state" in record["missing"]
    assert "native.background" in record["missing"]
    assert [entry for entry in w.model.requests if "one continuation" in entry.last_user] == []
    assert w.rows("select * from attempt") == []


def test_a_turn_whose_process_was_killed_does_not_count_as_ended(w: World) -> None:
    """The very Turn that the decision is about ran in a process that was killed: no end was recorded."""
    w.plot.first = hanging(w)
    request = w.ask()
    process = w.work_until("while_running", "business-1")
    assert w.model.wait_for_calls(1)
    # Codex first, so that it cannot notice that its owner leaves; then the worker.
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
    w.kill(process)
    thread = w.row("select thread from session_thread")["thread"]
    view = SessionView("s", "codex", str(w.folder / "codex"), (Thread("codex", str(w.folder / "codex"), thread),))
    runtime = CodexRuntime(passed_on=[KEY])
    try:
        from oncemore.engine.ports import TurnView

        row = w.first_turn(request)
        native = NativeTurn(row["native_thread"], row["native_turn"])
        inventory = runtime.inventory(view, TurnView(row["id"], native))
    finally:
        runtime.close()
    assert inventory.observation is None
    assert inventory.readings["native.end_evidence"].value == "projected"
    assert inventory.readings["native.background"].status != "known"

    w.work()
    # Only with the native writer lock in our hands is it certain that nothing runs; then it is settled, once.
    turn = w.first_turn(request)
    assert turn["status"] == "interrupted"
    assert w.replies() == [prompts.FAILED["en"]]
    assert w.model.calls == 1
    assert len(w.native_turns()) == 1


@pytest.mark.parametrize("turn", ["business-1", "work-1"])
def test_a_start_whose_every_process_died_at_once_is_never_made_twice(w: World, turn: str) -> None:
    """Codex may have stored the turn and not yet its message: it then bears no name, and is still no absence."""
    w.ask()
    if turn == "work-1":
        w.work()
        w.offset = BACKOFF
    before = len(w.native_turns())
    process = w.work_until("after_start_call", turn)
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
    w.kill(process)
    try:
        stored = len(w.native_turns()) - before
    except Unreadable:
        # Codex died over its own file. Neither a proof of the turn nor of its absence: it is left to a person.
        w.work()
        assert "may have run" in w.row("select held from request")["held"]
        assert w.model.calls <= 2
        return
    w.work()
    started = [json.loads(row["body"]) for row in w.rows("select body from event where kind = 'started'")]
    mine = [event for event in started if event["turn"].endswith(turn)]
    assert len(mine) == 1
    if stored:
        assert len(w.native_turns()) == before + 1
        assert mine[0]["proof"] in ("found", "nameless")


def children(pid: int) -> list[int]:
    """Process ids of the children, from /proc."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


class Deaf:
    """The real runtime, whose start's answer never arrives."""

    name = "codex"

    def __init__(self, runtime: CodexRuntime, *, done: bool) -> None:
        self._runtime, self._done, self.starts = runtime, done, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def start(self, session: SessionView, client_id: str, text: str, profile: Profile) -> NativeTurn:
        self.starts += 1
        if self.starts == 1:
            if self._done:
                native = self._runtime.start(session, client_id, text, profile)
                while not self._runtime.observe(native, 5).ended:
                    pass
            raise Uncertain("no answer")
        return self._runtime.start(session, client_id, text, profile)


def run_deaf(w: World, *, done: bool) -> Deaf:
    from dataclasses import replace

    w.ask()
    w.work()
    w.offset = BACKOFF
    with w.worker() as worker:
        context = worker._context
        runtime = context.ports.runtimes["codex"]
        assert isinstance(runtime, CodexRuntime)
        deaf = Deaf(runtime, done=done)
        context.ports = replace(context.ports, runtimes={"codex": deaf})  # type: ignore[dict-item]
        while worker.run_due():
            pass
    return deaf


def test_a_start_that_happened_without_an_answer_is_found_and_not_repeated(w: World) -> None:
    deaf = run_deaf(w, done=True)
    assert deaf.starts == 1
    assert len(w.native_turns()) == 2
    assert w.model.calls == 4
    assert w.replies() == ["Part one is written.", "Part two is written."]


def test_a_start_that_never_happened_is_proven_absent_and_made_once_more(w: World) -> None:
    deaf = run_deaf(w, done=False)
    assert deaf.starts == 2
    assert len(w.native_turns()) == 2
    assert w.model.calls == 4
    assert w.replies() == ["Part one is written.", "Part two is written."]
    assert len(w.rows("select * from event where kind = 'absent'")) == 1
