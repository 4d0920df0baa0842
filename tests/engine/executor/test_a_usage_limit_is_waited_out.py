"""Quota tries and the restricted review after the last of them, on a real Codex."""

from __future__ import annotations

import pytest
from tests.engine.executor.world import World

from oncemore.adapters.demo.model import Fail, ModelRequest, Plan, Say, Script, Shell
from oncemore.engine import prompts

MINUTE = 60_000
HOUR = 60 * MINUTE
REVIEW = "by reading only"
RETRY, EXHAUSTED = "retry-quota", "review-exhausted-answer"


@pytest.fixture
def steward(w: World) -> World:
    """A steward's question to a model whose usage limit is reached."""
    w.configure(level="portfolio_read", role="steward", policies=(RETRY, EXHAUSTED))
    w.model.capacity = "exhausted"
    w.plot.first = w.plot.other = limited
    return w


def limited(request: ModelRequest) -> Script:
    return Fail("usage_limit")


def run(w: World, *offsets: int) -> None:
    for offset in offsets:
        w.offset = offset
        with w.worker() as worker:
            while worker.run_due():
                pass


def exhaust(w: World, start: int = 0) -> int:
    """Three quota tries fail; the clock after the last of them."""
    w.model.capacity = "available"
    at = start
    for wait in (5 * MINUTE, 30 * MINUTE, 2 * HOUR):
        at += wait + MINUTE
        run(w, at)
    return at


def reviewing(w: World, reply: Script) -> None:
    def answer(request: ModelRequest) -> Script:
        return reply if REVIEW in request.last_user else Fail("usage_limit")

    w.plot.first = w.plot.other = answer


def test_without_capacity_nothing_is_tried(steward: World) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0, HOUR, 5 * HOUR)
    assert steward.model.calls == 1
    assert steward.rows("select * from attempt") == []
    assert steward.replies() == []


def test_a_try_comes_with_capacity_after_its_time_and_ends_the_waiting(steward: World) -> None:
    request = steward.ask("How many notes are there?")
    run(steward, 0)
    steward.model.capacity = "available"
    run(steward, 4 * MINUTE)
    assert steward.model.calls == 1
    steward.plot.other = lambda r: Say("Two.")
    run(steward, 6 * MINUTE)
    assert steward.replies() == ["Two."]
    assert steward.row("select kind, ordinal, state from attempt") == {
        "kind": "quota",
        "ordinal": 1,
        "state": "answered",
    }
    assert [t["client_ids"] for t in steward.native_turns()] == [[f"{request}-business-1"], [f"{request}-quota-1"]]
    inputs = [entry.last_user.split("\n\n---")[0] for entry in steward.model.requests]
    assert inputs == ["How many notes are there?"] * 2


def test_three_tries_and_then_one_notice(steward: World) -> None:
    steward.configure(level="portfolio_read", role="steward", policies=(RETRY,))
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    run(steward, at + 10 * HOUR, at + 100 * HOUR)
    assert steward.model.calls == 4
    assert [row["ordinal"] for row in steward.rows("select ordinal from attempt order by ordinal")] == [1, 2, 3]
    assert steward.replies() == [prompts.FAILED["en"]]


@pytest.mark.parametrize(
    "deed",
    [Shell("echo x > written.md"), Shell("curl -s http://127.0.0.1:9/")],
    ids=["write", "network"],
)
def test_a_review_that_does_more_than_read_changes_nothing_and_is_rejected(steward: World, deed: Shell) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    before = steward.replies()
    reviewing(steward, [deed, Say("I wrote it down, there are two.")])
    run(steward, at + 2 * MINUTE, at + HOUR)
    assert list(steward.workspace.iterdir()) == []
    if "curl" in deed.command and steward.replies() != before:
        # A command that came to its own end ran inside the sandbox and reached nothing.
        assert "exit" in str(steward.model.requests[-1].tool_results).lower()
        return
    assert steward.replies() == before
    attempt = steward.row("select * from attempt where kind = 'review'")
    assert (attempt["state"], attempt["reason"]) == ("failed", "the review did more than read")


def test_capacity_is_looked_at_by_one_and_the_others_follow(steward: World) -> None:
    for n in range(3):
        steward.ask(f"Question {n}?")
    run(steward, 0)
    steward.looks = 0
    run(steward, 10 * MINUTE)
    assert steward.looks <= 2


def test_a_plan_is_no_deed(steward: World) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    reviewing(steward, [Plan(), Say("None.")])
    run(steward, at + 2 * MINUTE)
    assert steward.replies()[-1] == "None."
