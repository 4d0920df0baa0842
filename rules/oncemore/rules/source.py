"""What does a YAML file say, and where exactly does it say each thing?

YAML 1.2 core types: `no`, `on` and `12:30` stay text. Invisible characters and line breaks that editors and parsers
disagree on are refused before anything is parsed; `composing` makes the tree.
"""

from __future__ import annotations

import codecs
import errno
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from oncemore.rules import scalars
from oncemore.rules.diagnostics import KEPT, Diagnostic, Severity, named, shortened
from oncemore.rules.named_file import read_up_to

MAX_CHARACTERS = 1_000_000

MAX_BYTES = 4 * MAX_CHARACTERS + 3
"""As many as so many characters can take in UTF-8, with a byte order mark."""

MAX_MISTAKES = 200
"""Mistakes of a file that are told."""

_MAX_REPORTED = 20

_LOOKED_AT = 1_000

_AS_UTF_8 = "save it as text in UTF-8; is this the file that was meant?"

# Of the characters without a width only the two joiners may stand: scripts and emoji are written with them.
_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f"
)

_FORBIDDEN = re.compile(f"[{_HIDDEN}]|\r(?!\n)")

HIDDEN_IN_VALUE = re.compile(f"[{_HIDDEN}\r]")
"""What no text of a file may hold either, once its escapes are read: it would act on the terminal of whoever is shown
it, or turn the direction of what stands beside it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the file: code point offsets, `end` exclusive."""

    start: int
    end: int


@dataclass(slots=True)
class Node:
    """One value of the document.

    Attributes:
        value: as plain Python: dict, list, str, int, float, bool or None.
        style: of a scalar: `'`, `"`, `|`, `>`, or empty.
        keys: of a mapping, where each key stands.
        children: of a mapping by key, of a sequence by index.
        broken: it was refused already; its value means nothing.
    """

    value: Any
    place: Place
    style: str = ""
    keys: dict[str, Place] = field(default_factory=dict)
    children: dict[str, Node] | list[Node] | None = None
    broken: bool = False

    def get(self, *path: str | int) -> Node | None:
        """The part under a path of keys and indexes, if there is one."""
        node: Node | None = self
        for part in path:
            if node is None:
                return None
            if isinstance(node.children, dict) and isinstance(part, str):
                node = node.children.get(part)
            elif isinstance(node.children, list) and isinstance(part, int) and part < len(node.children):
                node = node.children[part]
            else:
                return None
        return node

    def items(self) -> Iterator[Node]:
        """The elements of a sequence; none for anything else."""
        if isinstance(self.children, list):
            yield from self.children


