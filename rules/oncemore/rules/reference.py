"""How is the vocabulary written down for people? `docs/facts.md`; a test compares."""

from __future__ import annotations

from itertools import groupby

from oncemore.rules import durations
from oncemore.rules.examples import EXAMPLES
from oncemore.rules.fact import RUNTIMES, Fact
from oncemore.rules.vocabulary import FACTS

_PREFACE = """\
# Facts

A case is a flat map of these names to values. A fact that nobody supplied, whose evidence is older than its age limit,
or about which two readings disagree is *unknown*; unknown is never a value. Each fact may be named in a gate; those
marked *stored* come from our own records alone and may be named in `when` too.

Values in italics prove nothing: they say that something could not be established, and a gate should not pass on them.
"""


def facts_markdown() -> str:
    """The reference of facts, `docs/facts.md`."""
    lines = [_PREFACE]
    for root, facts in groupby(FACTS.values(), key=lambda fact: fact.name.partition(".")[0]):
        lines += [
            f"## {root}",
            "",
            "| fact | values | meaning | for example | supplied by | counts for |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_row(fact) for fact in facts]
        lines.append("")
    return "\n".join(lines)


def _row(fact: Fact) -> str:
    supplied = fact.supplied_by + (" (stored)" if fact.stored else "")
    if fact.runtimes != RUNTIMES:
        supplied += f"; {', '.join(fact.runtimes)} only"
    age = durations.format_ms(fact.max_age) if fact.max_age is not None else "ever"
    example = EXAMPLES[fact.name].replace("|", "\\|")
    return f"| `{fact.name}` | {_values(fact)} | {fact.meaning} | `{example}` | {supplied} | {age} |"


def _values(fact: Fact) -> str:
    if fact.type == "enum":
        return ", ".join(f"*{value}*" if value in fact.no_proof else value for value in fact.values)
    return fact.type + (f", {fact.unit}" if fact.unit not in ("", "ms") else "")
