"""What may an agent's answer carry beside its text?

An answer may end with one envelope between tags that carry a random word of this very Turn, told to the model in its
own input and nowhere else. Whatever else looks like an envelope, in a file, a tool's output or an older answer, carries
another word and is text. A report in the envelope is a wish, never authority: it opens a case for the rules and
nothing more.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any, Literal

REPORT_LENGTH = 1_000
"""Longest `completed` or `remaining`, in characters."""

ENVELOPE_LENGTH = 16_384
"""Longest envelope that is parsed, in characters; a longer one is damaged."""

REPORT_FIELDS = frozenset({"completed", "remaining", "effects_settled"})

GATES = ("gate", "protected_action", "handoff", "proposals")
"""Parts of an envelope by which the answer itself asks for a person; a report beside one of them is dropped."""

ReportState = Literal["none", "valid", "invalid"]

BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows, by which a text can be made to read as another one."""

_PATH = re.compile(
    r"file://\S+"
    r"|(?<![\w/.:])(?:~[\w.-]*/|/(?!/))(?:[\w.@+-]+/)*[\w.@+-]+/?"
    r"|\b[A-Za-z]:[\\/][^\s\"'<>|]+"
    r"|\\\\[\w.$-]+\\[^\s\"'<>|]+"
)


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent says of work that it did not finish. Shown to people as a quotation, never to a model."""

    completed: str
    remaining: str


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, normalised.

    Attributes:
        text: what a person is shown: the answer without its envelope.
        report: set exactly when `report_state` is valid.
        report_state: `none` when nothing that could be a report was there; `invalid` when something was and it did
            not survive.
        gates: which of `GATES` the envelope held.
    """

    text: str
    report: Report | None = None
    report_state: ReportState = "none"
    gates: tuple[str, ...] = ()

    def stored(self) -> str:
        """The normalised form as canonical JSON, without the text, which is stored apart."""
        report = {"completed": self.report.completed, "remaining": self.report.remaining} if self.report else None
        content = {"report": report, "report_state": self.report_state, "gates": list(self.gates)}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Tags:
    """The envelope's tags for one Turn."""

    word: str
    opening: str = field(init=False)
    closing: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "opening", f"<oncemore-{self.word}>")
        object.__setattr__(self, "closing", f"</oncemore-{self.word}>")


def parse(answer: str, word: str) -> Response:
    """Read an answer by the module's rules: at most one whole envelope, at the very end, under this Turn's word."""
    tags = Tags(word)
    answer = _storable(answer)
    opened, closed = answer.count(tags.opening), answer.count(tags.closing)
    if not opened and not closed:
        return Response(text=answer.strip())
    start, end = answer.find(tags.opening), answer.find(tags.closing)
    whole = opened == closed == 1 and start < end and not answer[end + len(tags.closing) :].strip()
    if not whole:
        return Response(text=_without_envelopes(answer, tags), report_state="invalid")
    text = answer[:start].strip()
    content = _parse_object(answer[start + len(tags.opening) : end])
    if content is None:
        return Response(text=text, report_state="invalid")
    gates = tuple(name for name in GATES if content.get(name) not in (None, []))
    return _with_report(text, content, gates)


def _storable(text: str) -> str:
    """The text with what cannot be kept, half a surrogate pair or NUL, replaced by the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")


def redact(text: str) -> str:
    """The text with local paths replaced: they say nothing to the person and much to others."""
    return _PATH.sub("[path]", text)


def _with_report(text: str, content: dict[str, Any], gates: tuple[str, ...]) -> Response:
    if "report" not in content:
        return Response(text=text, gates=gates)
    report = _report(content["report"])
    if report is None or gates or set(content) - {"report", *GATES}:
        return Response(text=text, report_state="invalid", gates=gates)
    return Response(text=text, report=report, report_state="valid")


def _report(found: object) -> Report | None:
    if not isinstance(found, dict) or set(found) != REPORT_FIELDS or found["effects_settled"] is not True:
        return None
    completed, remaining = found["completed"], found["remaining"]
    for part in (completed, remaining):
        if not isinstance(part, str) or not 1 <= len(part) <= REPORT_LENGTH or not _readable(part):
            return None
    return Report(completed=redact(_storable(completed)), remaining=redact(_storable(remaining)))


def _readable(text: str) -> bool:
    """Whether there is something to read, and nothing that a terminal or page could take for a command."""
    commands = any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in text)
    return not commands and BIDI.isdisjoint(text) and any(char.isalnum() for char in text)


def _parse_object(text: str) -> dict[str, Any] | None:
    if len(text) > ENVELOPE_LENGTH:
        return None
    try:
        content = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a name stands twice")
    return content


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _without_envelopes(answer: str, tags: Tags) -> str:
    """The readable text of an answer whose envelopes do not count: what the tags enclose, or leave open, goes."""
    before, *opened = answer.split(tags.opening)
    kept = [before]
    for part in opened:
        _, closing, after = part.partition(tags.closing)
        if not closing:
            break
        kept.append(after)
    return "".join(kept).replace(tags.closing, "").strip()
