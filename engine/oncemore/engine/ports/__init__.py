"""What does the engine need of the outside? The protocols that adapters satisfy, and the typed things they exchange.

An adapter returns what it read, with evidence, or raises a `PortError`; it never returns a default for what it could
not read. Reads never start a native session or a model. Observations never authorise: only a decision does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from oncemore.engine.ports.grants import GrantReading, GrantRef, Grants
from oncemore.engine.ports.runtime import (
    Inventory,
    Loaded,
    NativeRecord,
    NativeStatus,
    NativeTurn,
    Observation,
    Runtime,
    SessionView,
    Thread,
    TurnError,
    TurnView,
)
from oncemore.engine.ports.source import Newer, Receipt, Search, Source, SourceRef
from oncemore.engine.ports.workspace import Profile, Workspace
from oncemore.rules.case import Reading

__all__ = [
    "Capacity",
    "GrantReading",
    "GrantRef",
    "Grants",
    "Inventory",
    "Loaded",
    "NativeRecord",
    "NativeStatus",
    "NativeTurn",
    "Newer",
    "Observation",
    "Ports",
    "Profile",
    "Receipt",
    "Runtime",
    "Search",
    "SessionView",
    "Source",
    "SourceRef",
    "Thread",
    "TurnError",
    "TurnView",
    "Workspace",
]


class Capacity(Protocol):
    """Whether a route to a model has room now."""

    def read(self) -> Reading:
        """`route.state`, read now; missing when there is no source of it. Raises `Unreadable`."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside as wired for one engine; by configured id where there can be several.

    Attributes:
        capacity: by the runtime's name; a runtime without one has no known capacity.
        reviews: the runtime that runs restricted reviews, and its home; None where no review can run.
    """

    runtimes: Mapping[str, Runtime] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    grants: Grants | None = None
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    reviews: tuple[str, str] | None = None