@dataclass
class Document:
    """A file that was read.

    Attributes:
        file: the name that diagnostics show.
        root: None when nothing could be made of it.
        diagnostics: what was refused while reading.
    """

    file: str
    text: str
    root: Node | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1, in code points."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """A line without its break, from 1."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def inside(self, node: Node, start: int, end: int) -> Place:
        """Where a stretch of a scalar's value stands in the file; the whole scalar when it cannot be told."""
        places = scalars.offsets(self.text, node.place.start, node.place.end, node.style, str(node.value))
        if places is None or not places:
            return node.place
        first = places[min(start, len(places) - 1)]
        last = places[min(end, len(places)) - 1] + 1 if end > start else first + 1
        return Place(first, max(last, first + 1))

    def diagnostic(
        self,
        code: str,
        message: str,
        place: Place,
        *,
        path: Sequence[str | int] = (),
        help: str | None = None,
        severity: Severity = "error",
        case: str | None = None,
    ) -> Diagnostic:
        """A diagnostic framed with the line that the place begins on."""
        line, column = self.position(place.start)
        start = self._line_starts[line - 1]
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.text)
        # A line can be as long as a file, and many mistakes can stand on it.
        first = max(start, min(place.start - KEPT // 4, end - KEPT))
        shown = self.text[first : min(end, first + KEPT)].rstrip("\r\n")
        whole = len(self.text[place.start : min(end, place.end)].rstrip("\r\n"))
        stop = column + max(1, whole)
        return Diagnostic(
            code, severity, shortened(message), self.file, line, column, stop, dotted(path), shown,
            help, case, first - start, len(self.text[start:first].encode("utf-16-le", "surrogatepass")) // 2,
        )  # fmt: skip

    def report(
        self, code: str, message: str, place: Place, *, path: Sequence[str | int] = (), help: str | None = None
    ) -> None:
        """Note an error of this file."""
        self.note(self.diagnostic(code, message, place, path=path, help=help))

    def note(self, found: Diagnostic) -> None:
        """Note what was found in this file, unless that is too much already."""
        if self.full:
            return
        self.diagnostics.append(found)
        if self.full:
            message = f"more than {MAX_MISTAKES} mistakes; what else is wrong is not told"
            self.diagnostics[-1] = replace(found, code="R107", severity="error", message=message, help=None)

    @property
    def full(self) -> bool:
        """Whether there are so many mistakes that no more are looked for."""
        return len(self.diagnostics) >= MAX_MISTAKES


def dotted(path: Sequence[str | int]) -> str:
    """A path as people write it: `$.gates[2].require`; a key with a dot in quotes."""
    if not path:
        return ""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            shown += f'["{part}"]' if "." in part else f".{part}"
    return f"${shown}"


def read(path: Path, file: str | None = None) -> Document:
    """Read and load a file; one that cannot be read gives a document with that error and no root."""
    shown = file or str(path)
    try:
        raw = read_up_to(path, MAX_BYTES)
    except OSError as error:
        document = Document(shown, "")
        help = "it is a link that leads to nothing" if path.is_symlink() and not path.exists() else None
        if error.errno in (errno.EISDIR, errno.EINVAL):
            help = "only regular files are read, and links to them"
        document.report("R108", f"cannot be read: {error.strerror or error}", Place(0, 0), help=help)
        return document
    return load_bytes(raw, shown)


def load_bytes(raw: bytes, file: str) -> Document:
    """Load a file's bytes, which must be UTF-8."""
    if len(raw) > MAX_BYTES:
        document = Document(file, "")
        document.report("R107", f"the file has more than {MAX_CHARACTERS} characters, which are not read", Place(0, 0))
        return document
    if problem := _no_text(raw):
        document = Document(file, "")
        document.report("R108", problem, Place(0, 0), help=_AS_UTF_8)
        return document
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # What can be read of the line is shown, up to the byte; a character that a byte is missing of does not stand.
        document = Document(file, raw[: error.start].decode("utf-8", "replace").removeprefix("\ufeff"))
        at = len(document.text)
        document.report("R108", f"byte {error.start + 1} is not UTF-8", Place(at, at), help=_AS_UTF_8)
        return document
    return load(text, file)


def _no_text(raw: bytes) -> str | None:
    """Why bytes are no UTF-8, where one look says it."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "the file is UTF-16, not UTF-8"
    zeros = raw[:_LOOKED_AT].count(0)
    if zeros * 4 < len(raw[:_LOOKED_AT]) or not zeros:
        return None
    return "the file holds zeros between its characters, as UTF-16 does" if any(raw) else "the file holds but zeros"


def load(text: str, file: str) -> Document:
    """Load a text. What was refused stands in the document's diagnostics; `root` is what could be taken."""
    document = Document(file, text)
    if len(text) > MAX_CHARACTERS:
        document.report("R107", f"the file has {len(text)} characters; at most {MAX_CHARACTERS} are read", Place(0, 0))
        return document
    for count, found in enumerate(_FORBIDDEN.finditer(text)):
        if count < _MAX_REPORTED:
            document.report(
                "R106",
                f"the character {named(found[0])} may not stand in a file",
                Place(found.start(), found.end()),
                help="it is invisible, or editors and parsers disagree on it; take it away",
            )
    if document.diagnostics:
        return document
    from oncemore.rules.composing import Composer

    Composer(document).run()
    return document
