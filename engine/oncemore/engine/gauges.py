"""How much stands in the journal now: what is due, waits, is held, runs, and what of each budget is used?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import peewee as pw

from oncemore.engine import advice, breaker, budgets
from oncemore.engine.allowance_tables import BudgetWait
from oncemore.engine.facts import STARTED
from oncemore.engine.limits import Budgets
from oncemore.engine.tables import Request, Turn


@dataclass(frozen=True, slots=True)
class Gauges:
    """Numbers by kind, without anybody's name.

    Attributes:
        requests: open ones that are `due`, `waiting` for a time, `held`, `running` a Turn, `advised`.
        used, limits, waiting: by budget: `per_hour`, `per_owner` (the owner who has used most), `in_flight:ROUTE`;
            `waiting` for `breaker` and `spread:ROUTE` too.
        oldest_due: for how long the longest due Request is due, milliseconds.
    """

    requests: Mapping[str, int]
    used: Mapping[str, int]
    limits: Mapping[str, int]
    waiting: Mapping[str, int]
    breaker_open: bool
    oldest_due: int


def gauges(allowed: Budgets, reviews: str | None, now: int) -> Gauges:
    """Count. The calling thread is connected.

    Args:
        reviews: the runtime that runs reviews.
        now: the journal's moment, milliseconds since the epoch.
    """
    due = Request.select().where(Request.due_at <= now)
    oldest = due.select(pw.fn.MIN(Request.due_at)).scalar()
    requests = {
        "due": due.count(),
        "waiting": Request.select().where(Request.due_at > now).count(),
        "held": Request.select().where(Request.held.is_null(False), Request.state == "open").count(),
        "running": Turn.select().where(Turn.ended_at.is_null(), Turn.status.in_(STARTED)).count(),
        "advised": len(advice.waiting()),
    }
    lately = budgets.in_the_last_hour(now)
    at_once = budgets.in_flight(reviews)
    used = {"per_hour": sum(lately.values()), "per_owner": max(lately.values(), default=0)}
    limits = {"per_hour": allowed.per_hour, "per_owner": allowed.per_owner}
    for route in sorted(allowed.routes.keys() | at_once.keys()):
        used[f"in_flight:{route}"] = at_once.get(route, 0)
        limits[f"in_flight:{route}"] = allowed.routes[route].in_flight if route in allowed.routes else None
    return Gauges(
        requests=requests,
        used=used,
        limits={name: limit for name, limit in limits.items() if limit is not None},
        waiting=_waiting(),
        breaker_open=breaker.opened() is not None,
        oldest_due=0 if oldest is None else max(0, now - int(oldest)),
    )


def _waiting() -> dict[str, int]:
    """How many open Requests wait, by budget; those of all owners together."""
    rows = (
        BudgetWait.select(BudgetWait.budget)
        .join(Request, on=(Request.id == BudgetWait.request))
        .where(BudgetWait.given_up == False, Request.state == "open")  # noqa: E712
    )
    found: dict[str, int] = {}
    for row in rows:
        name = "per_owner" if row.budget.startswith("per_owner:") else row.budget
        found[name] = found.get(name, 0) + 1
    return found
