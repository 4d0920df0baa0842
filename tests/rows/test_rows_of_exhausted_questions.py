"""A steward's question whose third quota try failed, on a real Codex: when it is answered by reading, and when not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.engine.executor.world import World
from tests.rows.removals import clause, gate, guard, without_policy
from tests.rows.row import row
from tests.rows.steward_world import (
    CODEX,
    EXHAUSTED,
    HOUR,
    LATER,
    MINUTE,
    QUESTION,
    RETRY,
    REVIEW,
    TRIES,
    at_the_third_try,
    limited,
    not_reviewed,
    once,
    reviewing,
    reviews,
    run,
)

from oncemore.adapters.codex import reading
from oncemore.adapters.demo.model import Fail, Plan, Say, Shell, Together
from oncemore.engine import intake, prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.tables import database


@pytest.fixture
def steward(w: World) -> World:
    return limited(w)


@row(
    "E1",
    "After three quota tries that met nothing but the limit, capacity brings one answer by reading only; the notice "
    "and the failed tries keep their bytes.",
    on=CODEX,
    removed=without_policy(EXHAUSTED),
)
def test_E01_the_exhausted_question_is_answered_once(steward: World) -> None:
    steward.ask(QUESTION)
    run(steward, *TRIES)
    failed, notice = steward.rows("select * from turn order by position"), steward.rows("select * from inbox_reply")
    native = steward.native_turns()
    (steward.workspace / "one.md").write_text("x")
    reviewing(steward, [Shell("ls"), Say("One.")])
    run(steward, LATER, LATER + HOUR, LATER + 100 * HOUR)
    assert (reviews(steward), steward.model.calls) == (2, 6)
    asked = next(entry for entry in steward.model.requests if REVIEW in entry.last_user)
    assert prompts.NEVER_EXECUTED in asked.last_user
    assert (
        json.loads(steward.row("select profile from turn where phase = 'review'")["profile"])["sandbox"] == "read_only"
    )
    assert steward.replies() == [prompts.FAILED["en"], "One."]
    assert steward.row("select state from request") == {"state": "answered"}
    assert steward.rows("select * from turn where phase != 'review' order by position") == failed
    assert steward.rows("select * from inbox_reply order by at, id")[:1] == notice
    assert steward.native_turns()[:4] == native


@row(
    "E2",
    "With the policy off the same question stays unanswered.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.levels.current",
        lambda policies, now: dict.fromkeys(policies, "enforce"),
        "that a policy has a level",
    ),
)
def test_E02_with_the_policy_off_there_is_no_review(w: World) -> None:
    w.configure(level="portfolio_read", role="steward", policies=(RETRY,))
    reviewing(w)
    w.ask(QUESTION)
    run(w, *TRIES, LATER, LATER + HOUR)
    not_reviewed(w)
    assert w.replies() == [prompts.FAILED["en"]]


@row("E3", "While a quota try is left there is no review.", on=CODEX, removed=gate("third-quota-try"))
def test_E03_while_a_try_is_left_there_is_no_review(steward: World) -> None:
    reviewing(steward)
    steward.ask(QUESTION)
    run(steward, *TRIES[:2], TRIES[1] + 2 * MINUTE, TRIES[2], TRIES[2] + 2 * MINUTE, TRIES[2] + HOUR)
    not_reviewed(steward, calls=3)


@row(
    "E4",
    "A third try that had begun to answer is not reviewed.",
    on=CODEX,
    removed=gate("nothing-said", "native-quota-failure"),
)
def test_E04_a_try_that_had_begun_to_answer_is_not_reviewed(steward: World) -> None:
    at_the_third_try(steward, [Together((Say("I look.", "commentary"), Plan())), Fail("usage_limit")])
    steward.ask(QUESTION)
    run(steward, *TRIES)
    reviewing(steward)
    run(steward, LATER, LATER + HOUR)
    not_reviewed(steward, calls=5)


@row(
    "E5",
    "A native turn that is not the third quota try's own is not taken for it.",
    on=CODEX,
    removed=gate("native-bound", "floor/native-read"),
)
def test_E05_another_trys_native_turn_is_not_taken_for_it(steward: World) -> None:
    reviewing(steward)
    request = steward.ask(QUESTION)
    run(steward, *TRIES)
    second = steward.row("select native_turn from turn where id = ?", f"{request}-quota-2")["native_turn"]
    with steward.house():
        database.execute_sql("drop trigger turn_update")
        database.execute_sql("update turn set native_turn = ? where id = ?", (second, f"{request}-quota-3"))
    run(steward, LATER, LATER + HOUR)
    not_reviewed(steward)


@row(
    "E6",
    "A third try in which anything was executed is not reviewed as one that met only the limit.",
    on=CODEX,
    removed=gate("native-quota-failure", "no-effects", "nothing-said"),
)
def test_E06_a_try_that_executed_something_is_not_reviewed(steward: World) -> None:
    at_the_third_try(steward, [Shell("true"), Fail("usage_limit")])
    steward.ask(QUESTION)
    run(steward, *TRIES)
    assert "commandExecution" in steward.native_turns()[-1]["items"]
    reviewing(steward)
    run(steward, LATER, LATER + HOUR)
    not_reviewed(steward, calls=5)


@row(
    "E7",
    "While the native history cannot be read whole there is no review.",
    on=CODEX,
    removed=guard(
        "oncemore.adapters.codex.inventory.read_history",
        lambda connection, thread: replace(reading.read_history(connection, thread), problem=None),
        "that a history says what it lacks",
    ),
)
def test_E07_an_unreadable_history_is_not_reviewed(steward: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reviewing(steward)
    steward.ask(QUESTION)
    run(steward, *TRIES)
    page = reading._page
    with monkeypatch.context() as patch:
        patch.setattr(reading, "_page", lambda *asked: (*page(*asked)[:2], "codex refused"))
        run(steward, LATER, LATER + HOUR)
    not_reviewed(steward)


@pytest.mark.parametrize("capacity", ["exhausted", "unavailable"])
@row("E8", "Without capacity on the route there is no review.", on=CODEX, removed=gate("route-available"))
def test_E08_without_capacity_there_is_no_review(steward: World, capacity: str) -> None:
    reviewing(steward)
    steward.ask(QUESTION)
    run(steward, *TRIES)
    steward.model.capacity = capacity
    run(steward, LATER, LATER + HOUR, LATER + 100 * HOUR)
    not_reviewed(steward)


def edited(w: World, request: str) -> None:
    with w.house() as house:
        house.inbox.edit(w.row("select message from request")["message"], "Something else?")


def stopped(w: World, request: str) -> None:
    with w.house() as house:
        intake.stop(house.journal, request, "user")


def revoked(w: World, request: str) -> None:
    w.configure(level="portfolio_read", role="steward", revision=2, policies=(RETRY, EXHAUSTED))


@pytest.mark.parametrize("comes", [edited, stopped, revoked], ids=lambda one: one.__name__)
@row(
    "E9",
    "An edited message, a stop or a changed permission lets no review start.",
    on=CODEX,
    removed=gate(
        "source-unchanged",
        "still-open",
        "grant-intact",
        "grant-readable",
        "floor/source",
        "floor/open",
        "floor/stopped",
        "floor/grant",
    ),
)
def test_E09_what_the_person_or_owner_changed_lets_no_review_start(
    steward: World, comes: Callable[[World, str], None]
) -> None:
    reviewing(steward)
    request = steward.ask(QUESTION)
    run(steward, *TRIES)
    run(steward, LATER, checkpoint=once(CrashPoint.AFTER_ENQUEUE, lambda: comes(steward, request)))
    run(steward, LATER + HOUR)
    assert (reviews(steward), steward.model.calls, len(steward.native_turns())) == (0, 4, 4)
    assert steward.row("select state from attempt where kind = 'review'")["state"] == "withdrawn"


@row(
    "E9",
    "A question with an attachment is neither tried again nor reviewed.",
    on=CODEX,
    removed=gate("no-attachments", "floor/attachments"),
)
def test_E09_a_question_with_an_attachment_is_not_reviewed(steward: World) -> None:
    reviewing(steward)
    request = steward.ask(QUESTION)
    with steward.house():
        database.execute_sql("update request set attachments = 1 where id = ?", (request,))
    run(steward, *TRIES, LATER, LATER + HOUR)
    not_reviewed(steward, calls=1)


@row(
    "E19",
    "A project's question is not reviewed, whatever became of its three tries.",
    on=CODEX,
    removed=clause(EXHAUSTED, 'request.role == "steward"'),
)
def test_E19_a_projects_question_is_not_reviewed(w: World) -> None:
    w.configure(level="portfolio_read", role="project", policies=(RETRY, EXHAUSTED))
    reviewing(w)
    w.ask(QUESTION)
    run(w, *TRIES, LATER, LATER + HOUR)
    not_reviewed(w)
