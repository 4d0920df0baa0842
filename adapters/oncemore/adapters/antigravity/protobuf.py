"""How are the few fields that the harness needs written and read without a protobuf library?

Only lengths, texts and whole numbers; a field of another wire type is passed over, and a message that is cut or none at
all is an error, never a shorter message.
"""

from __future__ import annotations

from collections.abc import Iterator

_FIXED = {1: 8, 5: 4}


def number(value: int) -> bytes:
    """A whole number as the wire has it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(field: int, value: str) -> bytes:
    """A text field."""
    data = value.encode()
    return number(field << 3 | 2) + number(len(data)) + data


class Message:
    """The fields of a message, by their numbers.

    Raises:
        ValueError: it is none.
    """

    def __init__(self, data: bytes) -> None:
        self._numbers: dict[int, list[int]] = {}
        self._parts: dict[int, list[bytes]] = {}
        for field, value in _fields(data):
            if isinstance(value, int):
                self._numbers.setdefault(field, []).append(value)
            elif value is not None:
                self._parts.setdefault(field, []).append(value)

    def number(self, field: int) -> int:
        """A whole number; zero where it is absent."""
        return self._numbers.get(field, [0])[-1]

    def has(self, field: int) -> bool:
        """Whether the field is there."""
        return field in self._numbers or field in self._parts

    def text(self, field: int) -> str:
        """A text; empty where it is absent. Raises ValueError when it is none."""
        return self._parts.get(field, [b""])[-1].decode()

    def message(self, field: int) -> Message:
        """The message in a field; an empty one where it is absent. Raises ValueError when it is none."""
        return Message(self._parts.get(field, [b""])[-1])

    def messages(self, field: int) -> list[Message]:
        """The messages of a repeated field. Raises ValueError when one is none."""
        return [Message(part) for part in self._parts.get(field, [])]


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes | None]]:
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        field, wire = key >> 3, key & 7
        if field == 0:
            raise ValueError("a field without a number")
        if wire == 0:
            value, at = _number(data, at)
            yield field, value
            continue
        if wire == 2:
            length, at = _number(data, at)
        elif wire in _FIXED:
            length = _FIXED[wire]
        else:
            raise ValueError(f"wire type {wire}")
        if at + length > len(data):
            raise ValueError("a cut message")
        yield field, data[at : at + length] if wire == 2 else None
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a cut number")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if not byte & 128:
            return value, at
