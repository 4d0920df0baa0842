"""Quota tries and the restricted review after the last of them, on a real Codex."""

from __future__ import annotations

import json

import pytest
from tests.engine.executor.world import World

from oncemore.adapters.demo.model import Call, Fail, ModelRequest, Patch, Plan, Say, Script, Shell
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


def test_the_exhausted_question_is_answered_once_by_reading_only(steward: World) -> None:
    (steward.workspace / "one.md").write_text("x")
    request = steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    failed = steward.rows("select * from turn order by position")
    notice = steward.row("select * from delivery")
    reviewing(steward, [Shell("ls"), Say("One.")])
    run(steward, at + 2 * MINUTE, at + HOUR)
    assert steward.replies() == [prompts.FAILED["en"], "One."]
    assert steward.rows("select * from turn where phase != 'review' order by position") == failed
    assert steward.row("select * from delivery where stage = 'notice'") == notice
    turn = steward.row("select * from turn where phase = 'review'")
    assert (turn["id"], turn["status"]) == (f"{request}-review-1", "completed")
    assert json.loads(turn["profile"])["sandbox"] == "read_only"
    assert steward.row("select state from request")["state"] == "answered"
    assert len(steward.native_turns()) == 5
    review = [entry for entry in steward.model.requests if REVIEW in entry.last_user]
    assert prompts.NEVER_EXECUTED in review[0].last_user
    assert len(review) == 2


@pytest.mark.parametrize(
    "deed",
    [
        Shell("echo x > written.md"),
        Patch("*** Begin Patch\n*** Add File: written.md\n+x\n*** End Patch"),
        Call("spawn_agent", {"task": "write it"}),
        Shell("curl -s http://127.0.0.1:9/"),
    ],
    ids=["write", "patch", "delegate", "network"],
)
def test_a_review_that_does_more_than_read_changes_nothing_and_is_rejected(
    steward: World, deed: Shell | Patch | Call
) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    before = steward.replies()
    reviewing(steward, [deed, Say("I wrote it down, there are two.")])
    run(steward, at + 2 * MINUTE, at + HOUR)
    assert list(steward.workspace.iterdir()) == []
    if isinstance(deed, Shell) and "curl" in deed.command and steward.replies() != before:
        # A command that came to its own end ran inside the sandbox and reached nothing.
        assert "exit" in str(steward.model.requests[-1].tool_results).lower()
        return
    assert steward.replies() == before
    attempt = steward.row("select * from attempt where kind = 'review'")
    assert (attempt["state"], attempt["reason"]) == ("failed", "the review did more than read")


def test_a_partial_answer_keeps_its_gate_and_the_request_pending(steward: World) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)

    def partial(request: ModelRequest) -> Script:
        if REVIEW not in request.last_user:
            return Fail("usage_limit")
        word = request.last_user.rsplit("<oncemore-", 1)[1].split(">")[0]
        return Say(f'At least one. <oncemore-{word}>{{"gate": {{"summary": "open the archive"}}}}</oncemore-{word}>')

    steward.plot.first = steward.plot.other = partial
    run(steward, at + 2 * MINUTE, at + HOUR, at + 10 * HOUR)
    assert steward.replies()[-1] == "At least one."
    row = steward.row("select state, held, due_at from request")
    assert row == {"state": "open", "held": "the review's answer leaves something to a person", "due_at": None}
    assert len(steward.rows("select * from attempt where kind = 'review'")) == 1


def test_a_review_that_fails_is_the_end(steward: World) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    run(steward, at + 2 * MINUTE, at + HOUR, at + 200 * HOUR)
    assert steward.row("select state from attempt where kind = 'review'")["state"] == "failed"
    assert len(steward.rows("select * from attempt")) == 4
    assert steward.replies() == [prompts.FAILED["en"]]
    assert steward.model.calls == 5


def test_the_next_ordinary_question_is_not_read_only_and_goes_on_in_its_own_thread(steward: World) -> None:
    steward.ask("How many notes are there?")
    run(steward, 0)
    at = exhaust(steward)
    reviewing(steward, Say("None."))
    run(steward, at + 2 * MINUTE)
    steward.plot.first = steward.plot.other = lambda r: Say("Hello.")
    second = steward.ask("And who are you?")
    run(steward, at + 3 * MINUTE)
    turn = steward.first_turn(second)
    threads = steward.rows("select thread, set_aside from session_thread order by ordinal")
    assert [row["set_aside"] for row in threads] == [0, 1]
    assert turn["native_thread"] == threads[0]["thread"]
    assert REVIEW not in steward.model.requests[-1].last_user
    assert steward.replies()[-1] == "Hello."


def test_a_second_question_older_than_the_first_reviews_thread_is_found_and_reviewed_too(steward: World) -> None:
    steward.ask("How many notes are there?")
    steward.ask("Which one is the newest?")
    run(steward, 0)
    at = exhaust(steward)
    reviewing(steward, Say("Reviewed."))
    run(steward, *(at + minutes * MINUTE for minutes in range(2, 300, 30)))
    assert steward.replies().count("Reviewed.") == 2
    assert [row["state"] for row in steward.rows("select state from attempt where kind = 'review'")] == ["answered"] * 2


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
