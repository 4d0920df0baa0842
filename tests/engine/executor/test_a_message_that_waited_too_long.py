"""A message that waited for its turn longer than it may is never executed, and its person is told so once."""

from __future__ import annotations

import pytest
from tests.engine.executor.world import ASK, BACKOFF, CONTINUES, World, hanging

from oncemore.engine import events, prompts, queueing

HOUR = queueing.PATIENCE
EXPIRED = prompts.EXPIRED["en"]


def waited_too_long(w: World, request: str) -> None:
    """The Turn ended in the queue, no runtime was asked to run it, and one reply says so."""
    turn = w.first_turn(request)
    assert (turn["status"], turn["error"], turn["has_reply"]) == ("timed_out", "session_queue_expired", 0)
    assert w.rows("select * from start_receipt where turn = ?", turn["id"]) == []
    reply = w.row("select stage, state from delivery where request = ?", request)
    assert (reply["stage"], reply["state"]) == ("notice", "verified")
    with w.house():
        assert events.verify(request) is None


@pytest.mark.parametrize(("language", "told"), [("en", EXPIRED), ("zh", prompts.EXPIRED["zh"])])
def test_it_is_not_executed_and_its_person_is_told_once_in_their_language(w: World, language: str, told: str) -> None:
    with w.house() as house:
        request = house.ask("notes", ASK, language=language)
    for w.offset in (HOUR, HOUR + BACKOFF, 30 * HOUR):
        w.work()
    waited_too_long(w, request)
    assert (w.replies(), w.model.calls, w.native_turns()) == ([told], 0, [])
    assert w.row("select due_at, held, state from request") == {"due_at": None, "held": None, "state": "open"}


def test_the_time_is_the_configured_one_of_when_it_was_taken_in(w: World) -> None:
    w.configuration.write_text("queue_patience: 2h\n" + w.configuration.read_text())
    patient = w.ask()
    w.configuration.write_text(w.configuration.read_text().replace("2h", "1m"))
    hasty = w.ask("And now?")
    w.offset = HOUR
    w.work()
    waited_too_long(w, hasty)
    assert w.first_turn(patient)["status"] == "completed"
    assert sorted(w.replies()) == sorted([EXPIRED, "Part one is written."])


def test_the_messages_behind_it_are_answered_in_the_order_in_which_they_came(w: World) -> None:
    w.plot.first = w.plot.other
    late = w.ask()
    w.offset = HOUR - BACKOFF
    texts = ["Second?", "Third?", "Fourth?"]
    later = [w.ask(text) for text in texts]
    w.offset = HOUR
    w.work()
    waited_too_long(w, late)
    assert [entry.last_user.splitlines()[0] for entry in w.model.requests] == texts
    assert [w.first_turn(one)["status"] for one in later] == ["completed"] * 3
    assert sorted(w.replies()) == sorted([EXPIRED, *(f"You said: {text}" for text in texts)])


@pytest.mark.parametrize(
    ("point", "about"),
    [
        ("after_settle", "business-1"),
        ("after_freeze", "notice"),
        ("after_delivery_intent", "notice"),
        ("after_send", "notice"),
        ("after_receipt", "notice"),
        ("after_verify", "notice"),
    ],
)
def test_a_worker_that_dies_over_it_neither_executes_it_nor_tells_it_twice(w: World, point: str, about: str) -> None:
    request = w.ask()
    w.offset = HOUR
    w.kill(w.work_until(point, about))
    for w.offset in (HOUR + BACKOFF, HOUR + 2 * BACKOFF):
        w.work()
    waited_too_long(w, request)
    assert (w.replies(), w.model.calls, w.native_turns()) == ([EXPIRED], 0, [])


@pytest.mark.parametrize("point", ["after_claim", "after_load", "after_start_intent"])
def test_a_turn_that_was_claimed_in_time_and_provably_not_started_is_not_started_later(w: World, point: str) -> None:
    request = w.ask()
    w.kill(w.work_until(point, "business-1"))
    for w.offset in (HOUR, HOUR + BACKOFF):
        w.work()
    waited_too_long(w, request)
    assert (w.replies(), w.model.calls, w.native_turns()) == ([EXPIRED], 0, [])


def test_a_turn_that_was_started_in_time_does_not_expire(w: World) -> None:
    w.plot.first = hanging(w)
    request = w.ask()
    process = w.work_until("after_start_call", "business-1")
    assert w.model.wait_for_calls(1)
    w.kill(process)
    for w.offset in (HOUR, HOUR + BACKOFF):
        w.work()
    turn = w.first_turn(request)
    assert (turn["status"], turn["error"]) == ("interrupted", "none")
    assert (w.replies(), len(w.native_turns())) == ([prompts.FAILED["en"]], 1)


def test_what_could_not_be_read_meanwhile_is_waited_for_no_longer_than_that(w: World) -> None:
    request = w.ask()
    text = w.configuration.read_text()
    with w.worker() as worker:
        w.configuration.write_text("nothing: [that can be read\n")
        worker.run_due()
        assert w.first_turn(request)["status"] == "queued"
        w.offset = HOUR
        worker.run_due()
        assert (w.first_turn(request)["status"], w.replies()) == ("timed_out", [])
        w.configuration.write_text(text)
        w.offset = HOUR + BACKOFF
        worker.run_due()
    waited_too_long(w, request)
    assert (w.replies(), w.model.calls) == ([EXPIRED], 0)


def test_a_continuation_that_waits_in_the_queue_has_its_policys_patience(w: World) -> None:
    request = w.ask()
    w.work()
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", request))
    w.offset = 3 * HOUR
    w.work()
    assert w.row("select expires_at from turn where phase = 'work'")["expires_at"] is None
    assert sum(CONTINUES in entry.last_user for entry in w.model.requests) == 2  # it asks twice
    assert w.replies() == ["Part one is written.", "Part two is written."]


AGAIN = """\
policy: again
revision: 1
summary: {en: Takes up whatever ended., zh: 继续一切已结束的轮次。}
when: turn.status == "timed_out"
gates:
  - id: once
    require: attempts.route == 0
    otherwise: deny
    why: {en: It was tried., zh: 已经试过。}
then: {action: retry_business, attempt: route}
patience: 24h
"""


def test_no_policy_may_take_it_up(w: World) -> None:
    w.policies = w.folder / "policies"
    w.policies.mkdir()
    (w.policies / "again.yaml").write_text(AGAIN)
    w.configure()
    (w.folder / "levels.yaml").write_text("again: enforce\n")
    request = w.ask()
    for w.offset in (HOUR, HOUR + BACKOFF, 2 * HOUR):
        w.work()
    waited_too_long(w, request)
    assert w.rows("select * from attempt") == []
    assert {row["outcome"] for row in w.rows("select outcome from decision where policy = 'again'")} == {"hold"}
    assert (w.replies(), w.model.calls, w.native_turns()) == ([EXPIRED], 0, [])
