"""A Turn at the Antigravity language server whose trajectory was cancelled: settled once, and nothing sent for it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.antigravity.fake import FakeLanguageServer, Look, command, planned
from tests.adapters.antigravity.stand import PLANNERS
from tests.engine.executor.world import World
from tests.every_table import ROWS

from oncemore.adapters.antigravity.language_server import AntigravityRuntime, Limits
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.antigravity.token import Token
from oncemore.adapters.inbox import Inbox
from oncemore.adapters.wire import Wire
from oncemore.engine import intake, prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.worker import Worker

IN_TURN = "decision join decision_pass p on p.id = pass where p.stage = 'in_turn'"
SETTLE = "settle-cancelled-turn"
CANCELLED = Look([planned("I will", calls=["call-1"]), command(state="CANCELED"), planned("", "CANCELED", stop="")])


@pytest.fixture
def server(w: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLanguageServer]:
    w.configure(policies=(SETTLE,))
    with FakeLanguageServer(w.workspace, clock=w.now) as fake:
        monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", fake.token)
        yield fake


def ask(w: World, text: str) -> str:
    with w.house() as house:
        inbox: Inbox = house.inbox
        assert house.ports.grants is not None
        grant = house.ports.grants.grant("notes")
        session = intake.open_session(
            house.journal, grant, runtime="antigravity", home="", source="inbox", conversation="desk"
        )
        message = inbox.post("desk", "ann", text)
        return intake.accept(house.journal, session, intake.Arrival(message=message, sender="ann", text=text))


@contextmanager
def worker(w: World, fake: FakeLanguageServer, **options: object) -> Iterator[Worker]:
    with w.worker(**options, slice=20, observe_again=1_000) as made, Wire([fake.base_url]) as wire:  # type: ignore[arg-type]
        server = LanguageServer(wire, fake.base_url, Token(environment="LANGUAGE_SERVER_TOKEN"))
        runtime = AntigravityRuntime(
            server, PLANNERS, limits=Limits(pause=0.001, looks=5, cancel_seconds=0.2), clock=w.now
        )
        context = made._context
        context.ports = replace(context.ports, runtimes={**context.ports.runtimes, "antigravity": runtime})
        yield made
        runtime.close()


def work(w: World, fake: FakeLanguageServer, **options: object) -> None:
    with worker(w, fake, **options) as made:
        while made.run_due():
            pass


def test_a_normal_answer_is_delivered(w: World, server: FakeLanguageServer) -> None:
    server.after_send(Look([planned("Two parts.")], executors=[("NO_TOOL_CALL", 0)]))
    ask(w, "How many?")
    work(w, server)
    assert w.replies() == ["Two parts."]
    assert (len(server.sends), len(server.cancels)) == (1, 0)


def test_a_cancelled_tail_ends_the_turn_at_the_first_complete_look_without_another_cancel(
    w: World, server: FakeLanguageServer
) -> None:
    server.after_send(CANCELLED)
    request = ask(w, "Write it.")
    work(w, server)
    turn = w.first_turn(request)
    assert (turn["status"], turn["error"], turn["settled_cancel"]) == ("failed", "upstream_transport_failure", 1)
    assert "cancelled" in turn["detail"] and "executed" in turn["detail"]
    assert (len(server.sends), len(server.cancels)) == (1, 0)
    assert w.row("select active_turn from session")["active_turn"] is None
    assert w.replies() == [prompts.FAILED["en"]]
    decided = w.row(f"select policy, decision.outcome from {IN_TURN}")
    assert decided == {"policy": SETTLE, "outcome": "fire"}


def test_the_next_queued_turn_runs(w: World, server: FakeLanguageServer) -> None:
    server.after_send(CANCELLED)
    server.after_send(Look([planned("Here.")], executors=[("NO_TOOL_CALL", 0)]))
    ask(w, "Write it.")
    ask(w, "Are you there?")
    work(w, server)
    assert sorted(w.replies()) == sorted([prompts.FAILED["en"], "Here."])
    assert (len(server.sends), len(server.cancels)) == (2, 0)


def test_a_step_that_generates_is_waited_for_and_the_later_answer_wins(w: World, server: FakeLanguageServer) -> None:
    generating = Look([command(state="CANCELED"), planned("Two", "GENERATING", stop="")])
    server.after_send(
        generating, generating, generating, Look([planned("Two parts.")], executors=[("NO_TOOL_CALL", 0)])
    )
    request = ask(w, "How many?")
    work(w, server)
    assert w.first_turn(request)["status"] == "completed"
    assert w.replies() == ["Two parts."]
    assert (len(server.sends), len(server.cancels)) == (1, 0)


def test_in_twenty_four_hours_of_passes_nothing_is_sent_again(w: World, server: FakeLanguageServer) -> None:
    w.configure(policies=(SETTLE, "retry-route", "retry-quota"))
    server.after_send(CANCELLED)
    ask(w, "Write it.")
    work(w, server)
    with worker(w, server) as made:
        for hour in range(1, 25):
            w.offset = hour * 3_600_000
            made.run_due()
    assert (len(server.sends), len(server.cancels)) == (1, 0)
    assert w.rows("select * from attempt") == []


def test_below_enforce_it_is_only_recorded(w: World, server: FakeLanguageServer) -> None:
    w.configure(policies=(SETTLE,), policy_level="shadow")
    server.after_send(CANCELLED)
    request = ask(w, "Write it.")
    passed = [0.0]

    def ticks() -> float:
        passed[0] += 100_000
        return passed[0]

    work(w, server, ticks=ticks)
    assert w.first_turn(request)["error"] == "hard_timeout"
    recorded = w.row(f"select decision.outcome, level from {IN_TURN}")
    assert recorded == {"outcome": "fire", "level": "shadow"}


def test_a_stop_in_progress_settles_the_turn_itself(w: World, server: FakeLanguageServer) -> None:
    server.after_send(Look([planned("", "GENERATING", stop="")], run="RUNNING"))
    request = ask(w, "Write it.")

    def stop(point: str, about: str) -> None:
        if point == CrashPoint.WHILE_RUNNING:
            with w.house() as house:
                intake.stop(house.journal, request, "user")

    work(w, server, checkpoint=stop)
    assert w.first_turn(request)["settled_cancel"] == 0
    assert w.first_turn(request)["status"] in ("interrupted", "failed")
    assert len(server.cancels) == 1
    assert w.replies() == [prompts.STOPPED["en"]]


class Killed(BaseException):
    """The process ends here; nothing of it runs any further."""


def test_a_crash_before_it_is_settled_gives_the_same_answer_afterwards(w: World, server: FakeLanguageServer) -> None:
    server.after_send(CANCELLED)
    request = ask(w, "Write it.")

    def kill(point: str, about: str) -> None:
        if point == CrashPoint.WHILE_RUNNING:
            raise Killed

    with pytest.raises(Killed):
        work(w, server, checkpoint=kill)
    assert w.first_turn(request)["status"] == "running"
    work(w, server)
    assert (w.first_turn(request)["status"], w.first_turn(request)["settled_cancel"]) == ("failed", 1)
    assert (len(server.sends), len(server.cancels)) == (1, 0)


def test_a_turn_that_went_on_without_us_is_watched_again(w: World, server: FakeLanguageServer) -> None:
    still = Look([planned("", "GENERATING", stop="")], run="RUNNING")
    server.after_send(still, still, still, still, Look([planned("Two parts.")], executors=[("NO_TOOL_CALL", 0)]))
    request = ask(w, "How many?")

    def kill(point: str, about: str) -> None:
        if point == CrashPoint.WHILE_RUNNING:
            raise Killed

    with pytest.raises(Killed):
        work(w, server, checkpoint=kill)
    work(w, server)
    assert w.first_turn(request)["status"] == "completed"
    assert w.replies() == ["Two parts."]
    assert len(server.sends) == 1


def test_the_token_is_nowhere_in_the_journal(w: World, server: FakeLanguageServer) -> None:
    server.after_send(CANCELLED)
    ask(w, "Write it.")
    work(w, server)
    for row in ROWS:
        assert server.token not in str(w.rows(f"select * from {row._meta.table_name}"))
    for file in Path(w.folder / "data").glob("*"):
        assert server.token.encode() not in file.read_bytes()
    assert json.dumps(server.sends).count(server.token) == 0
    assert os.environ["LANGUAGE_SERVER_TOKEN"] == server.token
