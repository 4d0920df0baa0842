"""How is a condition written in its one form?

One blank between words, none inside parentheses and brackets or after `!`, texts in double quotes. A condition that is
too long for its line is broken before `&&` and `||`, the outermost first; a comparison is never broken. Parentheses
stay as they are: some help nobody but the reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from oncemore.rules.diagnostics import width
from oncemore.rules.parsing import tokens

if TYPE_CHECKING:
    from lark import Token

_STEP = "  "

_TIGHT_AFTER = frozenset({"DOT", "OPEN", "LEFT", "NOT", "DURATION"})
_TIGHT_BEFORE = frozenset({"DOT", "CLOSE", "RIGHT", "COMMA"})


@dataclass(frozen=True, slots=True)
class _Words:
    """A comparison, on one line."""

    text: str


@dataclass(frozen=True, slots=True)
class _Group:
    """What stands in parentheses, and the `!` before them."""

    bangs: str
    inner: _Part


@dataclass(frozen=True, slots=True)
class _Joined:
    """Two or more parts with `&&` or `||` between them."""

    sign: str
    parts: tuple[_Part, ...]


_Part: TypeAlias = _Words | _Group | _Joined


def condition_lines(text: str, room: int) -> list[str]:
    """The lines of a condition that can be read.

    Args:
        room: columns that a line may have; one comparison may be longer.
    """
    return _broken(_read(text), room)


def condition_line(text: str) -> str:
    """The same condition on one line."""
    return _line(_read(text))


def _read(text: str) -> _Part:
    return _Reader(tokens(text)).joined("OR")


class _Reader:
    """Takes the words of a condition apart where a line may be broken. That they fit together has been seen before."""

    def __init__(self, words: Sequence[Token]) -> None:
        self.words = words
        self.at = 0

    def joined(self, sign: str) -> _Part:
        inner = self.unit if sign == "AND" else lambda: self.joined("AND")
        parts = [inner()]
        while self._next() == sign:
            self.at += 1
            parts.append(inner())
        return parts[0] if len(parts) == 1 else _Joined("&&" if sign == "AND" else "||", tuple(parts))

    def unit(self) -> _Part:
        start = self.at
        while self._next() == "NOT":
            self.at += 1
        if self._next() != "OPEN":
            return self._words(start)
        bangs = "!" * (self.at - start)
        self.at += 1
        inner = self.joined("OR")
        self.at += 1  # the closing parenthesis
        return _Group(bangs, inner)

    def _words(self, start: int) -> _Words:
        depth = 0
        while (kind := self._next()) is not None:
            depth += (kind == "OPEN") - (kind == "CLOSE")
            if depth < 0 or kind in ("AND", "OR"):
                break
            self.at += 1
        return _Words("".join(_spaced(self.words[start : self.at])))

    def _next(self) -> str | None:
        return self.words[self.at].type if self.at < len(self.words) else None


def _spaced(words: Sequence[Token]) -> Iterator[str]:
    before = None
    for word in words:
        if before is not None and before not in _TIGHT_AFTER and word.type not in _TIGHT_BEFORE:
            yield " "
        yield _quoted(word) if word.type == "STRING" else str(word)
        before = word.type


def _quoted(word: Token) -> str:
    """A text in double quotes, with as few escapes as it can do with."""
    from oncemore.rules.building import unquoted

    text = unquoted(word)
    for char, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(char, escape)
    return f'"{text}"'


def _line(part: _Part) -> str:
    if isinstance(part, _Words):
        return part.text
    if isinstance(part, _Group):
        return f"{part.bangs}({_line(part.inner)})"
    return f" {part.sign} ".join(_line(one) for one in part.parts)


def _broken(part: _Part, room: int) -> list[str]:
    line = _line(part)
    if isinstance(part, _Words) or width(line) <= room:
        return [line]
    if isinstance(part, _Group):
        inner = _broken(part.inner, room - len(_STEP))
        return [f"{part.bangs}(", *(_STEP + one for one in inner), ")"]
    lines: list[str] = []
    for index, one in enumerate(part.parts):
        lead = f"{part.sign} " if index else ""
        beside = room - len(lead)
        if isinstance(one, _Joined) and width(_line(one)) > beside:
            # What belongs together more closely than its surroundings stands further in.
            first, *rest = _broken(one, beside - len(_STEP))
            rest = [_STEP + line for line in rest]
        else:
            first, *rest = _broken(one, beside)
        lines += [lead + first, *(" " * len(lead) + line for line in rest)]
    return lines
