"""How do results reach a terminal, a pipe or a file?

Results go to standard output, everything said about them to standard error. Colours only on a terminal and never with
NO_COLOR. What people or models wrote is shown without its control characters, which could move the cursor; as JSON they
are escaped. A result that cannot be written is a failure, and said.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from oncemore.engine.errors import OncemoreError
    from oncemore.rules.diagnostics import Diagnostic
    from oncemore.rules.errors import RulesError


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

MOST_FRAMES = 20

LONGEST_TEXT = 1_000_000
"""Bytes of a text that is read from standard input."""

TONES = {"pass": "green", "fail": "red", "unknown": "yellow", "PASS": "green", "FAIL": "red", "ERROR": "magenta"}


def on_terminal() -> bool:
    """Whether the result goes to a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def coloured(*, err: bool = False) -> bool:
    """Whether colours may be used."""
    stream = sys.stderr if err else sys.stdout
    return not os.environ.get("NO_COLOR") and stream is not None and stream.isatty()


def tone(text: str, name: str) -> str:
    """The text in a colour, where colours may be used."""
    return click.style(text, fg=name, bold=True) if coloured() else text


class Unwritten(click.ClickException):
    """The result could not be written where it was to go."""

    exit_code = Exit.USAGE

    def __init__(self, what: str, error: OSError) -> None:
        super().__init__(f"{what} cannot be written: {error.strerror or error}")


def say(text: str = "") -> None:
    """A line of the result.

    Raises:
        Unwritten: standard output does not take it.
        BrokenPipeError: nobody reads it any more.
    """
    try:
        click.echo(_encodable(text, sys.stdout), color=coloured())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritten("standard output", error) from error


def note(text: str) -> None:
    """A line about the result, to standard error; without anybody there to read it the result still counts."""
    with suppress(OSError):
        click.echo(_encodable(text, sys.stderr), err=True, color=coloured(err=True))


def write_file(file: Path, text: str) -> None:
    """A text of a result as a file, in place of what was there, whole or not at all.

    Raises:
        Unwritten: the file cannot be written.
    """
    from oncemore.adapters.cli.replacing import put

    try:
        put(file, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Unwritten(str(file), error) from error


def _encodable(text: str, stream: Any) -> str:
    """The text with escapes for what the stream cannot write, such as the bytes of a file name that is not UTF-8."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def document(value: Any) -> None:
    """The result as JSON."""
    say(escaped(json.dumps(value, ensure_ascii=False, indent=2)))


def escaped(text: str) -> str:
    """A JSON text in which every character that is not seen but acts is an escape; it means the same."""
    from oncemore.rules.diagnostics import acts

    return "".join(json.dumps(char)[1:-1] if char != "\n" and acts(char) else char for char in text)


def diagnostics(found: Iterable[Diagnostic], *, err: bool = False) -> None:
    """Frames of what is wrong, the first ones of many, and how many there are."""
    from oncemore.rules.diagnostics import render

    listed = list(found)
    write = note if err else say
    write(render(listed[:MOST_FRAMES], "pretty", color=coloured(err=err)))
    write("")
    if len(listed) > MOST_FRAMES:
        write(f"the first {MOST_FRAMES} are shown; `oncemore check --format compact` has a line for each")
    write(counted(listed))


def failure(error: OncemoreError | RulesError) -> None:
    """The message of an error of ours with its code; framed where the error knows the places."""
    found = getattr(error, "diagnostics", None)
    if found:
        diagnostics(found, err=True)
        return
    note(plain(f"error[{error.code}] {error}"))


def counted(found: Sequence[Diagnostic]) -> str:
    """Such as `5 errors, 1 warning in 2 files`."""
    errors = sum(one.severity == "error" for one in found)
    files = len({one.file for one in found})
    return f"{many(errors, 'error')}, {many(len(found) - errors, 'warning')} in {many(files, 'file')}"


def utf8(text: str) -> str:
    """An argument that is text.

    Raises:
        UsageError: it holds bytes that are not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise click.UsageError(f"the text is not UTF-8, at character {error.start + 1}") from None
    return text


def given(text: str) -> str:
    """A text that was given as an argument, or by `-` on standard input.

    Raises:
        UsageError: it is not UTF-8, or standard input is closed or holds more than is taken.
    """
    if text != "-":
        return utf8(text)
    raw = from_stdin(LONGEST_TEXT)
    if len(raw) > LONGEST_TEXT:
        raise click.UsageError(f"standard input holds more than {LONGEST_TEXT} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not UTF-8, at byte {error.start + 1}") from None


def from_stdin(limit: int) -> bytes:
    """What standard input holds; of more than `limit` one byte more than that.

    Raises:
        UsageError: it is closed.
    """
    if sys.stdin is None:
        raise click.UsageError("standard input is closed")
    return sys.stdin.buffer.read(limit + 1)


def many(count: int, word: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` when something is near."""
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def did_you_mean_or_list(given: str, known: Sequence[str]) -> str:
    """The same, else `; there is a, b`, for names that are few."""
    return did_you_mean(given, known) or (f"; there is {', '.join(known)}" if known else "")


def plain(text: str) -> str:
    """The text with control characters, and those that turn the direction of writing, shown as replacements."""
    from oncemore.rules.diagnostics import visible

    return visible(text)


def line(text: str) -> str:
    """The same on one line, so that nobody's words can look like a line of ours."""
    return " ".join(plain(text).split())


def lined(value: Any) -> Any:
    """A value of JSON with `line` applied to every text in it."""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, Mapping):
        return {key: lined(part) for key, part in value.items()}
    return [lined(part) for part in value] if isinstance(value, (list, tuple)) else value


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
