"""Into which cells do the facts fall that conditions speak of, and can several conditions be as wanted at once?

Every comparison is between one fact and literals, so the values of a fact fall into finitely many cells that no
comparison tells apart; that it is unknown is one more. What conditions say is a finite function of these cells, and
every question about them is decided exactly. A set of cells of one fact is a mask of bits; a `Box` gives a mask for
each fact that it restricts, and stands for all cases whose facts lie in their masks.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

from oncemore.rules.case import Value
from oncemore.rules.expression import And, Compare, Expression, Leaf, Member, Not, leaves
from oncemore.rules.leaf_rules import constants
from oncemore.rules.outcome import Truth
from oncemore.rules.typecheck import MAX_INT
from oncemore.rules.vocabulary import FACTS

Box: TypeAlias = Mapping[str, int]
"""A mask of cells by fact; a fact that is not named may lie in any cell."""

Wanted: TypeAlias = frozenset[Truth]
"""The results that a condition may have."""

PASS: Final = frozenset({Truth.PASS})
FAIL: Final = frozenset({Truth.FAIL})
UNKNOWN: Final = frozenset({Truth.UNKNOWN})
NOT_PASS: Final = FAIL | UNKNOWN
NOT_FAIL: Final = PASS | UNKNOWN

MAX_STEPS = 200_000
"""Ways that are tried for one question before it is left undecided, and said to be."""

_MAX_BOXES = 512
_EVERY = -1
"""The mask of a fact that is not restricted."""

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Undecided(Exception):
    """A question has more combinations than are tried."""


def holds(leaf: Leaf, value: Value) -> bool:
    """Whether a comparison is true of a value of its fact."""
    if isinstance(leaf, Compare):
        return _OPERATORS[leaf.op](value, *constants(leaf))
    return value in constants(leaf)


def truth(condition: Expression, values: Mapping[str, Value]) -> Truth:
    """What a condition is on known values, in three values; a fact that is not among them is unknown."""
    if isinstance(condition, Not):
        return _TURNED[truth(condition.operand, values)]
    if isinstance(condition, (Compare, Member)):
        value = values.get(condition.fact)
        if value is None:
            return Truth.UNKNOWN
        return Truth.PASS if holds(condition, value) else Truth.FAIL
    deciding = Truth.FAIL if isinstance(condition, And) else Truth.PASS
    seen = {truth(operand, values) for operand in condition.operands}
    if deciding in seen:
        return deciding
    return Truth.UNKNOWN if Truth.UNKNOWN in seen else _TURNED[deciding]


_TURNED: Mapping[Truth, Truth] = {
    Truth.PASS: Truth.FAIL,
    Truth.FAIL: Truth.PASS,
    Truth.UNKNOWN: Truth.UNKNOWN,
}


class Cells:
    """The cells of every fact that some conditions speak of.

    Attributes:
        values: by fact, one value of each cell; the last cell, None, is that the fact is unknown.
    """

    def __init__(self, conditions: Iterable[Expression]) -> None:
        literals: dict[str, set[Value]] = {}
        for condition in conditions:
            for leaf in leaves(condition):
                literals.setdefault(leaf.fact, set()).update(constants(leaf))
        self._starts = {fact: _starts(fact, known) for fact, known in literals.items() if _numeric(fact)}
        self.values: Mapping[str, tuple[Value | None, ...]] = {
            fact: (*(self._starts[fact] if _numeric(fact) else _listed(fact)), None) for fact in literals
        }
        self._made: dict[tuple[int, Wanted], tuple[Expression, list[dict[str, int]]]] = {}
        self._masks: dict[int, tuple[Leaf, int]] = {}

    def ways(self, condition: Expression, wanted: Wanted = PASS) -> Sequence[Box]:
        """The boxes in which a condition has one of the results wanted; together they are all such cases.

        Raises:
            Undecided: there are too many.
        """
        # The condition is kept with its boxes, so that its id cannot come to stand for another one.
        made = self._made.get((id(condition), wanted))
        if made is None:
            made = self._made[id(condition), wanted] = (condition, self._ways(condition, wanted))
        return made[1]

    def known(self, values: Mapping[str, Value | None]) -> dict[str, int]:
        """The box of given values; None for unknown. Facts that no condition speaks of are left out."""
        return {fact: 1 << self._cell(fact, value) for fact, value in values.items() if fact in self.values}

    def pick(self, box: Box, preferred: Mapping[str, Value | None] | None = None) -> dict[str, Value | None]:
        """One case of a box: for each fact that it restricts the preferred value where that fits, else the first."""
        picked: dict[str, Value | None] = {}
        for fact, mask in box.items():
            if preferred is not None and fact in preferred and mask >> self._cell(fact, preferred[fact]) & 1:
                picked[fact] = preferred[fact]
            else:
                picked[fact] = self.values[fact][(mask & -mask).bit_length() - 1]
        return picked

    def unknown(self, facts: Iterable[str]) -> dict[str, int]:
        """The box of all cases in which these facts are unknown."""
        return {fact: 1 << len(self.values[fact]) - 1 for fact in facts if fact in self.values}

    def _cell(self, fact: str, value: Value | None) -> int:
        values = self.values[fact]
        if value is None:
            return len(values) - 1
        if fact in self._starts:
            return bisect_right(self._starts[fact], int(value)) - 1
        return values.index(value)

    def _ways(self, condition: Expression, wanted: Wanted) -> list[dict[str, int]]:
        if wanted == PASS | FAIL:
            return _merged([dict(one) for part in (PASS, FAIL) for one in self.ways(condition, part)])
        if isinstance(condition, Not):
            return [dict(one) for one in self.ways(condition.operand, frozenset(_TURNED[one] for one in wanted))]
        if isinstance(condition, (Compare, Member)):
            mask = self._mask(condition, wanted)
            return [{condition.fact: mask}] if mask else []
        weakest = Truth.FAIL if isinstance(condition, And) else Truth.PASS
        parts = condition.operands
        if weakest in wanted:
            return _merged([dict(one) for part in parts for one in self.ways(part, wanted)])
        if wanted == UNKNOWN:
            # One part is unknown and none decides.
            rest = frozenset(Truth) - {weakest}
            return _merged(
                [
                    box
                    for chosen in parts
                    for box in _product([self.ways(part, UNKNOWN if part is chosen else rest) for part in parts])
                ]
            )
        return _product([self.ways(part, wanted) for part in parts])

    def _mask(self, leaf: Leaf, wanted: Wanted) -> int:
        known = self._masks.get(id(leaf))
        if known is None:
            values = self.values[leaf.fact]
            mask = sum(1 << at for at, value in enumerate(values) if value is not None and holds(leaf, value))
            known = self._masks[id(leaf)] = (leaf, mask)
        passing, unknown = known[1], 1 << len(self.values[leaf.fact]) - 1
        failing = (unknown - 1) & ~passing
        return (
            (passing if Truth.PASS in wanted else 0)
            | (failing if Truth.FAIL in wanted else 0)
            | (unknown if Truth.UNKNOWN in wanted else 0)
        )


def solve(conditions: Iterable[Sequence[Box]], within: Box | None = None) -> Box | None:
    """A box all of whose cases lie in one box of each condition; None when there is none.

    Args:
        conditions: for each condition the boxes in which it is as wanted.
        within: only cases of this box.

    Raises:
        Undecided: more than `MAX_STEPS` were tried.
    """
    return next(solutions(conditions, within), None)


def solutions(conditions: Iterable[Sequence[Box]], within: Box | None = None) -> Iterator[Box]:
    """Boxes as of `solve`, which together hold every case there is; they may overlap."""
    return _search(dict(within or {}), list(conditions), [MAX_STEPS])


def likely(
    conditions: Sequence[Sequence[Box]], wished: Iterable[Sequence[Box]], within: Box | None = None
) -> Box | None:
    """A box as of `solve` in which, one after the other, as many of the wishes hold as still can; None without any.

    Raises:
        Undecided: one of the questions takes more than `MAX_STEPS`.
    """
    held, found = list(conditions), solve(conditions, within)
    for wish in wished if found is not None else ():
        more = solve([*held, wish], within)
        if more is not None:
            held.append(wish)
            found = more
    return found


def _search(box: dict[str, int], conditions: Sequence[Sequence[Box]], steps: list[int]) -> Iterator[Box]:
    narrowed = _narrowed(box, conditions)
    if narrowed is None:
        return
    box, left = narrowed
    if not left:
        yield box
        return
    first = min(left, key=len)
    others = [one for one in left if one is not first]
    for way in first:
        steps[0] -= 1
        if steps[0] < 0:
            raise Undecided
        yield from _search(_both(box, way) or {}, others, steps)


def _narrowed(
    box: dict[str, int], conditions: Sequence[Sequence[Box]]
) -> tuple[dict[str, int], list[Sequence[Box]]] | None:
    """The box within every condition that has one way left, and the others with the ways that are left."""
    while True:
        left: list[Sequence[Box]] = []
        changed = False
        for ways in conditions:
            fitting = [way for way in ways if all(box.get(fact, _EVERY) & mask for fact, mask in way.items())]
            if not fitting:
                return None
            if any(all(not box.get(fact, _EVERY) & ~mask for fact, mask in way.items()) for way in fitting):
                continue
            if len(fitting) == 1:
                box = _both(box, fitting[0]) or {}
                changed = True
            else:
                left.append(fitting)
        if not changed:
            return box, left
        conditions = left


def _both(one: Box, other: Box) -> dict[str, int] | None:
    """The cases of both; None when there is none."""
    joined = dict(one)
    for fact, mask in other.items():
        mask &= joined.get(fact, _EVERY)
        if not mask:
            return None
        joined[fact] = mask
    return joined


def _product(parts: Sequence[Sequence[Box]]) -> list[dict[str, int]]:
    boxes: list[dict[str, int]] = [{}]
    for part in parts:
        if len(boxes) * len(part) > _MAX_BOXES:
            raise Undecided
        boxes = _merged([both for left, right in product(boxes, part) if (both := _both(left, right)) is not None])
    return boxes


def _merged(boxes: list[dict[str, int]]) -> list[dict[str, int]]:
    """The same cases in fewer boxes: none within another one, and those that differ in one fact joined."""
    merged = True
    while merged:
        merged = False
        kept: list[dict[str, int]] = []
        for box in boxes:
            if any(_within(box, other) for other in kept):
                continue
            kept = [other for other in kept if not _within(other, box)]
            twin = next((other for other in kept if _differing(box, other) is not None), None)
            if twin is None:
                kept.append(box)
                continue
            fact = _differing(box, twin)
            assert fact is not None
            kept.remove(twin)
            kept.append(twin | {fact: box[fact] | twin[fact]})
            merged = True
        boxes = kept
    return boxes


def _within(one: Box, other: Box) -> bool:
    return all(not one.get(fact, _EVERY) & ~mask for fact, mask in other.items())


def _differing(one: Box, other: Box) -> str | None:
    """The only fact in which two boxes differ; None when there are several."""
    if one.keys() != other.keys():
        return None
    facts = [fact for fact in one if one[fact] != other[fact]]
    return facts[0] if len(facts) == 1 else None


def _numeric(fact: str) -> bool:
    return FACTS[fact].type in ("int", "duration")


def _listed(fact: str) -> tuple[Value, ...]:
    declared = FACTS[fact]
    return (False, True) if declared.type == "bool" else declared.values


def _starts(fact: str, literals: set[Value]) -> list[int]:
    """Where the cells of a number begin: a literal is one, and so is what lies between two of them."""
    lowest = FACTS[fact].lowest
    starts = {lowest, *map(int, literals), *(int(one) + 1 for one in literals)}
    return sorted(start for start in starts if lowest <= start <= MAX_INT)
