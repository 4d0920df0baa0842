"""What the operator allows at most is kept to, and what waits for it has spent nothing."""

from __future__ import annotations

import json
from typing import cast

from tests.engine.budgets.conftest import POLICY, Impatient, Office

from oncemore.adapters.standing import standings
from oncemore.engine import budgets, intake
from oncemore.engine.rulebook import Rulebook

HOUR = 3_600_000


def test_only_so_many_begin_in_an_hour_and_the_others_come_when_there_is_room(office: Office) -> None:
    office.opens("budgets: {per_hour: 2}\n")
    office.backoff()
    assert len(office.reserved()) == 2
    (late,) = set(office.requests) - set(office.reserved())
    first = office.w.rows("select reserved_at from attempt order by reserved_at")[0]["reserved_at"]
    assert office.row(late)["due_at"] == office.wait(late)["until"] == first + HOUR
    decided = office.w.rows("select outcome, level from decision where request = ?", office.requests[late])
    assert decided[-1] == {"outcome": "fire", "level": "enforce"}
    office.works(HOUR)
    assert office.reserved()[-1] == late
    assert office.w.rows("select * from budget_wait") == []
    assert len(office.w.replies()) == 6


def test_a_wait_is_shown_as_such_and_written_down_once(office: Office) -> None:
    office.opens("budgets: {per_hour: 1}\n")
    office.backoff()
    office.works(60_000)
    waiting = [name for name in office.requests if name not in office.reserved()]
    for name in waiting:
        assert office.kinds(name).count("waits_for_budget") == 1
        assert office.kinds(name)[-1] == "waits_for_budget"
        assert office.row(name)["held"] is None
    shown = {one.request: one for one in standings("open", "", office.w.now())}
    one = shown[office.requests[waiting[0]]]
    assert (one.doing, one.gate) == ("waits", f"{POLICY}: one recovery an hour at most")
    assert one.until == office.row(waiting[0])["due_at"]


def test_those_who_wait_are_given_one_place_after_the_other(office: Office) -> None:
    office.opens("budgets: {per_hour: 1}\n")
    office.backoff()
    waits = office.w.rows("select since, until from budget_wait order by until")
    reserved = office.w.row("select reserved_at from attempt")["reserved_at"]
    assert [wait["until"] for wait in waits] == [reserved + HOUR] * 2
    office.works(HOUR)
    assert len(office.reserved()) == 2
    office.works(HOUR)
    assert len(office.reserved()) == 3


def test_one_owner_does_not_use_up_what_another_has(office: Office) -> None:
    office.opens("budgets: {per_owner: 1}\n")
    office.backoff()
    assert {"lists"} < set(office.reserved())
    assert len(office.reserved()) == 2
    (late,) = set(office.requests) - set(office.reserved())
    assert office.wait(late)["budget"] == "per_owner:ann"


def test_a_policy_waits_for_a_budget_only_as_long_as_it_is_patient(office: Office) -> None:
    office.opens("budgets: {routes: {codex: {in_flight: 1}}}\n")
    office.context.rules = cast(Rulebook, Impatient(office.context.rules))
    office.occupies("notes")
    office.backoff()
    assert office.wait("lists")["budget"] == "in_flight:codex"
    office.works(HOUR)
    assert office.row("lists")["held"] == f"{POLICY}: waited 30m for a budget: one recovery on codex at most at once"
    assert office.row("lists")["due_at"] is None
    assert office.kinds("lists")[-1] == "gave_up_waiting"
    intake.release(office.house.journal, office.requests["lists"], "try again")
    office.works()
    assert office.row("lists")["held"] is None
    assert office.wait("lists")["given_up"] == 0


def test_the_longest_waiting_is_due_when_a_recovery_on_its_route_ends(office: Office) -> None:
    office.opens("budgets: {routes: {codex: {in_flight: 1}}}\n")
    office.occupies("notes")
    office.backoff()
    assert {
        row["due_at"] > office.w.now() for row in office.w.rows("select due_at from request where held is null")
    } == {True}
    intake.release(office.house.journal, office.requests["notes"], "it is not running", close=True)
    office.works()
    assert [name for name in office.reserved() if name != "notes"] == ["plans", "lists"]


def test_returning_capacity_is_not_used_up_at_once(office: Office) -> None:
    office.opens("budgets: {routes: {codex: {spread: 10m}}}\n")
    with office.house.journal.transaction():
        now = office.house.journal.advance_clock().ms
        budgets.seen("codex", "exhausted", now - 1)
        budgets.seen("codex", "available", now)
        begins = {}
        for request in office.requests.values():
            wait = budgets.room(office.context, request, "quota", now)
            begins[request] = now if wait is None else wait.until
            assert budgets.room(office.context, request, "work", now) is None
            assert budgets.room(office.context, request, "quota", now + 600_000) is None
    assert len(set(begins.values())) == len(begins)
    assert all(now <= at < now + 600_000 for at in begins.values())


def test_a_route_that_was_never_exhausted_has_not_come_back(office: Office) -> None:
    office.opens("budgets: {routes: {codex: {spread: 10m}}}\n")
    with office.house.journal.transaction():
        now = office.house.journal.advance_clock().ms
        budgets.seen("codex", "available", now)
        assert budgets.room(office.context, office.requests["notes"], "quota", now) is None


def test_the_newest_human_input_wins_over_a_recovery_that_waits(office: Office) -> None:
    office.opens("budgets: {per_hour: 2}\n")
    office.backoff()
    (late,) = set(office.requests) - set(office.reserved())
    office.house.ask(late, "Never mind, tell me the time.")
    office.works()
    office.works(2 * HOUR)
    assert late not in office.reserved()
    assert office.w.rows("select * from budget_wait") == []


def test_events_of_a_wait_hold_no_words(office: Office) -> None:
    office.opens("budgets: {per_hour: 1}\n")
    office.backoff()
    bodies = [
        json.loads(row["body"]) for row in office.w.rows("select body from event where kind = 'waits_for_budget'")
    ]
    assert {tuple(sorted(body)) for body in bodies} == {("budget", "policy", "why")}
