"""May recoveries begin, how much of each budget is used now, and how many wait for it?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from oncemore.adapters.configuration import Configuration
from oncemore.engine import breaker, budgets
from oncemore.rules import times


@dataclass(frozen=True, slots=True)
class Allowance:
    """One budget as it stands.

    Attributes:
        budget: `per_hour`, `per_owner:OWNER` or `in_flight:ROUTE`.
        used, limit: recoveries: within the last hour, or at once.
        waiting: Requests.
    """

    budget: str
    used: int
    limit: int
    waiting: int

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def allowances(configuration: Configuration, now: int) -> list[Allowance]:
    """Every budget that is configured; of owners those that have used some.

    Args:
        now: the journal's moment, milliseconds since the epoch.
    """
    allowed = configuration.budgets
    lately = budgets.in_the_last_hour(now)
    found: list[tuple[str, int, int | None]] = [("per_hour", sum(lately.values()), allowed.per_hour)]
    found += [(f"per_owner:{owner}", used, allowed.per_owner) for owner, used in sorted(lately.items())]
    at_once = budgets.in_flight(configuration.reviews)
    found += [
        (f"in_flight:{route}", at_once.get(route, 0), one.in_flight) for route, one in sorted(allowed.routes.items())
    ]
    return [
        Allowance(budget, used, limit, budgets.waiting_for(budget))
        for budget, used, limit in found
        if limit is not None
    ]


def told(configuration: Configuration, now: int) -> dict[str, Any]:
    """The breaker and the budgets as plain data."""
    stands = breaker.newest()
    state: dict[str, str | None] = {"state": "closed", "since": None, "who": None, "why": None}
    if stands is not None:
        state = {"state": stands.state, "since": times.format_ms(stands.at), "who": stands.who, "why": stands.why}
    return {"breaker": state, "budgets": [one.as_json() for one in allowances(configuration, now)]}
