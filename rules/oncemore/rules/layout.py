"""How is a rule file laid out in its one form?

A key a line, two columns further in than what it is a part of, in the order of `files`. A test's facts and expectations
stand in braces on one line where they fit and hold no comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import BaseModel

from oncemore.rules.canonical_condition import condition_line, condition_lines
from oncemore.rules.canonical_scalar import FOLDED, WIDTH, condition_scalar, key, scalar, text_lines
from oncemore.rules.comments import BLANK, Body, Entry
from oncemore.rules.diagnostics import width
from oncemore.rules.files import PARTS, GroupFile, PolicyFile, TestsEntry

Kind: TypeAlias = Literal["policy", "group", "tests", "levels"]

_MODELS: dict[Kind, type[BaseModel]] = {"policy": PolicyFile, "group": GroupFile, "tests": TestsEntry}

_ON_ONE_LINE = frozenset({"facts", "missing", "stale", "conflict", "expect", "blocked_by", "unknown"})

CONDITIONS = frozenset({"when", "require"})
"""Keys of policies and groups whose text is a condition."""

_STEP = "  "
_DASH = "- "

_LONGEST_KEY = 1_000
"""Characters of a key that YAML finds by the colon behind it; a longer one is announced by `?`."""


def laid_out(root: Entry, kind: Kind) -> str:
    """The text of a file in its one form."""
    assert root.body is not None
    layout = _Layout(kind)
    layout.comments(root.before, 0)
    layout.write(root.body, 0)
    lines = layout.lines if root.body.entries else [*layout.lines, "{}"]
    while not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def in_order(body: Body, kind: Kind) -> list[Entry]:
    """The entries of a body in the order in which they are written."""
    owner = body.owner
    if owner.within is None:
        model = _MODELS.get(kind)
    else:
        named = owner.key if owner.key is not None else owner.within.owner.key
        model = PARTS.get(str(named)) if kind != "levels" else None
    if model is None or not body.mapping:
        return list(body.entries)
    known = list(model.model_fields)
    return sorted(body.entries, key=lambda entry: known.index(str(entry.key)) if entry.key in known else len(known))


class _Layout:
    """Writes a file line by line.

    Attributes:
        lines: what was written. Only among comments a blank line is the last one.
        opened: nothing was written yet of the file, or of the body that began last.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.lines: list[str] = []
        self.opened = True

    def write(self, body: Body, indent: int, *, dash: Sequence[str] | None = None) -> None:
        """The entries of a body, each on lines of its own, and the comments behind the last one.

        Args:
            dash: of the body of a list's element, whose first key stands behind the dash: the comments above it.
        """
        for index, entry in enumerate(in_order(body, self.kind)):
            above, column, lead = _above(entry), indent, " " * indent
            if index == 0 and dash is not None:
                above, column, lead = [*dash, *above], indent - len(_DASH), " " * (indent - len(_DASH)) + _DASH
            if entry.key is None and entry.body is not None and entry.body.mapping and entry.body.entries:
                self.write(entry.body, indent + len(_DASH), dash=[*above, *_behind(entry)])
                continue
            self.comments(above, column)
            self._entry(entry, lead if body.mapping else lead + _DASH)
        self.comments(body.after, indent)

    def comments(self, lines: Sequence[str], indent: int) -> None:
        """Comment lines; of several blank ones together one, and none where the file or a part of it begins."""
        for line in lines:
            if line:
                self._add(" " * indent + line)
            elif not self.opened and self.lines[-1]:
                self._add(BLANK)

    def _add(self, *lines: str) -> None:
        self.lines += lines
        self.opened = False

    def _entry(self, entry: Entry, lead: str) -> None:
        """A key with its value, or an element that is no mapping, behind what its line begins with."""
        head = lead + (f"{key(entry.key)}:" if entry.key is not None else "")
        if len(head) > _LONGEST_KEY:
            self._add(f"{lead}? {head.strip()[:-1]}")
            head = f"{lead}:"
        behind = "".join(f"  {comment}" for comment in _behind(entry))
        blank = " " if entry.key is not None else ""
        below = len(lead) + (len(_STEP) if entry.key is not None else 0)
        if entry.body is not None:
            line = self._one_line(entry) if entry.key in _ON_ONE_LINE or not entry.body.entries else None
            if line is not None and (not entry.body.entries or width(f"{head}{blank}{line}") <= WIDTH):
                self._add(f"{head}{blank}{line}{behind}")
            else:
                self._add(head + behind)
                self.opened = True
                self.write(entry.body, below)
            return
        first, *rest = self._value(entry, WIDTH - width(head + blank), WIDTH - below)
        self._add(f"{head}{blank}{first}{behind}", *(" " * below + line if line else line for line in rest))

    def _value(self, entry: Entry, beside: int, below: int) -> list[str]:
        value = entry.node.value
        if not isinstance(value, str):
            return [scalar(value)]
        if self.kind not in ("policy", "group") or entry.key not in CONDITIONS:
            return text_lines(value, beside, below)
        line = condition_scalar(condition_line(value))
        if width(line) <= beside:
            return [line]
        lines = condition_lines(value, below)
        return [FOLDED, *lines] if len(lines) > 1 or width(lines[0]) <= below else [line]

    def _one_line(self, entry: Entry) -> str | None:
        """A value in braces or brackets; None when a comment stands in it."""
        body = entry.body
        if body is None:
            return scalar(entry.node.value, flow=True)
        if body.commented:
            return None
        parts = [
            (f"{key(part.key, flow=True)}: " if part.key is not None else "") + str(self._one_line(part))
            for part in in_order(body, self.kind)
        ]
        return ("{%s}" if body.mapping else "[%s]") % ", ".join(parts)


def _above(entry: Entry) -> list[str]:
    """The comments above an entry: of several behind it none can stay there."""
    return [*entry.before, *(entry.beside if len(entry.beside) > 1 else ())]


def _behind(entry: Entry) -> list[str]:
    return entry.beside if len(entry.beside) == 1 else []
