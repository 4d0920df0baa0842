"""What are the one and only bytes of a JSON value?

RFC 8785, for what records are made of: objects, arrays, texts, whole numbers, booleans and null. Members are sorted by
UTF-16 code units, texts escaped as little as JSON allows, numbers written plainly.
"""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring
from typing import Any

quoted = encode_basestring
"""A text as a JSON string."""

MAX_SAFE = 2**53 - 1
"""Beyond this, RFC 8785 has no exact number; write such an integer as text."""


def canonical(value: Any) -> bytes:
    """The canonical bytes of a value.

    Raises:
        ValueError: it holds something else than the types above, an integer beyond `MAX_SAFE`, or a lone surrogate.
    """
    return text(value).encode("utf-8")


def text(value: Any) -> str:
    """As `canonical`, before encoding."""
    kind = type(value)
    if kind is str:
        return quoted(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        if not -MAX_SAFE <= value <= MAX_SAFE:
            raise ValueError(f"{value} is no exact number in JSON")
        return str(value)
    if kind is dict:
        keys = sorted(value) if all(map(str.isascii, value)) else sorted(value, key=_code_units)
        return "{" + ",".join([f"{quoted(key)}:{text(value[key])}" for key in keys]) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([text(item) for item in value]) + "]"
    if isinstance(value, str):
        return quoted(str(value))
    raise ValueError(f"a record holds no {kind.__name__}")


def digest(data: bytes) -> str:
    """`sha256:` and the SHA-256 of some bytes, as records name them."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _code_units(key: str) -> bytes:
    return key.encode("utf-16-be")
