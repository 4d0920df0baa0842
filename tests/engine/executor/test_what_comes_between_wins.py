"""A newer message, an edit, a revoked grant, a stop and a changed native history, between reservation and dispatch.

Each arrives either while the worker stands just after the enqueue and goes on, or after that worker was killed there
and before another starts. The continuation never starts a model then.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from tests.engine.executor.world import BACKOFF, KEY, World

from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.engine import intake, prompts
from oncemore.engine.ports import Profile, SessionView, Thread, Workspace


def newer_input(w: World, request: str) -> None:
    w.ask("Thanks, a third part please.")


def edited(w: World, request: str) -> None:
    with w.house() as house:
        house.inbox.edit(w.row("select message from request where id = ?", request)["message"], "Write only one.md.")


def recalled(w: World, request: str) -> None:
    with w.house() as house:
        house.inbox.recall(w.row("select message from request where id = ?", request)["message"])


def revoked(w: World, request: str) -> None:
    w.revoke()


def lowered(w: World, request: str) -> None:
    w.configure(level="workspace_read", revision=2)


def stopped(w: World, request: str) -> None:
    with w.house() as house:
        intake.stop(house.journal, request, "user")


def opted_out(w: World, request: str) -> None:
    with w.house() as house:
        intake.opt_out(house.journal, request)


def native_turn_by_somebody_else(w: World, request: str) -> None:
    """Another program of the person's uses the same thread: one native turn more, under no client id of ours."""
    home = str(w.folder / "codex")
    thread = w.row("select thread from session_thread")["thread"]
    found = w.workspace.stat()
    view = SessionView("elsewhere", "codex", home, (Thread("codex", home, thread),))
    profile = Profile("workspace_write")
    runtime = CodexRuntime(passed_on=[KEY])
    folder = Workspace(str(w.workspace), found.st_dev, found.st_ino, os.open(w.workspace, os.O_RDONLY))
    try:
        runtime.load(view, profile, folder)
        native = runtime.start(view, "not-of-oncemore", "What did you write?", profile)
        while not runtime.observe(native, 5).ended:
            pass
    finally:
        runtime.close()
        folder.close()


BETWEEN = [
    # What comes, the gates that may be named, how many model calls it makes itself, and the last reply at the end.
    (newer_input, {"nobody-went-on"}, 1, "You said: Thanks, a third part please."),
    (edited, {"source-unchanged"}, 0, "Part one is written."),
    (recalled, {"source-unchanged"}, 0, "Part one is written."),
    (revoked, {"grant-intact"}, 0, "Part one is written."),
    (lowered, {"grant-intact"}, 0, "Part one is written."),
    (stopped, {"still-open"}, 0, prompts.STOPPED["en"]),
    (opted_out, {"not-opted-out"}, 0, "Part one is written."),
    (native_turn_by_somebody_else, {"nobody-went-on", "latest-turn", "native-known"}, 1, "Part one is written."),
]


@pytest.mark.parametrize("killed", [False, True], ids=["while it goes on", "after a kill"])
@pytest.mark.parametrize(("comes", "gates", "calls", "last"), BETWEEN, ids=[row[0].__name__ for row in BETWEEN])
def test_the_continuation_starts_no_model(
    w: World, killed: bool, comes: Callable[[World, str], None], gates: set[str], calls: int, last: str
) -> None:
    request = w.ask()
    w.work()
    artifact, first = w.artifact(), w.first_turn(request)
    w.offset = BACKOFF
    process = w.work_until("after_enqueue", request)
    if killed:
        w.kill(process)
        comes(w, request)
    else:
        comes(w, request)
        process.finish()
    w.work()
    w.offset = 2 * BACKOFF
    w.work()

    continued = [entry for entry in w.model.requests if "one continuation" in entry.last_user]
    assert continued == []
    assert w.model.calls == 2 + calls
    assert w.artifact() == artifact
    assert w.first_turn(request) == first
    assert not (w.workspace / "two.md").exists()
    attempt = w.row("select * from attempt")
    assert (attempt["kind"], attempt["state"]) == ("work", "withdrawn")
    assert w.replies()[-1] == last
    assert len(w.replies()) == (1 if last == "Part one is written." else 2)
    named = {
        row["reason_gate"]
        for row in w.rows(
            "select reason_gate from decision join decision_pass p on p.id = pass where p.request = ?"
            " and p.stage = 'dispatch' and decision.outcome != 'fire'",
            request,
        )
    }
    assert named & gates, named


def test_with_nothing_between_the_same_run_continues_once(w: World) -> None:
    request = w.ask()
    w.work()
    artifact, first = w.artifact(), w.first_turn(request)
    w.offset = BACKOFF
    process = w.work_until("after_enqueue", request)
    w.kill(process)
    w.work()
    w.work()
    assert w.model.calls == 4
    assert w.artifact() == artifact
    assert w.first_turn(request) == first
    assert w.artifact("two.md")[0] == b"two"
    assert w.replies() == ["Part one is written.", "Part two is written."]
    assert w.row("select state from request")["state"] == "answered"
