"""How much does the operator allow at most? Plain numbers; nothing is limited where none is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """When the breaker opens by itself.

    Attributes:
        in_a_row: after so many failed recoveries one after the other; None for never.
        per_hour: after so many within an hour; None for never.
    """

    in_a_row: int | None = None
    per_hour: int | None = None


@dataclass(frozen=True, slots=True)
class RouteBudget:
    """Of one route to a model, by its runtime's name.

    Attributes:
        in_flight: so many recoveries at once at most, from reservation to end; None for any number.
        spread: over how long recoveries begin at random after its capacity came back, milliseconds.
    """

    in_flight: int | None = None
    spread: int = 0


@dataclass(frozen=True, slots=True)
class Budgets:
    """What the operator allows.

    Attributes:
        per_hour: recoveries in any hour altogether; None for any number.
        per_owner: of one owner's workspaces in any hour; None for any number.
        routes: by the runtime's name.
    """

    per_hour: int | None = None
    per_owner: int | None = None
    routes: Mapping[str, RouteBudget] = field(default_factory=lambda: MappingProxyType({}))
    breaker: BreakerLimits = field(default_factory=BreakerLimits)
