"""What is wrong, where exactly, and how is it shown to a person or a machine?"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning"]
Format: TypeAlias = Literal["pretty", "compact", "json"]

LONGEST, BEFORE = 120, 60
"""Columns of a line that a frame shows of it, and of these at most before the place."""

KEPT = 400
"""Characters that a diagnostic keeps of a line."""

LONGEST_MESSAGE = 240

_DOTS = "..."


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to mend.

    Attributes:
        code: has a page of its own, `docs/errors/CODE.md`.
        line, column: of the first character, from 1, in code points.
        end_column: one past the last character on that line.
        yaml_path: where in the document, such as `$.gates[2].require`; empty when that says nothing.
        source_line: the line as it stands in the file; of a long one a part with the place.
        help: what to do, possibly several lines.
        case: a facts file that shows what the message says; `decide` gives the same answer on it.
        left_out, left_out_units: characters of the line before that part, and as many in UTF-16 code units.
    """

    code: str
    severity: Severity
    message: str
    file: str
    line: int = 1
    column: int = 1
    end_column: int = 2
    yaml_path: str = ""
    source_line: str = ""
    help: str | None = None
    case: str | None = None
    left_out: int = 0
    left_out_units: int = 0

    def compact(self) -> str:
        """One line that editors understand."""
        return f"{_shown(self.file)}:{self.line}:{self.column}: {self.severity}[{self.code}] {_shown(self.message)}"

    def pretty(self, *, color: bool = False) -> str:
        """The message with its line framed and the place underlined."""
        paint = _paint if color else _plain
        tone = "31;1" if self.severity == "error" else "33;1"
        number = str(self.line)
        gutter = " " * len(number)
        place = f"{_shown(self.file)}:{self.line}:{self.column}" + (
            f"   {_shown(self.yaml_path)}" if self.yaml_path else ""
        )
        lines = [
            f"{paint(f'{self.severity}[{self.code}]', tone)} {paint(_shown(self.message), '1')}",
            f"{gutter}{paint('-->', '34')} {place}",
        ]
        if self.source_line:
            line, before, marked = self._underlined()
            lines += [
                f"{gutter} {paint('|', '34')}",
                f"{paint(f'{number} |', '34')} {_shown(line)}",
                f"{gutter} {paint('|', '34')} {before}{paint(marked, tone)}",
            ]
        if self.help:
            first, *rest = visible(self.help).splitlines()
            lines.append(f"{gutter} = help: {first}")
            lines += [f"{gutter}         {line}" for line in rest]
        if self.case:
            lines.append(f"{gutter} = case: as a file for `oncemore decide --facts`")
            lines += [f"{gutter}         {line}" for line in visible(self.case).splitlines()]
        return "\n".join(lines)

    def as_json(self) -> dict[str, str | int | None]:
        """The same as a JSON object."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_column": self.end_column,
            "path": self.yaml_path or None,
            "help": self.help,
            "case": self.case,
        }

    def _underlined(self) -> tuple[str, str, str]:
        """The line or the part of it that is shown, what stands under it up to the place, and the carets."""
        first, last = self.column - 1 - self.left_out, self.end_column - 1 - self.left_out
        before, rest = self.source_line[:first], self.source_line[first:]
        if self.left_out or width(before + rest) > LONGEST:
            before = _from_the_end(before, BEFORE, cut=self.left_out > 0)
            rest = _from_the_start(rest, LONGEST - width(before))
        marked = rest[: max(0, last - first)]
        pad = "".join(char if char == "\t" else " " * width(char) for char in before)
        return before + rest, pad, "^" * max(1, width(marked.rstrip()))


def render(diagnostics: Iterable[Diagnostic], format: Format = "pretty", *, color: bool = False) -> str:
    """All of them in one text, in the order given; empty when there is none, but `[]` as JSON."""
    if format == "json":
        return json.dumps([one.as_json() for one in diagnostics], ensure_ascii=False, indent=2)
    if format == "compact":
        return "\n".join(one.compact() for one in diagnostics)
    return "\n\n".join(one.pretty(color=color) for one in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By file and place, each once."""
    return sorted(set(diagnostics), key=lambda one: (one.file, one.line, one.column, one.code, one.message))


def shortened(text: str) -> str:
    """A message in which something long was repeated, without the middle."""
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 100]}{_DOTS}{text[-80:]}"


def named(char: str) -> str:
    """A character that may not be seen, by its code and its name in Unicode."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()


def width(text: str) -> int:
    """How many columns of a terminal a text takes; wide East Asian characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(char) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def visible(text: str, kept: str = "\t\n") -> str:
    """The text with a replacement for each character that is not seen but acts, such as on the cursor or the direction.

    Args:
        kept: control characters that may stay.
    """
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if char not in kept and acts(char) else char for char in text)


def acts(char: str) -> bool:
    """Whether a character is a control, a format character, a lone surrogate or a break of lines or paragraphs."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _from_the_end(text: str, room: int, *, cut: bool) -> str:
    """As much of the end of a text as there is room for, with dots for what is left out."""
    if not cut and width(text) <= room:
        return text
    while width(text) > room - len(_DOTS):
        text = text[1:]
    return _DOTS + text


def _from_the_start(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    while width(text) > room - len(_DOTS):
        text = text[:-1]
    return text + _DOTS


def _shown(line: str) -> str:
    return visible(line, "\t")


def _paint(text: str, tone: str) -> str:
    return f"\x1b[{tone}m{text}\x1b[0m"


def _plain(text: str, _tone: str) -> str:
    return text
