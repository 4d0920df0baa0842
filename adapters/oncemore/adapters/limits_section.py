"""How are the limits of `oncemore.yaml` written?"""

from __future__ import annotations

from types import MappingProxyType

from pydantic import BaseModel

from oncemore.adapters.entries import RuntimeName
from oncemore.adapters.written_values import STRICT, Age, Count, Span
from oncemore.engine.limits import BreakerLimits, Budgets, RouteBudget


class _Written(BaseModel):
    model_config = STRICT


class RetentionSection(_Written):
    """`retention:` as it is written."""

    texts: Age | None = None
    posted: Age | None = None


class _RouteBudget(_Written):
    in_flight: Count | None = None
    spread: Span | None = None

    def placed(self) -> RouteBudget:
        return RouteBudget(self.in_flight, self.spread or 0)


class _Breaker(_Written):
    in_a_row: Count | None = None
    per_hour: Count | None = None


class BudgetsSection(_Written):
    """`budgets:` as it is written."""

    per_hour: Count | None = None
    per_owner: Count | None = None
    routes: dict[RuntimeName, _RouteBudget] = {}
    breaker: _Breaker = _Breaker()

    def placed(self) -> Budgets:
        """The same for the engine."""
        routes: dict[str, RouteBudget] = {name: one.placed() for name, one in self.routes.items()}
        limits = BreakerLimits(self.breaker.in_a_row, self.breaker.per_hour)
        return Budgets(self.per_hour, self.per_owner, MappingProxyType(routes), limits)
