"""How is a span of time written?

As in CEL, whole numbers with `h`, `m`, `s` or `ms`, several joined: `1h30m`, `500ms`. No fractions, no sign: a span
here is whole milliseconds and never negative.
"""

from __future__ import annotations

import re

MAX_MS = 2**53 - 1
"""Some 285,000 years: records are JSON, whose numbers are exact up to here."""

_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_WHOLE = re.compile(r"(?:[0-9]{1,19}(?:ms|h|m|s))+")
_PART = re.compile(r"([0-9]+)(ms|h|m|s)")


def parse(text: str) -> int:
    """Milliseconds of a written span.

    Raises:
        ValueError: it is not written so, or is longer than `MAX_MS`.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(
            f'"{text}" is not a duration; write whole numbers with h, m, s or ms, such as "90s" or "1h30m"'
        )
    total = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if total > MAX_MS:
        raise ValueError(f'"{text}" is too long; a duration has at most {MAX_MS} ms')
    return total


def with_units(number: int) -> str:
    """How a bare number may have been meant as a span of time."""
    return f"{number}s, {number}m or {number}h"


def format_ms(ms: int) -> str:
    """The shortest way to write a span of whole milliseconds with each unit at most once, largest first.

    Raises:
        ValueError: it is negative.
    """
    if ms < 0:
        raise ValueError("a duration is never negative")
    written = ""
    for unit, size in _UNITS.items():
        count, ms = divmod(ms, size)
        if count:
            written += f"{count}{unit}"
    return written or "0s"
