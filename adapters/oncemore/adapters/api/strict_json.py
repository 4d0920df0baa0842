"""What does a body say as JSON, when every parser has to read the same in it?

A name that stands twice, a number that is none, half a character: parsers differ on these, and a rule that is judged on
one reading and explained with another decides nothing. What is refused is told with its place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

from oncemore.adapters.errors import Mistake, NotJson

MAX_DEPTH: Final = 32
"""Most arrays and objects inside each other."""

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONGEST_NUMBER = 400


def load(raw: bytes) -> Any:
    """The value of some bytes.

    Raises:
        NotJson: they are not strict JSON; says where.
    """
    try:
        text = raw.decode("utf-8")
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise _refusal(raw) from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise _refusal(raw)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise _refusal(raw) from None
    return value


def pointer(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


class _Twice(ValueError):
    """A name stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        below: list[Any] = []
        for one in level:
            if type(one) is dict:
                below += one.values()
            elif type(one) is list:
                below += one
        if not below:
            return False
        level = [one for one in below if type(one) is dict or type(one) is list]
    return bool(level)


def _refusal(raw: bytes) -> NotJson:
    """What is wrong, looked for once more with its place."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return NotJson(f"byte {error.start + 1} of the body is not UTF-8")
    if text.startswith("\ufeff"):
        return NotJson("the body begins with a byte order mark; leave it out")
    try:
        _Finder(text).look()
    except _Found as found:
        detail = f"{found.args[0]} (line {found.line}, column {found.column})"
        return NotJson(detail, [Mistake(NotJson.code, found.args[0], pointer(found.path))])
    return NotJson("the body is not JSON")


class _Found(Exception):
    def __init__(self, message: str, text: str, at: int, path: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.path = path


class _Finder:
    """Reads a text slowly, and stops at the first thing that is not strict JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._path: list[str | int] = []

    def look(self) -> None:
        at = self._value(self._blank(0))
        if self._blank(at) != len(self._text):
            self._stop("something stands after the value", self._blank(at))

    def _value(self, at: int) -> int:
        head = self._text[at : at + 1]
        if head in ("{", "["):
            if len(self._path) >= MAX_DEPTH:
                self._stop(f"more than {MAX_DEPTH} arrays and objects stand inside each other", at)
            return self._object(at + 1) if head == "{" else self._array(at + 1)
        if head == '"':
            return self._string(at)[1]
        for word in ("true", "false", "null"):
            if self._text.startswith(word, at):
                return at + len(word)
        for word in ("NaN", "Infinity", "-Infinity"):
            if self._text.startswith(word, at):
                self._stop(f"{word} is no number in JSON", at)
        number = _NUMBER.match(self._text, at)
        if number is None:
            self._stop("a value is wanted here" if head else "the body ends where a value is wanted", at)
        if len(number[0]) > _LONGEST_NUMBER or not math.isfinite(float(number[0])):
            self._stop("the number is too large", at)
        return number.end()

    def _object(self, at: int) -> int:
        seen: set[str] = set()
        at = self._blank(at)
        if self._text[at : at + 1] == "}":
            return at + 1
        while True:
            if self._text[at : at + 1] != '"':
                self._stop("a name in double quotes is wanted here", at)
            name, end = self._string(at)
            self._path.append(name)
            if name in seen:
                self._stop("this name stands twice", at)
            seen.add(name)
            end = self._blank(end)
            if self._text[end : end + 1] != ":":
                self._stop("a colon is wanted after a name", end)
            at = self._blank(self._value(self._blank(end + 1)))
            self._path.pop()
            ending = self._text[at : at + 1]
            if ending == "}":
                return at + 1
            if ending != ",":
                self._stop("a comma or } is wanted here", at)
            at = self._blank(at + 1)

    def _array(self, at: int) -> int:
        at = self._blank(at)
        if self._text[at : at + 1] == "]":
            return at + 1
        index = 0
        while True:
            self._path.append(index)
            at = self._blank(self._value(at))
            self._path.pop()
            ending = self._text[at : at + 1]
            if ending == "]":
                return at + 1
            if ending != ",":
                self._stop("a comma or ] is wanted here", at)
            at = self._blank(at + 1)
            index += 1

    def _string(self, at: int) -> tuple[str, int]:
        try:
            found, end = scanstring(self._text, at + 1, True)
        except json.JSONDecodeError as error:
            self._stop("the text in quotes is not one of JSON", error.pos)
        try:
            found.encode("utf-8")
        except UnicodeEncodeError:
            self._stop("a text holds half of a pair of surrogates", at)
        return found, end

    def _blank(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        assert found is not None
        return found.end()

    def _stop(self, message: str, at: int) -> NoReturn:
        raise _Found(message, self._text, at, tuple(self._path))
