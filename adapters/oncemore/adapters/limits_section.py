"""How are the limits of `oncemore.yaml` written, and the values that every part of it is made of?"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from oncemore.adapters.entries import RuntimeName
from oncemore.engine.limits import BreakerLimits, Budgets, RouteBudget
from oncemore.rules import durations

STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)
"""Of every part of the file: its keys and no others, its types and no conversions."""


class _Written(BaseModel):
    model_config = STRICT


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("write a duration with its unit, such as 2s or 15m")
    ms = durations.parse(value)
    if ms == 0:
        raise ValueError("a duration here is longer than 0s")
    return ms


def age(value: object) -> int:
    """How long ago, milliseconds: days, or a duration.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str) and re.fullmatch("[0-9]{1,5}d", value) and int(value[:-1]) > 0:
        return int(value[:-1]) * 86_400_000
    try:
        return _duration(value)
    except ValueError as error:
        raise ValueError(f"write an age in days, such as 90d, or as a duration ({error})") from None


Span = Annotated[int, BeforeValidator(_duration)]
Age = Annotated[int, BeforeValidator(age)]
Count = Annotated[int, Field(ge=1, lt=2**31)]


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
