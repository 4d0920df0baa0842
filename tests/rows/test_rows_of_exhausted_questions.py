"""A steward's question whose third quota try failed, on a real Codex: one answer by reading only, and when none."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.executor.world import World, turn_of_another_program
from tests.rows.removals import all_of, clause, gate, guard, ledger, without_policy
from tests.rows.row import row

from oncemore.adapters.codex import reading
from oncemore.adapters.demo.model import Call, Fail, ModelRequest, Patch, Plan, Say, Script, Shell, Together
from oncemore.engine import dispatch, facts, intake, prompts, response
from oncemore.engine.crashpoints import Checkpoint, CrashPoint, unobserved
from oncemore.engine.ports import SessionView
from oncemore.engine.tables import database

CODEX = "real Codex"
MINUTE = 60_000
HOUR = 60 * MINUTE
RETRY, EXHAUSTED = "retry-quota", "review-exhausted-answer"
TRIES = (0, 6 * MINUTE, 37 * MINUTE, 158 * MINUTE)
"""When the question and its three quota tries come, each a minute after it may."""
LATER = TRIES[-1] + 2 * MINUTE
QUESTION = "How many notes are there?"
REVIEW = "by reading only"


@pytest.fixture
def steward(w: World) -> World:
    """A steward in front of a model whose usage limit is reached, over a route that says it has capacity."""
    w.configure(level="portfolio_read", role="steward", policies=(RETRY, EXHAUSTED))
    w.plot.first = w.plot.other = lambda r: Fail("usage_limit")
    return w


def run(w: World, *offsets: int, checkpoint: Checkpoint = unobserved) -> None:
    """One worker of this process, until nothing is due at each of the offsets of the clock."""
    with w.worker(checkpoint=checkpoint) as worker:
        for offset in offsets:
            w.offset = offset
            while worker.run_due():
                pass


def reviewing(w: World, reply: Script | Callable[[ModelRequest], Script] = Say("None.")) -> None:  # noqa: B008
    def answer(request: ModelRequest) -> Script:
        if REVIEW not in request.last_user:
            return Fail("usage_limit")
        return reply(request) if callable(reply) else reply

    w.plot.first = w.plot.other = answer


def reviews(w: World) -> int:
    """How many requests the model got with a review's input."""
    return sum(REVIEW in entry.last_user for entry in w.model.requests)


def at_the_third_try(w: World, third: Script) -> None:
    """The third quota try, which is the fourth request, goes otherwise than the others."""
    w.plot.first = w.plot.other = lambda r: third if w.model.calls >= 3 else Fail("usage_limit")


def not_reviewed(w: World, calls: int = 4) -> None:
    assert (reviews(w), w.model.calls) == (0, calls)
    assert w.replies() in ([], [prompts.FAILED["en"]])
    assert w.rows("select * from turn where phase = 'review'") == []


class Killed(BaseException):
    """The process ends here; nothing of it runs any further."""


def once(point: CrashPoint, act: Callable[[], None]) -> Checkpoint:
    """Something that happens the first time that a review comes to a point."""
    done: list[bool] = []

    def checkpoint(reached: CrashPoint, about: str) -> None:
        if (
            reached == point
            and not done
            and database.execute_sql("select 1 from attempt where kind = 'review'").fetchone()
        ):
            done.append(True)
            act()

    return checkpoint


def kill() -> None:
    raise Killed


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
    reviewing(steward, Say("None."))
    run(steward, LATER, LATER + HOUR, LATER + 100 * HOUR)
    assert (reviews(steward), steward.model.calls) == (1, 5)
    assert steward.replies() == [prompts.FAILED["en"], "None."]
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
    run(steward, *TRIES[:3], TRIES[2] + HOUR)
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
    "E10",
    "After a crash behind the reservation and one behind the enqueue, the one reserved review is adopted.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.executor.admission.enqueue",
        lambda context, request: None,
        "that a reservation left behind is taken up",
    ),
)
def test_E10_after_two_crashes_there_is_one_review(steward: World) -> None:
    reviewing(steward)
    request = steward.ask(QUESTION)
    run(steward, *TRIES)
    for point in (CrashPoint.AFTER_RESERVE, CrashPoint.AFTER_ENQUEUE):
        with suppress(Killed):
            run(steward, LATER, checkpoint=once(point, kill))
    run(steward, LATER, LATER + HOUR)
    assert (reviews(steward), steward.model.calls, len(steward.native_turns())) == (1, 5, 5)
    assert steward.replies() == [prompts.FAILED["en"], "None."]
    assert steward.row("select turn from attempt where kind = 'review'")["turn"] == f"{request}-review-1"


