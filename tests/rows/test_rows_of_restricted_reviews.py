"""The one review of an exhausted question, on a real Codex: once, by reading only, in a context of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.executor.world import World, turn_of_another_program
from tests.rows.overreach import MORE_THAN_READING
from tests.rows.removals import all_of, clause, gate, guard, ledger
from tests.rows.row import row
from tests.rows.steward_world import (
    CODEX,
    HOUR,
    LATER,
    MINUTE,
    QUESTION,
    RETRY,
    REVIEW,
    TRIES,
    Killed,
    kill,
    limited,
    once,
    reviewing,
    reviews,
    run,
)

from oncemore.adapters.demo.model import Call, ModelRequest, Patch, Say, Script
from oncemore.engine import dispatch, facts, prompts, response
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.ports import SessionView
from oncemore.engine.tables import database


@pytest.fixture
def steward(w: World) -> World:
    return limited(w)


@row(
    "E10",
    "After a crash behind the reservation and one behind the enqueue, the one reserved review is adopted.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.executor.admission.enqueue",
        lambda context, request: True,
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


@MORE_THAN_READING
@row(
    "E13",
    "A review that writes, asks for more than reading or hands work on changes nothing; its answer is not delivered.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.running._rejection",
        lambda *of_the_review: None,
        "that a review is checked before its answer counts",
    ),
)
def test_E13_a_review_that_does_more_than_read_is_rejected(steward: World, deed: Patch | Call) -> None:
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
    row = steward.row("select state, held, due_at from request")
    assert row == {"state": "open", "held": "the review's answer leaves something to a person", "due_at": None}


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
