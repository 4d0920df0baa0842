"""How is the rules engine spoken to? Rules, results and names, as text.

Rule names are four characters, so that they are read without parsing; what follows a dot only tells terms apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from oncemore.rules.errors import RulesError

FAIL, PASS, UNKNOWN = 0, 1, 2
"""How a condition's result is written in facts and arrays."""

MAX_PENDING = 60
"""Conditions that may wait for one fact; beyond 64 the engine refuses the fact."""

NAME = slice(2, 6)
"""Where the name of the rule stands in a firing message, `{"t003":{"m":...`."""

Condition: TypeAlias = dict[str, Any]
Rules: TypeAlias = dict[str, Any]
Encoder: TypeAlias = Callable[[object], str]
Item = TypeVar("Item")


class NotCompilable(RulesError):
    """A policy is beyond what the engine takes; the text names the gate."""

    code = "R212"


@dataclass(frozen=True, slots=True)
class Ruleset:
    """One ruleset and how the fact that asks it is written.

    Attributes:
        text: its definition.
        facts: for leaves: names of facts with the encoder of each.
        slots: for gates and outcome: places in the result array with the text for fail, pass and unknown.
    """

    text: str
    facts: tuple[tuple[str, Encoder], ...] = ()
    slots: tuple[tuple[int, tuple[str, str, str]], ...] = ()


def turned(code: int, turn: bool) -> int:
    """A result as its user sees it: pass and fail exchanged when `turn`; unknown stays."""
    return 1 - code if turn and code != UNKNOWN else code


def rule(condition: list[Condition], *, priority: int | None = None) -> dict[str, Any]:
    """A rule that fires when all parts of the condition hold; the lowest priority fires first."""
    rule: dict[str, Any] = {"all": [{"m": {"$and": condition} if len(condition) > 1 else condition[0]}]}
    if priority is not None:
        rule["pri"] = priority
    return rule


def warm() -> Rules:
    """A rule that is fired once per session: it initialises the session's place, which the engine otherwise leaves."""
    return {"warm": rule([{"warm": 1}])}


def definition(rules: Rules) -> str:
    """A ruleset as the engine reads it; texts are escaped as in facts."""
    return json.dumps(rules, ensure_ascii=False)


def result_texts(key: str, *, turn: bool = False) -> tuple[str, str, str]:
    """The text of a result in a fact, by its code in the result array."""
    fail, passed, unknown = (f',"{key}":{turned(code, turn)}' for code in (FAIL, PASS, UNKNOWN))
    return fail, passed, unknown


def packed(items: Iterable[Item], fits: Callable[[list[Item]], bool]) -> Iterator[list[Item]]:
    """Items in their order, cut into lists as long as `fits` allows; one item always fits."""
    chunk: list[Item] = []
    for item in items:
        if chunk and not fits([*chunk, item]):
            yield chunk
            chunk = []
        chunk.append(item)
    if chunk:
        yield chunk
