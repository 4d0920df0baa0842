"""What does the page of one Request show: how it stands, what a person may do, and everything that happened?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from oncemore.adapters.api.page import overview
from oncemore.adapters.api.page.reasons import reason, spoken, whose
from oncemore.adapters.api.page.words import WORDS, Language, said
from oncemore.adapters.standing import standing_of, uncertain
from oncemore.adapters.timeline import Entry, timeline
from oncemore.engine.tables import Request
from oncemore.rules.loading import PolicySet

Note: TypeAlias = tuple[str, Language | None]
"""A text and its language; None for a code, which has none."""

SHORT: Final = 600
"""Longest text that is shown whole at once; of a longer one the rest is folded away."""

ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What a Request's id looks like."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry of the timeline.

    Attributes:
        marks: the part of the stylesheet's names that gives it its colour.
        notes: ids, codes and our own sentences, set small; each with the language that it is in.
        quotes: what people and models wrote: a heading, or none, and the text; None for one that is no longer kept.
        decided: of an entry that decides: the decisions that say something.
        unconcerned: how many more policies were not concerned.
    """

    at: str
    marks: str
    headline: str
    notes: tuple[Note, ...] = ()
    quotes: tuple[tuple[str, str | None], ...] = ()
    decided: tuple[Entry, ...] = ()
    unconcerned: int = 0


def conversation(request: str, policies: PolicySet, lang: Language, now: int) -> dict[str, Any]:
    """Everything that the page of a Request tells.

    Raises:
        NotFound: there is no such Request.
    """
    told = timeline(request)
    row = Request.get_by_id(request)
    stands = standing_of(row, told["workspace"], "", now)
    sights = uncertain(row)
    return {
        "request": request,
        "told": told,
        "stands": stands,
        "reason": None if stands.doing == "advised" else reason(stands.gate, policies, lang),
        "moments": list(_moments(told["timeline"], lang)),
        "stoppable": row.state == "open",
        "releasable": row.state == "open" or bool(sights),
        "held": row.held is not None,
        "sights": sights,
        "offers": overview.offered(request, policies) if row.state == "open" else (),
    }


def _moments(entries: list[Entry], lang: Language) -> Iterator[Moment]:
    answers: set[str] = set()
    place = 0
    while place < len(entries):
        entry = entries[place]
        if entry["kind"] == "decided":
            same = _same_look(entries[place:])
            yield _look(same, lang)
            place += len(same)
            continue
        yield _moment(entry, answers, lang)
        answers.add(entry.get("answer") or "")
        place += 1


def _same_look(entries: list[Entry]) -> list[Entry]:
    """The decisions of one look at the Request, which is where the first is from."""
    first = entries[0]
    same = [entry for entry in entries if entry["kind"] == "decided" and entry["at"] == first["at"]]
    return same[: next((n for n, entry in enumerate(entries) if entry not in same), len(entries))]


def _look(same: list[Entry], lang: Language) -> Moment:
    telling = tuple(
        {**entry, "decision": entry["decision"].removeprefix("sha256:")}
        for entry in same
        if entry["outcome"] != "not_concerned"
    )
    first = same[0]
    again = _noted(said(lang, "entry.seen", count=first["seen"]) if first["seen"] > 1 else None)
    if not telling:
        return Moment(first["at"], "quiet", said(lang, "entry.concerned.none"), again)
    headline = said(lang, f"entry.decided.{first['stage']}")
    return Moment(first["at"], telling[0]["outcome"], headline, again, (), telling, len(same) - len(telling))


def _moment(entry: Entry, answers: set[str], lang: Language) -> Moment:
    kind = entry["kind"]
    if kind == "message":
        return Moment(
            entry["at"],
            "message",
            said(lang, "entry.message", author=entry["author"]),
            _noted(entry["id"]),
            (("", entry["text"]),),
        )
    if kind == "queued":
        return Moment(entry["at"], "quiet", said(lang, f"entry.queued.{_phase(entry['phase'])}"), _noted(entry["turn"]))
    if kind == "started":
        native = entry["native"]
        return Moment(
            entry["at"],
            "quiet",
            said(lang, "entry.started"),
            _noted(
                entry["turn"],
                *(said(lang, f"note.{name}", id=native[name]) for name in ("thread", "turn") if native[name]),
            ),
        )
    if kind == "ended":
        return _ended(entry, lang)
    if kind == "reserved":
        headline = said(lang, f"entry.reserved.{_phase(entry['attempt'].split()[0])}")
        return Moment(entry["at"], "fire", headline, _noted(entry["turn"]))
    if kind == "settled":
        headline = said(lang, f"entry.settled.{entry['state']}")
        return Moment(entry["at"], "quiet", headline, _noted(entry["turn"]) + _said(entry["reason"], lang))
    if kind == "reply":
        text = entry["text"]
        repeated = text is not None and text in answers
        quotes = () if repeated else (("", text),)
        headline = said(lang, f"entry.reply.{entry['state']}")
        notes = _noted(entry["stage"], entry["reply"], said(lang, "entry.same") if repeated else None)
        notes += _said(entry["detail"], lang)
        return Moment(entry["at"], "reply", headline, notes, quotes)
    return _event(entry, lang)


def _ended(entry: Entry, lang: Language) -> Moment:
    quotes = [] if entry["answer"] is None else [("", entry["answer"])]
    report = entry["report"]
    if report is not None and report["state"] == "valid":
        words = report["words"] or {}
        quotes += [
            (said(lang, f"entry.report.{part}"), words[part]) for part in ("completed", "remaining") if part in words
        ]
    marks = "ended" if entry["status"] == "completed" else "failed"
    notes = _noted(entry["turn"], entry["error"]) + _said(entry["detail"], lang)
    return Moment(entry["at"], marks, said(lang, f"entry.ended.{entry['status']}"), notes, tuple(quotes))


_MARKS: Final = {
    "stopped": "failed",
    "fault": "failed",
    "ambiguous": "hold",
    "gave_up_waiting": "hold",
    "advised": "hold",
    "waits_for_budget": "wait",
    "released": "person",
    "advice_taken": "person",
}
"""How events are marked; the others quietly."""

_PERSONS: Final = frozenset({"stopped", "released", "advice_taken"})
"""Events whose reason a person wrote; of the others it is a sentence of ours."""


def _event(entry: Entry, lang: Language) -> Moment:
    kind = entry["kind"]
    key = f"entry.{kind}.close" if entry.get("close") else f"entry.{kind}"
    headline = said(lang, key) if key in WORDS[lang] else said(lang, "entry.other", kind=kind)
    about = entry.get("stage") or entry.get("turn") or entry.get("policy")
    saw = entry.get("saw")
    notes = _noted(about, said(lang, f"saw.{saw}") if saw else None) + _said(entry.get("reason"), lang)
    notes += _noted(entry.get("error"), whose(entry["who"], lang) if entry.get("who") else None)
    why = entry.get("why")
    if kind not in _PERSONS:
        notes, why = notes + _said(why, lang), None
    return Moment(entry["at"], _MARKS.get(kind, "quiet"), headline, notes, (("", str(why)),) if why else ())


def _phase(phase: str) -> str:
    return phase if phase in ("business", "work", "review", "quota", "route") else "other"


def _noted(*notes: str | None) -> tuple[Note, ...]:
    return tuple((str(note), None) for note in notes if note)


def _said(sentence: str | None, lang: Language) -> tuple[Note, ...]:
    """A sentence of ours, or a code; it stays a note, and begins small."""
    if not sentence:
        return ()
    return ((sentence, "en"),) if lang == "en" else (spoken(sentence, lang),)
