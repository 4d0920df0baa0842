"""May this caller ask once more? A bucket of tokens for each, that fills with time."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

KEPT = 10_000
"""Callers that are known at a time; of more, those are forgotten that were not seen for longest."""


class Buckets:
    """One bucket for each name; a new one is full.

    Args:
        rate: tokens that come in a second.
        size: tokens that a bucket holds.
        clock: seconds, never backwards.
    """

    def __init__(self, rate: float, size: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._size = size
        self._clock = clock
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> int | None:
        """Take a token; None, or after how many seconds there is one again."""
        now = self._clock()
        level = min(self._size, self._level(name, now))
        if level < 1:
            return self._seconds(level)
        self._filled[name] = (level - 1, now)
        self._filled.move_to_end(name)
        if len(self._filled) > KEPT:
            self._filled.popitem(last=False)
        return None

    def _level(self, name: str, now: float) -> float:
        known = self._filled.get(name)
        return self._size if known is None else known[0] + (now - known[1]) * self._rate

    def _seconds(self, level: float) -> int:
        return max(1, math.ceil((1 - level) / self._rate))
