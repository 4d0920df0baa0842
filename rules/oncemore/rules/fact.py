"""What is declared of a fact?"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FactType = Literal["bool", "int", "enum", "duration"]
Runtime = Literal["codex", "antigravity"]

RUNTIMES: tuple[Runtime, ...] = ("codex", "antigravity")

STORED = frozenset({"journal", "ledger", "response"})
"""Suppliers whose facts are always at hand, because they are ours; only their facts may stand in `when`."""


class Fact(BaseModel):
    """One fact that a case may state.

    Attributes:
        name: dotted, unique, never another fact's name followed by a dot.
        type: durations are whole milliseconds, never negative; ints are 64 bit.
        values: the values of an enum, in the order of the reference; empty for the other types.
        no_proof: values that say that something could not be established; a gate should not pass on them.
        meaning: one sentence.
        supplied_by: who reads it: `journal`, `ledger`, `response`, `source`, `grants`, `runtime`, `route`, several
            joined with ` and `.
        runtimes: the runtimes on which it can be had at all.
        max_age: for how long its evidence counts, milliseconds; None never ages.
        changeable: a person can bring about another value, so it may be offered as a nearest change.
        unit: of an int or a duration.
        grows: it rises with the clock by itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    type: FactType
    meaning: str
    supplied_by: str
    values: tuple[str, ...] = ()
    no_proof: tuple[str, ...] = ()
    runtimes: tuple[Runtime, ...] = RUNTIMES
    max_age: int | None = None
    changeable: bool = False
    unit: str = ""
    grows: bool = False

    @property
    def stored(self) -> bool:
        """Whether only our own records supply it, so that the service always knows it."""
        return STORED.issuperset(self.supplied_by.split(" and "))

    @property
    def lowest(self) -> int:
        """The least that a number can be: ordinals count from one, amounts and spans of time from nought."""
        return 1 if self.unit == "ordinal" else 0
