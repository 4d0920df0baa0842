"""Whatever changes between the facts of a decision and the transaction that acts on it discards the decision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.engine.executor.world import BACKOFF, World

from oncemore.engine import intake
from oncemore.engine.tables import Request


def once(action: Callable[[], None]) -> Callable[[], None]:
    done: list[bool] = []

    def act() -> None:
        if not done:
            done.append(True)
            action()

    return act


def test_a_message_between_deciding_and_reserving_goes_first(w: World) -> None:
    w.ask()
    w.work()
    w.offset = BACKOFF
    with w.worker(before_deciding=once(lambda: w.ask("Wait, something else."))) as worker:
        while worker.run_due():
            pass
    assert [entry for entry in w.model.requests if "one continuation" in entry.last_user] == []
    assert w.replies()[-1] == "You said: Wait, something else."
    assert w.rows("select * from attempt") == []


@pytest.mark.parametrize("action", ["stop", "opt_out"])
def test_a_word_of_the_person_between_deciding_and_starting_stops_the_start(w: World, action: str) -> None:
    request = w.ask()
    w.work()
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", ""))

    def word() -> None:
        with w.house() as house:
            if action == "stop":
                intake.stop(house.journal, request, "user")
            else:
                intake.opt_out(house.journal, request)

    with w.worker(before_deciding=once(word)) as worker:
        while worker.run_due():
            pass
    assert w.model.calls == 2
    assert w.row("select state from attempt")["state"] == "withdrawn"
    assert w.rows("select * from start_intent where turn like '%work-1'") == []


def test_a_second_attempt_slipped_in_between_stops_the_dispatch(w: World) -> None:
    from oncemore.engine.tables import Attempt, database

    request = w.ask()
    w.work()
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", ""))
    with w.house() as house:
        # Not even the ledger lets it in; without its trigger the gates still see it.
        database.execute_sql(f"drop trigger attempt_after_last{'' if house.journal.server is None else ' on attempt'}")
        slipped = {"kind": "quota", "ordinal": 1, "turn": "slipped", "decision": "d", "state": "failed", "open": False}
        Attempt.insert(request=request, reserved_at=1, settled_at=1, **slipped).execute()
    w.work()
    assert w.model.calls == 2
    assert w.row("select state from attempt where kind = 'work'")["state"] == "withdrawn"


def test_the_facts_that_reserved_also_dispatch(w: World) -> None:
    w.ask()
    w.work()
    w.offset = BACKOFF
    w.work()
    outcomes = w.rows(
        "select p.stage, d.outcome from decision d join decision_pass p on p.id = d.pass order by d.at, p.stage"
    )
    assert outcomes == [
        {"stage": "admission", "outcome": "wait"},
        {"stage": "admission", "outcome": "fire"},
        {"stage": "dispatch", "outcome": "fire"},
    ]


def test_a_look_that_changes_nothing_is_only_counted(w: World) -> None:
    w.ask()
    w.work()
    # Codex records whole seconds, rounded against us: the first look may come before that second is over.
    w.offset = 2_000
    for _ in range(4):
        with w.house() as house, house.journal.transaction():
            Request.update(due_at=1).execute()
        w.work()
    passes = w.rows("select seen, outcome from decision_pass order by at")
    assert passes[-1] == {"seen": 5 if len(passes) == 1 else 4, "outcome": "wait"}


def test_a_session_closed_after_the_reservation_is_never_reopened(w: World) -> None:
    w.ask()
    w.work()
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", ""))
    with w.house() as house:
        intake.close_session(house.journal, w.row("select id from session")["id"])
    w.work()
    assert w.model.calls == 2
    assert w.row("select state, reason from attempt") == {"state": "withdrawn", "reason": "session-not-closed"}
