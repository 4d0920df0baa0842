"""May one more recovery be reserved now, and if not, which budget says so and until when?

Budgets limit how much is done, never whether it may be: a policy has fired already, and its decision stands as it is.
What waits has spent nothing, and is judged afresh when it is looked at again. Recoveries are counted in the journal,
under the Session's row and then the one row of all budgets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from oncemore.engine import breaker, events
from oncemore.engine.allowance_tables import BudgetWait, RouteCapacity
from oncemore.engine.context import Context, due
from oncemore.engine.limits import Budgets, RouteBudget
from oncemore.engine.tables import Attempt, Request, Session
from oncemore.rules import durations

HOUR = 3_600_000
UNLIMITED = Budgets()


@dataclass(frozen=True, slots=True)
class Wait:
    """A recovery has to wait.

    Attributes:
        budget: `breaker`, `spread:ROUTE`, `in_flight:ROUTE`, `per_owner:OWNER` or `per_hour`.
        why: in words, without what anybody wrote.
        until: when it is looked at again, milliseconds since the epoch.
    """

    budget: str
    why: str
    until: int


def route_of(reviews: str | None, session: Session, kind: str) -> str:
    """The route that a try of a kind takes.

    Args:
        reviews: the runtime that runs reviews, which may be another one than the Session's.
    """
    return reviews if kind == "review" and reviews is not None else str(session.runtime)


def reviews_on(context: Context) -> str | None:
    """The runtime that runs reviews; None where none are run."""
    return None if context.ports.reviews is None else context.ports.reviews[0]


def take(context: Context) -> None:
    """Take the row of all budgets, where anything is limited: nobody else counts until the transaction ends."""
    if context.settings.budgets != UNLIMITED:
        breaker.take()


def room(context: Context, request: str, kind: str, now: int) -> Wait | None:
    """None when one more recovery may be reserved. Inside a transaction that has taken the Session and the row of
    budgets."""
    budgets = context.settings.budgets
    session = Session.get_by_id(Request.get_by_id(request).session)
    reviews = reviews_on(context)
    route = route_of(reviews, session, kind)
    of_route = budgets.routes.get(route, RouteBudget())
    if breaker.judge(budgets.breaker, now):
        return Wait(breaker.NAME, breaker.WHY, now + breaker.LOOK)
    begins = _begins(request, route, of_route.spread, now) if kind in ("quota", "route", "review") else now
    if begins > now:
        return Wait(f"spread:{route}", f"recoveries on {route} begin one by one after its capacity came back", begins)
    if of_route.in_flight is not None and in_flight(reviews).get(route, 0) >= of_route.in_flight:
        why = f"{_many(of_route.in_flight)} on {route} at most at once"
        return Wait(f"in_flight:{route}", why, now + context.settings.observe_again)
    if budgets.per_owner is not None:
        until = _free_at(request, f"per_owner:{session.owner}", budgets.per_owner, now, session.owner)
        if until is not None:
            why = f"{_many(budgets.per_owner)} an hour at most for {session.owner}"
            return Wait(f"per_owner:{session.owner}", why, until)
    if budgets.per_hour is not None:
        until = _free_at(request, "per_hour", budgets.per_hour, now, None)
        if until is not None:
            return Wait("per_hour", f"{_many(budgets.per_hour)} an hour at most", until)
    return None


def in_flight(reviews: str | None) -> dict[str, int]:
    """How many recoveries are reserved and not settled, by route.

    Args:
        reviews: as in `route_of`.
    """
    found: dict[str, int] = {}
    for attempt, session in _with_session(Attempt.open == True):  # noqa: E712
        route = route_of(reviews, session, attempt.kind)
        found[route] = found.get(route, 0) + 1
    return found


def in_the_last_hour(now: int) -> dict[str, int]:
    """How many recoveries were reserved within the last hour, by owner."""
    found: dict[str, int] = {}
    for _, session in _with_session(Attempt.reserved_at > now - HOUR):
        found[session.owner] = found.get(session.owner, 0) + 1
    return found


def wait(context: Context, request: str, policy: str, found: Wait, since: int, now: int) -> bool:
    """Write down that the recovery waits, and say when it is looked at again; whether its policy still waits.

    Beyond the policy's patience a person is needed. Inside a transaction.

    Args:
        since: when the wait may have begun at the earliest, where none is written down yet.
    """
    row = BudgetWait.get_or_none(BudgetWait.request == request)
    begun = row.since if row is not None and row.policy == policy else since
    # After a person's release it waits anew.
    begun = max(begun, Request.get_by_id(request).waiting_since or 0)
    patience = context.rules.patience(policy)
    over = patience is not None and now - begun >= patience
    known = row is not None and (row.budget, bool(row.given_up)) == (found.budget, over)
    values = {
        "policy": policy,
        "budget": found.budget,
        "why": found.why,
        "since": begun,
        "until": None if over else found.until,
        "given_up": over,
    }
    BudgetWait.insert(request=request, **values).on_conflict(
        conflict_target=[BudgetWait.request], update=values
    ).execute()
    if over:
        assert patience is not None
        due(request, None, f"{policy}: waited {durations.format_ms(patience)} for a budget: {found.why}")
    else:
        due(request, max(now + 1, found.until))
    if not known:
        kind = "gave_up_waiting" if over else "waits_for_budget"
        events.append(request, kind, now, policy=policy, budget=found.budget, why=found.why)
    return not over


def waiting_for(budget: str) -> int:
    """How many open Requests wait for a budget."""
    return len(_line(budget))


def waiting(request: str) -> BudgetWait | None:
    """The wait of an open Request for a budget."""
    row = BudgetWait.get_or_none(BudgetWait.request == request)
    assert row is None or isinstance(row, BudgetWait)
    return row


def judged(request: str, records: Iterable[Mapping[str, Any]]) -> None:
    """A Request that may not act now was judged: it keeps its place in the line only while its policy waits too. Inside
    a transaction."""
    row = waiting(request)
    if row is not None and not any(one["policy"]["name"] == row.policy and one["outcome"] == "wait" for one in records):
        over(request)


def over(request: str) -> None:
    """The Request no longer waits for a budget. Inside a transaction."""
    BudgetWait.delete().where(BudgetWait.request == request).execute()


def freed(now: int) -> None:
    """A recovery has ended: of those that wait for room on a route the longest waiting is due. Inside a transaction."""
    routes = {
        row.budget
        for row in BudgetWait.select(BudgetWait.budget).where(BudgetWait.budget.startswith("in_flight:")).distinct()
    }
    for budget in sorted(routes):
        first = next(iter(_line(budget)), None)
        if first is not None:
            Request.update(due_at=now).where(Request.id == first, Request.due_at > now).execute()


def seen(route: str, state: str, now: int) -> None:
    """Remember what a route's capacity is; a change has its time. Inside a transaction."""
    row = RouteCapacity.get_or_none(RouteCapacity.name == route)
    if row is not None and row.state == state:
        return
    # A route that was never seen exhausted has not come back.
    since = now if row is not None else 0
    RouteCapacity.insert(name=route, state=state, since=since).on_conflict(
        conflict_target=[RouteCapacity.name], update={"state": state, "since": since}
    ).execute()


