"""Which comments does a file hold, and what does each of them belong to?

A comment on a line of its own belongs to what follows; when it is indented further than that, to the end of what went
before. One behind something belongs to that. Blank lines that part entries or comments are kept with what follows
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from oncemore.rules import scalars
from oncemore.rules.source import Document, Node

BLANK = ""
"""A blank line among comments."""

_MODELINE = re.compile(r"#\s*yaml-language-server:")
_COMMENT = re.compile(r"#[^\n]*")
_DASH = re.compile(r"#[^\n]*|(-)")


@dataclass(eq=False)
class Entry:
    """A key with its value, an element of a list, or, with neither key nor owner, the whole document.

    Attributes:
        start: where it begins, at its key or its dash.
        before: comment lines above it, and blank ones.
        beside: comments behind its key or value.
        within: the body that it is a part of.
        body: its own parts, when its value is no scalar.
    """

    key: str | None
    node: Node
    start: int
    within: Body | None = None
    before: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    body: Body | None = None

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it stands in the document."""
        if self.within is None:
            return ()
        place = self.key if self.key is not None else self.within.entries.index(self)
        return (*self.within.owner.path, place)


@dataclass(eq=False)
class Body:
    """The parts of a mapping or a list, in the order of the file.

    Attributes:
        column: where its entries begin, from 0; of a flow body it says nothing.
        after: comment lines behind the last entry, and blank ones.
    """

    owner: Entry
    mapping: bool
    flow: bool
    entries: list[Entry] = field(default_factory=list)
    column: int = 0
    after: list[str] = field(default_factory=list)

    @property
    def commented(self) -> bool:
        """Whether a comment stands anywhere inside."""
        return any(self.after) or any(
            any(entry.before) or entry.beside or (entry.body is not None and entry.body.commented)
            for entry in self.entries
        )


_Kind: TypeAlias = Literal["key", "dash", "open", "close", "leaf", "end"]


@dataclass(frozen=True, slots=True)
class _Word:
    """A stretch of the file that is no comment, and what it is a part of."""

    start: int
    end: int
    kind: _Kind
    entry: Entry


def with_comments(document: Document) -> Entry:
    """The document's tree with every comment in its place. The document must have been taken without an error."""
    assert document.root is not None
    root = Entry(None, document.root, document.root.place.start)
    words = list(_words(document, root))
    words.append(_Word(len(document.text), len(document.text), "end", root))
    before: _Word | None = None
    for word in words:
        _attach(document, before, word)
        before = word
    _part_header(root)
    return root


def _words(document: Document, entry: Entry) -> Iterator[_Word]:
    """The words of a value, and of everything in it, in the order of the file."""
    node, text = entry.node, document.text
    start, end = node.place.start, node.place.end
    if node.children is None:
        yield from _scalar(document, entry)
        return
    flow = text[start : start + 1] in ("{", "[") and text[end - 1 : end] in ("}", "]")
    body = entry.body = Body(entry, isinstance(node.children, dict), flow)
    if flow:
        yield _Word(start, start + 1, "open", entry)
    at = entry.start if entry.key is None else _key_end(entry)
    parts = node.children.items() if isinstance(node.children, dict) else ((None, child) for child in node.children)
    for key, child in parts:
        if key is not None:
            place = node.keys[key]
            part = Entry(key, child, place.start, body)
            yield _Word(place.start, place.end, "key", part)
        elif flow:
            part = Entry(None, child, child.place.start, body)
        else:
            dash = _dash(text, at, child.place.start)
            part = Entry(None, child, dash, body)
            yield _Word(dash, dash + 1, "dash", part)
            at = dash + 1
        body.entries.append(part)
        for word in _words(document, part):
            at = word.end
            yield word
    if body.entries:
        body.column = document.position(body.entries[0].start)[1] - 1
    if flow:
        yield _Word(end - 1, end, "close", entry)


def _key_end(entry: Entry) -> int:
    assert entry.within is not None
    return entry.within.owner.node.keys[str(entry.key)].end


def _scalar(document: Document, entry: Entry) -> Iterator[_Word]:
    node = entry.node
    start, end = node.place.start, node.place.end
    if node.style not in ("|", ">"):
        if end > start:
            yield _Word(start, end, "leaf", entry)
        return
    # A comment may stand behind the header of a block; its place ends where the next thing begins.
    yield _Word(start, start + 1, "leaf", entry)
    places = scalars.offsets(document.text, start, end, node.style, str(node.value))
    assert places, "the parser gave this value"
    if node.value:
        # Its last line break is left to what follows, as that of any other line.
        last = places[-1]
        yield _Word(places[0], last - (document.text[last - 1] in "\r\n"), "leaf", entry)


def _dash(text: str, at: int, end: int) -> int:
    """Where the dash of a list's element stands; before it there are but comments."""
    found = [one.start(1) for one in _DASH.finditer(text, at, end) if one[1]]
    return found[-1]


def _attach(document: Document, before: _Word | None, after: _Word) -> None:
    """Give the comments and blank lines between two words to one of them, or to a body that ended between them."""
    offset = before.end if before is not None else 0
    closed = None if before is None else before.entry.within
    above: list[str] = []
    lines = document.text[offset : after.start].split("\n")
    for index, line in enumerate(lines):
        found = _COMMENT.search(line)
        if found is None:
            if (index > 0 or before is None) and index < len(lines) - 1 and not line.strip():
                above.append(BLANK)
        elif index == 0 and before is not None:
            _beside(before).append(found[0].rstrip())
        else:
            column = document.position(offset + found.start())[1] - 1
            closed = _closed(closed, after, column)
            if closed is not None:
                closed.after += [*above, found[0].rstrip()]
                above = []
            else:
                above.append(found[0].rstrip())
        offset += len(line) + 1
    _lead(after, above)


def _beside(before: _Word) -> list[str]:
    """Where a comment behind a word goes."""
    entry = before.entry
    if entry.within is None:
        return entry.before if before.kind == "open" else _body(entry).after
    return entry.before if before.kind == "dash" else entry.beside


def _closed(body: Body | None, after: _Word, column: int) -> Body | None:
    """The body that a comment of a column, above a word, ends; None when it belongs to what begins there.

    Args:
        body: the innermost one that it can be.
    """
    if after.kind not in ("key", "dash", "end"):
        return None
    around = after.entry.within
    if around is not None and (around.flow or column <= around.column):
        return None
    still_open = set()
    while around is not None:
        still_open.add(around)
        around = around.owner.within
    while body is not None and body not in still_open:
        if not body.flow and body.column <= column:
            return body
        body = body.owner.within
    return None


def _lead(after: _Word, above: list[str]) -> None:
    """Give the lines above a word to what it is the beginning of."""
    if after.kind == "close":
        body = _body(after.entry)
        if body.entries:
            body.after += above
        else:
            after.entry.before += [line for line in above if line]
    elif after.kind == "end":
        _body(after.entry).after += above
    elif after.kind in ("leaf", "open"):
        after.entry.before += [line for line in above if line] if after.entry.within is not None else above
    else:
        after.entry.before += above


def _body(entry: Entry) -> Body:
    assert entry.body is not None
    return entry.body


def _part_header(root: Entry) -> None:
    """Let the lines at the beginning of the file that do not directly speak of its first key stay there."""
    body = _body(root)
    if not body.entries:
        return
    first = min(body.entries, key=lambda entry: entry.start)
    head = [*root.before, *first.before]
    at = max((place + 1 for place, line in enumerate(head) if not line or _MODELINE.match(line)), default=0)
    root.before, first.before = head[:at], head[at:]