@row(
    "E11",
    "A native history that went on between admission and start refuses the review.",
    on=CODEX,
    removed=gate("native-known"),
)
def test_E11_a_history_that_went_on_refuses_the_review(steward: World) -> None:
    reviewing(steward)
    steward.ask(QUESTION)
    run(steward, *TRIES)
    with pytest.raises(Killed):
        run(steward, LATER, checkpoint=once(CrashPoint.AFTER_ENQUEUE, kill))
    turn_of_another_program(steward)
    run(steward, LATER, LATER + HOUR)
    assert (reviews(steward), len(steward.native_turns())) == (0, 5)
    assert steward.row("select state from attempt where kind = 'review'")["state"] == "withdrawn"


@row(
    "E12",
    "Capacity that went away between admission and start is waited for as it is then; the failed try stays as it was.",
    on=CODEX,
    removed=gate("route-available"),
)
def test_E12_capacity_that_went_away_is_waited_for(steward: World) -> None:
    reviewing(steward)
    steward.ask(QUESTION)
    run(steward, *TRIES)
    failed = steward.rows("select * from turn order by position")

    def gone() -> None:
        steward.model.capacity = "exhausted"

    run(steward, LATER, LATER + HOUR, checkpoint=once(CrashPoint.AFTER_ENQUEUE, gone))
    assert (reviews(steward), steward.model.calls) == (0, 4)
    steward.model.capacity = "available"
    run(steward, LATER + 2 * HOUR)
    assert reviews(steward) == 1
    assert steward.replies() == [prompts.FAILED["en"], "None."]
    assert steward.rows("select * from turn where phase != 'review' order by position") == failed


@pytest.mark.parametrize(
    "deed",
    [
        Shell("echo x > written.md"),
        Patch("*** Begin Patch\n*** Add File: written.md\n+x\n*** End Patch"),
        Call("spawn_agent", {"task": "write it"}),
    ],
    ids=["write", "patch", "delegate"],
)
@row(
    "E13",
    "A review that tries to write or to hand work on changes nothing, and its answer is not delivered.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.running._rejection",
        lambda *of_the_review: None,
        "that a review is checked before its answer counts",
    ),
)
def test_E13_a_review_that_does_more_than_read_is_rejected(steward: World, deed: Shell | Patch | Call) -> None:
    steward.ask(QUESTION)
    reviewing(steward, [deed, Say("I wrote it down.")])
    run(steward, *TRIES, LATER, LATER + HOUR)
    assert list(steward.workspace.iterdir()) == []
    assert reviews(steward) == 2
    assert steward.replies() == [prompts.FAILED["en"]]


@row(
    "E14",
    "A part of an answer that leaves something to a person is delivered, and the request stays open.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.running.parse",
        lambda answer, word: replace(response.parse(answer, word), gates=()),
        "that an answer may leave something to a person",
    ),
)
def test_E14_a_part_of_an_answer_keeps_the_request_open(steward: World) -> None:
    def partial(request: ModelRequest) -> Script:
        word = request.last_user.rsplit("<oncemore-", 1)[1].split(">")[0]
        return Say(f'At least one. <oncemore-{word}>{{"gate": {{"summary": "open the archive"}}}}</oncemore-{word}>')

    steward.ask(QUESTION)
    reviewing(steward, partial)
    run(steward, *TRIES, LATER, LATER + HOUR, LATER + 10 * HOUR)
    assert reviews(steward) == 1
    assert steward.replies() == [prompts.FAILED["en"], "At least one."]
    assert steward.row("select state, due_at from request") == {"state": "open", "due_at": None}


