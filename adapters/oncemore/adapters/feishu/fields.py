"""How is a field taken from JSON that somebody else wrote? By name and type, or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WHOLE = re.compile(r"[0-9]{1,18}\Z")


class Malformed(ValueError):
    """The JSON is not what its documentation says; the text names the place and no value."""


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise Malformed(f"{where} is not an object")
    return value


def listing(value: Any, where: str) -> list[Any]:
    """A list; one that was left out is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{where} is not a list")
    return value


def text(holder: Mapping[str, Any], name: str) -> str:
    """A text that is there and not empty."""
    value = holder.get(name)
    if not isinstance(value, str) or not value:
        raise Malformed(f"{name} is not a text")
    return value


def optional(holder: Mapping[str, Any], name: str) -> str | None:
    """A text, or None where it is left out or empty, as Lark writes what does not apply."""
    return None if holder.get(name) in (None, "") else text(holder, name)


def flag(holder: Mapping[str, Any], name: str) -> bool:
    """A truth value that is there."""
    value = holder.get(name)
    if not isinstance(value, bool):
        raise Malformed(f"{name} is not true or false")
    return value


def moment(holder: Mapping[str, Any], name: str) -> int:
    """Milliseconds since the epoch, which Lark writes as a text of digits."""
    value = holder.get(name)
    if not isinstance(value, str) or not _WHOLE.match(value):
        raise Malformed(f"{name} is not a time in milliseconds")
    return int(value)
