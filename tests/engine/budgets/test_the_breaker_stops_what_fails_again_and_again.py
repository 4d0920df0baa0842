"""After so many failed recoveries nothing more is tried until a person says so, and it costs nobody anything."""

from __future__ import annotations

from typing import cast

import pytest
from tests.engine.budgets.conftest import POLICY, Impatient, Office

from oncemore.adapters.demo.model import Fail, Say
from oncemore.adapters.standing import standings
from oncemore.engine import breaker, prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import Conflict
from oncemore.engine.rulebook import Rulebook

MINUTE = 60_000


@pytest.fixture
def broken(office: Office) -> Office:
    """Two continuations have failed, and the third conversation waits."""
    office.opens("budgets: {breaker: {in_a_row: 2}}\n")
    office.w.plot.second = lambda request: Fail("http500")
    office.backoff()
    assert len(office.reserved()) == 2
    return office


def late(office: Office) -> str:
    (name,) = set(office.requests) - set(office.reserved())
    return name


def test_it_opens_by_itself_and_says_why(broken: Office) -> None:
    change = breaker.opened()
    assert change is not None
    assert (change.who, change.why) == ("oncemore", "2 recoveries in a row failed")
    assert broken.wait(late(broken))["budget"] == "breaker"
    shown = {one.request: one for one in standings("open", "", broken.w.now())}
    one = shown[broken.requests[late(broken)]]
    assert (one.doing, one.gate, one.helps) == ("waits", f"{POLICY}: the breaker is open", "oncemore breaker")


@pytest.mark.parametrize(
    ("limit", "why"), [("in_a_row", "one recovery failed"), ("per_hour", "one recovery failed within an hour")]
)
def test_one_failure_is_enough_where_the_operator_says_so(
    office: Office, caplog: pytest.LogCaptureFixture, limit: str, why: str
) -> None:
    office.opens(f"budgets: {{breaker: {{{limit}: 1}}}}\n")
    office.w.plot.second = lambda request: Fail("http500")
    office.backoff()
    change = breaker.opened()
    assert change is not None
    assert change.why == why
    assert f"the breaker opened: {why};" in caplog.text


def test_closed_with_a_reason_it_lets_what_waited_begin_at_once(broken: Office) -> None:
    name = late(broken)
    broken.w.plot.second = lambda request: Say("Part two is written.")
    assert breaker.close(broken.house.journal, who="ann", why="the provider is back") == 1
    broken.works()
    assert broken.reserved()[-1] == name
    assert broken.row(name)["state"] == "answered"
    with pytest.raises(Conflict, match="closed already"):
        breaker.close(broken.house.journal, who="ann", why="again")


def test_what_failed_before_it_was_closed_does_not_open_it_again(broken: Office) -> None:
    breaker.close(broken.house.journal, who="ann", why="the provider is back")
    broken.works()
    assert len(broken.reserved()) == 3
    assert breaker.opened() is None


def test_people_are_answered_while_it_is_open(broken: Office) -> None:
    asked = broken.house.ask("notes", "Hello?")
    broken.works()
    assert broken.w.row("select state from request where id = ?", asked)["state"] == "answered"


def test_it_adds_no_notice(broken: Office) -> None:
    name = late(broken)
    for _ in range(3):
        broken.works(breaker.LOOK)
    replies = broken.w.rows("select stage from delivery where request = ?", broken.requests[name])
    assert [row["stage"] for row in replies] == ["answer"]
    assert broken.w.replies().count(prompts.FAILED["en"]) == 2


def test_a_retry_that_only_waits_for_it_ends_in_one_notice_when_its_patience_is_over(office: Office) -> None:
    office.first = lambda request: Fail("usage_limit")
    office.opens(policies=("retry-quota",))
    breaker.open_by_hand(office.house.journal, who="ann", why="maintenance")
    for later in (6 * MINUTE, MINUTE, MINUTE):  # whether there is room is asked by one after the other
        office.works(later)
    assert {office.wait(name)["budget"] for name in office.requests} == {"breaker"}
    assert office.w.replies() == []
    office.context.rules = cast(Rulebook, Impatient(office.context.rules))
    for later in (60 * MINUTE, *[MINUTE] * 12):
        office.works(later)
    assert office.w.replies() == [prompts.FAILED["en"]] * 3
    assert office.reserved() == []
    assert all("budget" in office.row(name)["held"] for name in office.requests)


def test_failures_within_an_hour_open_it_whatever_succeeds_between_them(office: Office) -> None:
    office.opens("budgets: {breaker: {per_hour: 2}}\n")
    ends = iter([Fail("http500"), Say("Part two is written."), Fail("http500")])
    office.w.plot.second = lambda request: next(ends)
    office.backoff()
    change = breaker.opened()
    assert change is not None
    assert change.why == "2 recoveries failed within an hour"


def test_opened_by_hand_it_stops_a_reserved_recovery_before_its_start(office: Office) -> None:
    office.opens()

    def opens(point: CrashPoint, subject: str) -> None:
        if point is CrashPoint.AFTER_ENQUEUE and breaker.newest() is None:
            breaker.open_by_hand(office.house.journal, who="ann", why="maintenance")

    office.context.checkpoint = opens
    calls = office.w.model.calls
    office.backoff()
    assert office.w.model.calls == calls
    (name,) = office.reserved()
    assert office.w.row("select state, open from attempt") == {"state": "reserved", "open": 1}
    assert office.kinds(name)[-2:] == ["waits_for_budget", "let_go"]
    breaker.close(office.house.journal, who="ann", why="done")
    office.works()
    assert {row["state"] for row in office.w.rows("select state from request")} == {"answered"}


def test_a_change_needs_a_reason(office: Office) -> None:
    office.opens()
    with pytest.raises(Conflict, match="reason"):
        breaker.open_by_hand(office.house.journal, who="ann", why=" ")
    assert breaker.opened() is None
