"""How is a decision told to somebody at a terminal, with the level that its policy works at?

The words are those of the engine's explanation; here it is added what the level makes of an outcome, and left out what
says nothing to the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oncemore.adapters.cli import output

if TYPE_CHECKING:
    from oncemore.adapters.supposing import Supposing

Record = Mapping[str, Any]

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "shadow": "{policy} would fire; in shadow, so nothing would be done.",
        "advise": "{policy} would fire; at advise, so it would be put before the operator and nothing done.",
        "level": " Its level is {level}.",
        "person": "Nothing is done.",
    },
    "zh": {
        "shadow": "{policy} 本会触发；级别为 shadow，因此不会执行任何操作。",
        "advise": "{policy} 本会触发；级别为 advise，因此只会提请运维人员决定，不会执行任何操作。",
        "level": "级别为 {level}。",
        "person": "不会进行任何处理。",
    },
}


def concerned(records: Iterable[Record]) -> list[Record]:
    """The decisions of the policies that the case concerns; all of them when it concerns none."""
    every = list(records)
    return [record for record in every if record["outcome"] != "not_concerned"] or every


def without_gates(record: Record) -> Record:
    """A decision that its policy is not concerned, with what says so alone: the gates were of no account."""
    if record["outcome"] != "not_concerned":
        return record
    named = {operand["fact"] for operand in record["when"]["operands"]}
    unknown = {key: [fact for fact in record[key] if fact in named] for key in ("missing", "stale", "conflict")}
    return {**record, "gates": [], **unknown}


def visible_record(record: Any) -> Any:
    """A decision with replacements for what would act on a terminal."""
    if isinstance(record, str):
        return output.plain(record)
    if isinstance(record, Mapping):
        return {key: visible_record(part) for key, part in record.items()}
    return [visible_record(part) for part in record] if isinstance(record, (list, tuple)) else record


@dataclass(frozen=True, slots=True)
class Telling:
    """How decisions are told.

    Attributes:
        evidence: also what was read for gates that pass.
        supposing: with the nearest change of each.
    """

    lang: str = "en"
    audience: str = "operator"
    format: str = "pretty"
    evidence: bool = False
    supposing: Supposing | None = None

    def tell(self, records: Iterable[Record]) -> None:
        """Print explanations; to the person who asked no sentence twice."""
        listed = list(records)
        if self.format == "json":
            said = [self._as_json(record) for record in listed]
            if self.audience == "user":
                said = [one for number, one in enumerate(said) if one not in said[:number]]
            output.document(said[0] if len(said) == 1 else said)
            return
        texts = [self._text(record) for record in listed]
        if self.audience == "user":
            texts = list(dict.fromkeys(texts))
        output.say("\n".join(texts).rstrip("\n"))

    def _as_json(self, record: Record) -> dict[str, Any]:
        from oncemore.engine.explanation import explanation

        said = explanation(record, self.lang, self.audience)  # type: ignore[arg-type]
        return said if self.supposing is None else {**said, "nearest": self.supposing.as_json(record)}

    def _text(self, record: Record) -> str:
        nearest = "" if self.supposing is None else self.supposing.told(record, self.lang)
        # A journal may hold words from before such characters were refused in rule files.
        return self._told(visible_record(record)) + (f"\n{nearest}\n" if nearest else "")

    def _told(self, record: Record) -> str:
        from oncemore.engine.explanation import explain, sentence

        level, words = record["level"], WORDS[self.lang]
        held_back = record["outcome"] == "fire" and level in ("shadow", "advise")
        if self.audience == "user" and held_back:
            return words["person"] + "\n"
        colour = output.coloured() and self.audience != "user"
        text = explain(
            record,
            self.lang,  # type: ignore[arg-type]
            self.audience,  # type: ignore[arg-type]
            self.format,  # type: ignore[arg-type]
            colour=colour,
            evidence=self.evidence,
        )
        if level is None or self.audience == "user":
            return text
        plain = sentence(record, self.lang)  # type: ignore[arg-type]
        name = record["policy"]["name"]
        own = words[level].format(policy=name) if held_back else plain + words["level"].format(level=level)
        return text.replace(plain, own, 1)
