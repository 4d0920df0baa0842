"""Which findings has an author allowed, and with what reason?

A comment `# oncemore: allow R403, REASON` on a line of a gate, of `when` or of `policy`, or in the comment directly
above it, silences the findings of that code there. An allowance without a reason, and one that silences nothing, are
findings themselves, so that none outlives what it was written for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from oncemore.rules import scalars
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.source import Document, Node, Place

CODE = "R406"

_COMMENT = re.compile(r"(?:(?<=\s)|^)#[ \t]*oncemore:(?P<said>[^\r\n]*)", re.MULTILINE)
_ALLOW = re.compile(r"\s*allow\s+(?P<code>R4\d\d)\s*(?:,\s*(?P<reason>.*?))?\s*\Z")
_HOW = "write `# oncemore: allow CODE, REASON`, with the code of a finding"


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A gate, `when` or `policy`, from its first line to its last."""

    first: int
    last: int

    def holds(self, line: int) -> bool:
        return self.first <= line <= self.last


def without_allowed(
    document: Document, found: Sequence[Diagnostic], *, unneeded: bool, unsought: Collection[str] = ()
) -> list[Diagnostic]:
    """The diagnostics without those that comments of the document allow, and with what is wrong with the comments.

    Args:
        found: what was found in this document and in others.
        unneeded: report allowances that silence nothing; not when some findings could not be looked for.
        unsought: codes of findings that were not looked for, so that no allowance of one is called needless.
    """
    comments = list(_comments(document))
    left = list(found)
    if not comments:
        return left
    stretches = _stretches(document)
    for place, said in comments:
        allow = _ALLOW.match(said)
        if allow is None:
            left.append(_finding(document, place, "this comment allows nothing", _HOW))
            continue
        code, reason = allow["code"], allow["reason"]
        stretch = _stretch_at(document, stretches, document.position(place.start)[0])
        kept = [one for one in left if not _silenced(one, document, code, stretch)]
        if len(kept) == len(left) and unneeded and code not in unsought:
            message = f"there is no finding {code} here to allow"
            left.append(
                _finding(
                    document, place, message, "take it away, or put it on the line of the finding or directly above it"
                )
            )
            continue
        left = kept
        if not reason:
            left.append(_finding(document, place, f"{code} is allowed without a reason", "add it after a comma"))
    return left


def _silenced(one: Diagnostic, document: Document, code: str, stretch: _Stretch | None) -> bool:
    here = one.file == document.file and one.code == code and one.severity == "warning"
    return here and stretch is not None and stretch.holds(one.line)


def _comments(document: Document) -> Iterator[tuple[Place, str]]:
    """Comments addressed to us; what stands in quotes or in a block of text is no comment."""
    if document.root is None or "oncemore:" not in document.text:
        return
    taken = list(_texts(document, document.root))
    for found in _COMMENT.finditer(document.text):
        if not any(start <= found.start() < end for start, end in taken):
            yield Place(found.start(), found.end()), found["said"]


def _texts(document: Document, node: Node) -> Iterator[tuple[int, int]]:
    if node.children is None:
        start, end = node.place.start, node.place.end
        if node.style in ("|", ">"):
            # A block is said to begin with its header and to end where the next thing begins; comments stand on both.
            places = scalars.offsets(document.text, start, end, node.style, str(node.value))
            start, end = (places[0], places[-1]) if places else (start, end)
        yield start, end
        return
    for child in node.children.values() if isinstance(node.children, dict) else node.children:
        yield from _texts(document, child)


def _stretches(document: Document) -> list[_Stretch]:
    root = document.root
    if root is None or not isinstance(root.children, dict):
        return []
    found = []
    called, when, gates = root.get("policy"), root.get("when"), root.get("gates")
    if called is not None:
        found.append(_Stretch(document.position(root.keys["policy"].start)[0], _last_line(document, called)))
    if when is not None:
        found.append(_Stretch(document.position(root.keys["when"].start)[0], _last_line(document, when)))
    for entry in gates.items() if gates is not None else ():
        found.append(_Stretch(document.position(entry.place.start)[0], _last_line(document, entry)))
    return found


def _last_line(document: Document, node: Node) -> int:
    end = max((end for _, end in _texts(document, node)), default=node.place.end)
    text = document.text[node.place.start : max(end, node.place.start + 1)]
    return document.position(node.place.start + len(text.rstrip()) - 1)[0]


def _stretch_at(document: Document, stretches: Sequence[_Stretch], line: int) -> _Stretch | None:
    while document.line(line).lstrip().startswith("#") and not any(one.holds(line) for one in stretches):
        line += 1
        if line > document.text.count("\n") + 1:
            return None
    return next((one for one in stretches if one.holds(line)), None)


def _finding(document: Document, place: Place, message: str, help: str) -> Diagnostic:
    return document.diagnostic(CODE, message, place, help=help, severity="warning")