def _begins(request: str, route: str, spread: int, now: int) -> int:
    """When this Request's recovery may begin after the capacity came back: a moment of its own within the spread."""
    row = RouteCapacity.get_or_none(RouteCapacity.name == route)
    if spread == 0 or row is None or row.state != "available" or not row.since <= now < row.since + spread:
        return now
    drawn = hashlib.sha256(f"{request}\0{row.since}".encode()).digest()
    return int(row.since) + spread * int.from_bytes(drawn[:4], "big") // 2**32


def _free_at(request: str, budget: str, limit: int, now: int, owner: str | None) -> int | None:
    """When there is room in the hour for this Request, behind those that wait already; None when there is now."""
    rows = sorted(
        attempt.reserved_at
        for attempt, session in _with_session(Attempt.reserved_at > now - HOUR)
        if owner is None or session.owner == owner
    )
    if len(rows) < limit:
        return None
    line = _line(budget)
    place = line.index(request) if request in line else len(line)
    leaves = rows[min(len(rows) - limit + place, len(rows) - 1)]
    return int(leaves) + HOUR


def _line(budget: str) -> list[str]:
    """The open Requests that wait for a budget, the longest waiting first."""
    rows = (
        BudgetWait.select(BudgetWait.request)
        .join(Request, on=(Request.id == BudgetWait.request))
        .where(BudgetWait.budget == budget, BudgetWait.given_up == False, Request.state == "open")  # noqa: E712
        .order_by(BudgetWait.since, BudgetWait.request)
    )
    return [row.request for row in rows]


def _with_session(chosen: object) -> list[tuple[Attempt, Session]]:
    attempts = list(Attempt.select().where(chosen))
    requests = {
        row.id: row.session
        for row in Request.select(Request.id, Request.session).where(Request.id.in_({a.request for a in attempts}))
    }
    sessions = {
        row.id: row
        for row in Session.select(Session.id, Session.owner, Session.runtime).where(
            Session.id.in_(set(requests.values()))
        )
    }
    return [(attempt, sessions[requests[attempt.request]]) for attempt in attempts]


def _many(number: int) -> str:
    return "one recovery" if number == 1 else f"{number} recoveries"
