"""How is a case that was found written down, so that `decide` can be asked about it?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from oncemore.rules.case import Value
from oncemore.rules.durations import format_ms
from oncemore.rules.vocabulary import FACTS

Values = Mapping[str, Value | None]
"""Values by fact; what is None, and every fact that is not named, is missing."""

_COLUMNS = 100


def facts_text(values: Values) -> str:
    """A facts file that states these values, in the order of the vocabulary."""
    known = [(fact, value) for fact in FACTS if (value := values.get(fact)) is not None]
    first, *rest = flow(f"{fact}: {said(fact, value)}" for fact, value in known)
    return "\n".join([f"facts: {first}", *(f"  {line}" for line in rest)])


def said(fact: str, value: Value) -> str:
    """A value as it is written in a facts file."""
    if isinstance(value, bool):
        return json.dumps(value)
    return format_ms(value) if FACTS[fact].type == "duration" and isinstance(value, int) else str(value)


def flow(parts: Iterable[str]) -> list[str]:
    """A mapping in braces, of entries that are written already, on as many lines as it needs."""
    lines, line = [], "{"
    for part in parts:
        if len(line) + len(part) > _COLUMNS and line not in ("{", ""):
            lines.append(line)
            line = ""
        line += f"{part}," if line in ("{", "") else f" {part},"
    return [*lines, f"{line.removesuffix(',')}}}"]
