"""How do results reach a terminal, a pipe or a file?

Results go to standard output, everything said about them to standard error. Colours only on a terminal and never with
NO_COLOR. What people or models wrote is shown without its control characters, which could move the cursor.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from oncemore.rules.diagnostics import Diagnostic


class Exit(IntEnum):
    """How the program ends; the same in every command."""

    YES = 0
    NO = 1
    USAGE = 2
    NOT_LOADED = 3
    UNDECIDED = 4
    NOTHING_RAN = 5
    BUG = 70


FORMATS = ("pretty", "json")

TONES = {"pass": "green", "fail": "red", "unknown": "yellow", "PASS": "green", "FAIL": "red", "ERROR": "magenta"}


def coloured(*, err: bool = False) -> bool:
    """Whether colours may be used."""
    return not os.environ.get("NO_COLOR") and (sys.stderr if err else sys.stdout).isatty()


def tone(text: str, name: str) -> str:
    """The text in a colour, where colours may be used."""
    return click.style(text, fg=name, bold=True) if coloured() else text


def say(text: str = "") -> None:
    """A line of the result."""
    click.echo(text, color=coloured())


def note(text: str) -> None:
    """A line about the result, to standard error."""
    click.echo(text, err=True, color=coloured(err=True))


def document(value: Any) -> None:
    """The result as JSON."""
    say(json.dumps(value, ensure_ascii=False, indent=2))


def diagnostics(found: Iterable[Diagnostic], *, err: bool = False) -> None:
    """Frames of what is wrong, and how many there are."""
    from oncemore.rules.diagnostics import render

    listed = list(found)
    write = note if err else say
    write(render(listed, "pretty", color=coloured(err=err)))
    write("")
    write(counted(listed))


def counted(found: Sequence[Diagnostic]) -> str:
    """Such as `5 errors, 1 warning in 2 files`."""
    errors = sum(one.severity == "error" for one in found)
    files = len({one.file for one in found})
    return f"{many(errors, 'error')}, {many(len(found) - errors, 'warning')} in {many(files, 'file')}"


def many(count: int, word: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` when something is near."""
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def plain(text: str) -> str:
    """The text with control characters, and those that turn the direction of writing, shown as replacements."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


def quoted(text: str, indent: str) -> str:
    """Somebody's words as a quotation, line by line, so that they cannot be taken for ours."""
    return "\n".join(f"{indent}> {line}" for line in plain(text).splitlines() or [""])


def wrapped(text: str, columns: int) -> list[str]:
    """A text in lines of at most so many columns; a word that is longer stands alone."""
    import textwrap

    return textwrap.wrap(text, max(20, columns), break_long_words=False, break_on_hyphens=False) or [""]


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their cells one under the other; the last cell runs on."""
    from oncemore.rules.diagnostics import width

    if not rows:
        return ""
    widths = [max(width(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)