@row(
    "E15",
    "A review that failed is the end: no try follows, and the three are not counted anew.",
    on=CODEX,
    removed=all_of(
        "that quota tries are three, and follow only a person's own Turn or one another",
        clause(RETRY, 'turn.phase in ["business", "quota"]'),
        gate("tries-left", "nothing-else-used"),
        ledger(),
    ),
)
def test_E15_a_review_that_failed_is_the_end(steward: World) -> None:
    steward.ask(QUESTION)
    run(steward, *TRIES, LATER, LATER + HOUR, LATER + 200 * HOUR)
    assert (reviews(steward), steward.model.calls, len(steward.native_turns())) == (1, 5, 5)
    assert steward.replies() == [prompts.FAILED["en"]]
    kinds = [row["kind"] for row in steward.rows("select kind from attempt order by reserved_at")]
    assert kinds == ["quota", "quota", "quota", "review"]


def newest_thread(session: str, runtime: str | None = None) -> SessionView:
    whole = VIEW(session, runtime)
    return replace(whole, threads=whole.threads[-1:])


VIEW = facts.session_view


@row(
    "E16",
    "After a first review in a context of its own, an older question's failed turn is still found and reviewed.",
    on=CODEX,
    removed=guard("oncemore.engine.facts.session_view", newest_thread, "that a Session keeps every thread it used"),
)
def test_E16_an_older_question_is_found_after_the_first_review(steward: World) -> None:
    questions = [steward.ask(QUESTION), steward.ask("Which one is the newest?")]
    reviewing(steward, Say("Reviewed."))
    run(steward, *TRIES, *(LATER + minutes * MINUTE for minutes in range(0, 300, 30)))
    assert steward.replies().count("Reviewed.") == 2
    ids = {client for turn in steward.native_turns() for client in turn["client_ids"]}
    assert {f"{question}-review-1" for question in questions} <= ids


def another_answer(*of_the_request: Any) -> str:
    """What another request was answered."""
    return str(database.execute_sql("select body from text where body like 'The answer%'").fetchone()[0])


@row(
    "E17",
    "Another request's answer in the same history is neither handed to the review nor taken for its own.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.inputs._material", another_answer, "that only what its own earlier try left is handed on"
    ),
)
def test_E17_another_requests_answer_is_never_used(steward: World) -> None:
    steward.plot.other = lambda r: Say("The answer to something else.")
    steward.ask("Something else?")
    run(steward, 0)
    reviewing(steward)
    steward.ask(QUESTION)
    run(steward, *TRIES, LATER, LATER + HOUR)
    asked = [entry for entry in steward.model.requests if REVIEW in entry.last_user]
    assert [entry for entry in asked if "something else" in json.dumps(entry.inputs).lower()] == []
    assert len(asked) == 1
    assert steward.replies() == ["The answer to something else.", prompts.FAILED["en"], "None."]


RECORD = dispatch._record_thread


@row(
    "E18",
    "The next ordinary question goes on in the conversation's own context and limits, not in the review's.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.dispatch._record_thread",
        lambda session, thread, now, set_aside=False: RECORD(session, thread, now),
        "that a review's thread is set aside",
    ),
)
def test_E18_the_next_question_is_an_ordinary_one(steward: World) -> None:
    first = steward.ask(QUESTION)
    reviewing(steward)
    run(steward, *TRIES, LATER)
    assert reviews(steward) == 1
    steward.plot.first = steward.plot.other = lambda r: Say("Hello.")
    second = steward.ask("And who are you?")
    run(steward, LATER + MINUTE)
    assert steward.replies()[-1] == "Hello."
    assert not any(REVIEW in text for text in steward.model.requests[-1].inputs)
    threads = [row["thread"] for row in steward.rows("select thread from session_thread order by ordinal")]
    assert steward.first_turn(second)["native_thread"] == threads[0]
    assert steward.first_turn(second)["profile"] == steward.first_turn(first)["profile"]


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
