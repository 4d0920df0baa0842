"""How is a text, a number or a truth value written in its one form?

Plain where every YAML reads the same back, those of version 1.1 included, else in double quotes, or, where these would
need escapes, in single ones. A long sentence is folded, a text of several lines stands as a block.
"""

from __future__ import annotations

import yaml

from oncemore.rules.composing import core
from oncemore.rules.diagnostics import width

WIDTH = 120
"""Columns of a line. Comments beside it do not count, nor what cannot be broken."""

FOLDED = ">-"
"""Begins a text that stands below, its lines joined by blanks."""

_INDICATORS = "-?:,[]{}#&*!|>'\"%@`"
_FLOW = ",[]{}?"


def scalar(value: object, *, flow: bool = False) -> str:
    """A value on one line.

    Args:
        flow: it stands in braces or brackets.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    return text if _plain(text, flow) and _is_text(text) else quoted(text)


def condition_scalar(line: str) -> str:
    """A condition on one line; in single quotes where it needs some, since its texts stand in double ones."""
    return line if _plain(line, False) else _in_single_quotes(line)


def key(name: str, *, flow: bool = False) -> str:
    """A key; every plain one is text."""
    return name if _plain(name, flow) and name != "<<" else quoted(name)


def quoted(text: str) -> str:
    """A text in quotes."""
    breaks = "\n" in text or "\t" in text
    if ('"' in text or "\\" in text) and not breaks:
        return _in_single_quotes(text)
    for char, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(char, escape)
    return f'"{text}"'


def text_lines(text: str, beside: int, below: int) -> list[str]:
    """A text as what stands behind its key and, not indented, the lines below that.

    Args:
        beside, below: columns that there are behind the key and on the lines below.
    """
    if "\n" in text:
        return _literal(text) or [quoted(text)]
    line = scalar(text)
    return _folded(line, text, below) if width(line) > beside else [line]


def _folded(line: str, text: str, below: int) -> list[str]:
    """The text folded where that can be undone and is shorter, else the line."""
    words = text.split(" ")
    if not all(words) or "\t" in text:
        return [line]
    lines = [words[0]]
    for word in words[1:]:
        if width(lines[-1]) + 1 + width(word) <= below:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [FOLDED, *lines] if len(lines) > 1 or width(lines[0]) <= below else [line]


def _literal(text: str) -> list[str] | None:
    """A text of several lines as a block; None when its blanks would be lost or not be seen."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    if not lines[0] or not lines[-1] or any(line != line.rstrip() or line.startswith("\t") for line in lines):
        return None
    return None if lines[0].startswith(" ") else ["|" if text.endswith("\n") else "|-", *lines]


def _in_single_quotes(line: str) -> str:
    return "'" + line.replace("'", "''") + "'"


def _is_text(plain: str) -> bool:
    """Whether YAML takes a plain scalar for text; YAML 1.1 takes `no`, `12:30` and dates for something else."""
    old = yaml.SafeLoader.yaml_implicit_resolvers.get(plain[0], [])
    return isinstance(core(plain), str) and not any(form.match(plain) for _, form in old)


def _plain(text: str, flow: bool) -> bool:
    """Whether a text without quotes reads back as itself."""
    if not text or text != text.strip() or "\n" in text or "\t" in text:
        return False
    if text[0] in _INDICATORS or text.startswith("...") or text.endswith(":"):
        return False
    return ": " not in text and " #" not in text and not (flow and any(char in _FLOW for char in text))
