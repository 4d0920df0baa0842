"""On either database the last place of a budget is taken once, and the tables behind it work alike."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.postgres import both

from oncemore.engine import advice, breaker, budgets, intake
from oncemore.engine.allowance_tables import Advice, LevelChange
from oncemore.engine.context import Context, Settings, lock
from oncemore.engine.errors import Conflict
from oncemore.engine.gauges import gauges
from oncemore.engine.hindsight import would_have
from oncemore.engine.journal import Journal
from oncemore.engine.limits import BreakerLimits, Budgets, RouteBudget
from oncemore.engine.ports import GrantRef, Ports, Workspace
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Attempt, Decision, DecisionPass, Request

NOW = 1_800_000_000_000
HOUR = 3_600_000


class Patient:
    """Of the rulebook only how long a policy waits is asked."""

    def patience(self, policy: str) -> int:
        return 24 * HOUR


class Desk:
    """A journal with a Request in each of two conversations."""

    def __init__(self, place: Path | str) -> None:
        self.time = NOW
        self.journal = Journal(place, clock=lambda: self.time)
        self.requests = []
        for name in ("notes", "plans"):
            grant = GrantRef(name, "ann", "workspace_write", 1, Workspace(f"/srv/{name}", 1, 2))
            session = intake.open_session(
                self.journal, grant, runtime="codex", home="/h", source="inbox", conversation=name
            )
            arrival = intake.Arrival(message=f"m-{name}", sender="ann", text=f"write {name}")
            self.requests.append(intake.accept(self.journal, session, arrival))

    def context(self, allowed: Budgets) -> Context:
        return Context(self.journal, Ports(), cast(Rulebook, Patient()), Settings(budgets=allowed))

    def reserve(self, context: Context, request: str, counted: threading.Event, other: threading.Event) -> bool:
        """Count, let somebody else count too if they can, then take the place."""
        with self.journal.connected(), self.journal.transaction():
            lock(Request.get_by_id(request).session)
            budgets.take(context)
            now = self.journal.advance_clock().ms
            free = budgets.room(context, request, "work", now) is None
            counted.set()
            other.wait(0.5)
            if free:
                self.spend(request, now)
            return free

    def spend(self, request: str, at: int, state: str = "reserved") -> None:
        over = state != "reserved"
        Attempt.insert(
            request=request,
            kind="work",
            ordinal=1,
            turn=f"{request}-work-1",
            decision="sha256:0",
            state=state,
            open=not over,
            reserved_at=at,
            settled_at=at if over else None,
        ).execute()

    def fires(self, request: str, policy: str) -> dict[str, object]:
        """A decision at `advise` that fired, and its record."""
        DecisionPass.insert(
            id=f"pass-{request}", request=request, stage="admission", turn=None, outcome="hold", fired=None,
            signature="", stored="{}", at=self.time, last_seen=self.time, seen=1,
        ).execute()  # fmt: skip
        Decision.insert(
            id=f"decision-{request}", decision_pass=f"pass-{request}", request=request, policy=policy, level="advise",
            outcome="fire", reason_kind="all_passed", reason_gate=None, until=None, at=self.time,
        ).execute()  # fmt: skip
        return {"policy": {"name": policy}, "level": "advise", "outcome": "fire"}


@pytest.fixture
def desk(place: Path | str) -> Iterator[Desk]:
    made = Desk(place)
    yield made
    made.journal.close()


@both
@pytest.mark.parametrize("allowed", [Budgets(per_hour=1), Budgets(routes={"codex": RouteBudget(in_flight=1)})])
def test_the_last_place_is_taken_once(desk: Desk, allowed: Budgets) -> None:
    context = desk.context(allowed)
    counted = [threading.Event(), threading.Event()]
    got: list[bool] = []

    def taking(mine: int) -> None:
        got.append(desk.reserve(context, desk.requests[mine], counted[mine], counted[1 - mine]))

    threads = [threading.Thread(target=taking, args=(mine,)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False, True]
    assert Attempt.select().count() == 1


@both
def test_a_wait_is_kept_and_ended(desk: Desk) -> None:
    context = desk.context(Budgets(per_owner=1))
    first, second = desk.requests
    with desk.journal.transaction():
        desk.spend(first, NOW)
        wait = budgets.room(context, second, "work", NOW + 1)
        assert wait == budgets.Wait("per_owner:ann", "one recovery an hour at most for ann", NOW + HOUR)
        assert budgets.wait(context, second, "a-policy", wait, NOW + 1, NOW + 1)
        assert budgets.wait(context, second, "a-policy", wait, NOW + 2, NOW + 2)
        assert Request.get_by_id(second).due_at == NOW + HOUR
        counted = gauges(Budgets(per_owner=1), None, NOW + 2)
        assert (counted.waiting, counted.used["per_owner"]) == ({"per_owner": 1}, 1)
        budgets.judged(second, [{"policy": {"name": "a-policy"}, "outcome": "hold"}])
        assert budgets.waiting(second) is None


@both
def test_the_breaker_opens_closes_and_counts_anew(desk: Desk) -> None:
    limits = BreakerLimits(in_a_row=1)
    context = desk.context(Budgets(breaker=limits))
    first, second = desk.requests
    with desk.journal.transaction():
        desk.spend(first, NOW, "failed")
        assert breaker.judge(limits, NOW)
        wait = budgets.room(context, second, "work", NOW)
        assert wait is not None
        budgets.wait(context, second, "a-policy", wait, NOW, NOW)
    desk.time += 1_000
    assert breaker.close(desk.journal, who="ann", why="it is back") == 1
    with desk.journal.transaction():
        assert not breaker.judge(limits, desk.time)
        assert Request.get_by_id(second).due_at == desk.time


@both
def test_advice_is_offered_once_taken_once_and_seen_in_hindsight(desk: Desk) -> None:
    request = desk.requests[0]
    with desk.journal.transaction():
        LevelChange.insert(policy="a-policy", level="advise", who="ann", why="to see", at=NOW).execute()
        record = desk.fires(request, "a-policy")
        advice.judged(request, [record], None, NOW)
        advice.judged(request, [record], None, NOW)
    (offer,) = advice.waiting()
    assert (offer.request, offer.decision) == (request, f"decision-{request}")
    assert [one.ended for one in would_have(["a-policy"], 0, NOW + 1)] == ["open"]
    advice.act(desk.journal, request, "a-policy", "ann", "it is urgent")
    assert advice.taken(request) == "a-policy"
    with pytest.raises(Conflict, match="acted on already"):
        advice.act(desk.journal, request, "a-policy", "ann", "again")
    with desk.journal.transaction():
        advice.judged(request, [{**record, "outcome": "wait", "reason": {"gate": "backoff", "kind": "x"}}], None, NOW)
    assert [(row.state, row.reason) for row in Advice.select()] == [("refused", "wait: backoff")]
