"""How is a decision told to somebody at a terminal, with the level that its policy works at?

The words are those of the engine's explanation; here it is added what the level makes of an outcome, and left out what
says nothing to the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oncemore.adapters.cli import output

if TYPE_CHECKING:
    from oncemore.adapters.cli.supposing import Supposing

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


def tell(records: Iterable[Record], lang: str, audience: str, format_: str, supposing: Supposing | None = None) -> None:
    """Print explanations of decisions, with the nearest change where one is supposed.

    To the person who asked no sentence is told twice.
    """
    from oncemore.engine.explanation import explanation

    if format_ == "json":
        said = []
        for record in records:
            said.append(explanation(record, lang, audience))  # type: ignore[arg-type]
            if supposing is not None:
                said[-1]["nearest"] = supposing.as_json(record)
        if audience == "user":
            said = [one for number, one in enumerate(said) if one not in said[:number]]
        output.document(said[0] if len(said) == 1 else said)
        return
    # A journal may hold words from before such characters were refused in rule files.
    texts = []
    for record in records:
        nearest = "" if supposing is None else supposing.told(record, lang)
        texts.append(_told(visible_record(record), lang, audience, format_) + (f"\n{nearest}\n" if nearest else ""))
    if audience == "user":
        texts = list(dict.fromkeys(texts))
    output.say("\n".join(texts).rstrip("\n"))


def _told(record: Record, lang: str, audience: str, format_: str) -> str:
    from oncemore.engine.explanation import explain, sentence

    level, words = record["level"], WORDS[lang]
    held_back = record["outcome"] == "fire" and level in ("shadow", "advise")
    if audience == "user":
        if held_back:
            return words["person"] + "\n"
        return explain(record, lang, "user", format_)  # type: ignore[arg-type]
    text = explain(record, lang, audience, format_, colour=output.coloured())  # type: ignore[arg-type]
    if level is None:
        return text
    plain = sentence(record, lang)  # type: ignore[arg-type]
    name = record["policy"]["name"]
    own = words[level].format(policy=name) if held_back else plain + words["level"].format(level=level)
    return text.replace(plain, own, 1)
