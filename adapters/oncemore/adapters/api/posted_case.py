"""Which case does somebody post, and what do the rules say of it?

A body says the same as a facts file: `now`, `facts`, `missing`, `stale`, `conflict`, `waiting_since`. What most bodies
are made of is taken at once; everything else, and every mistake, is left to the reader of facts files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from oncemore.adapters.api.strict_json import pointer
from oncemore.adapters.errors import Mistake, NotValid, TooLarge
from oncemore.engine.decision import Pass
from oncemore.engine.rulebook import Rulebook
from oncemore.rules import durations, times
from oncemore.rules.case import Case, Evidence, Reading, Value
from oncemore.rules.cases import facts_from_bytes
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.fact import Fact
from oncemore.rules.typecheck import MAX_INT
from oncemore.rules.vocabulary import FACTS

SOURCE: Final = "posted"
"""Who supplied the facts, in their evidence."""

MAX_BYTES: Final = 64 * 1024
"""Of one case; the whole vocabulary takes a twentieth of it."""

_NONE: Final[list[str]] = []

_LONGEST: Final = 64
"""Characters of a time or a span that is taken at once; what is longer is read, and not remembered."""

_KEYS: Final = frozenset({"now", "facts", "missing", "waiting_since"})
"""What a body has that is taken at once."""

_PAIR = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
"""A character in two escapes, which the reader of files does not take for one; or a backslash of the text."""

_STEP = re.compile(r"\.([^.\[]+)|\[\"(.*?)\"\]|\[(\d+)\]")


def case_of(value: Any, now: int, *, under: str = "") -> Case:
    """The case of a body.

    Args:
        value: strict JSON.
        now: the moment of a case that names none, milliseconds since the epoch.
        under: where the case stands in the body, as a JSON pointer.

    Raises:
        NotValid: with every mistake and its place.
        TooLarge: it has more than `MAX_BYTES`.
    """
    return _at_once(value, now) or _read(value, now, under)


def judged(
    rules: Rulebook, case: Case, *, levels: Mapping[str, str] | None = None, only: str | None = None, under: str = ""
) -> Pass:
    """What the rules say of a posted case.

    Args:
        levels, only: as `Rulebook.ask` takes them.
        under: where the case stands in the body, as a JSON pointer.

    Raises:
        NotValid: there is a time or a number in it that cannot be written down.
    """
    try:
        return rules.ask(case, levels=levels, only=only)
    except ValueError as error:
        raise NotValid(str(error), [Mistake(NotValid.code, str(error), under)]) from None


def _at_once(value: Any, now: int) -> Case | None:
    """The case, if there is nothing unusual about it; None leaves it to the careful reader."""
    if type(value) is not dict or not _KEYS.issuperset(value):
        return None
    try:
        moment = _moment(value.get("now"), now)
        waiting = _moment(value.get("waiting_since"), moment)
        missing, facts = value.get("missing", _NONE), value.get("facts", {})
        if type(facts) is not dict or type(missing) is not list or (missing and len(set(missing)) != len(missing)):
            return None
        evidence = Evidence(SOURCE, moment)
        readings = {name: Reading("known", _TAKES[name](raw), evidence) for name, raw in facts.items()}
        if waiting > moment or any(name not in FACTS or name in facts for name in missing):
            return None
    except (KeyError, TypeError, ValueError):
        return None
    return Case(moment, readings, waiting)


def _moment(written: Any, default: int) -> int:
    if written is None:
        return default
    return _time(_short(written))


def _short(written: Any) -> str:
    if type(written) is not str or len(written) > _LONGEST:
        raise ValueError
    return written


@lru_cache(maxsize=1_024)
def _time(text: str) -> int:
    moment = times.parse(text)
    if not 0 <= moment <= times.MAX_MS:
        raise ValueError
    return moment


_span = lru_cache(maxsize=4_096)(durations.parse)


def _taker(fact: Fact) -> Callable[[Any], Value]:
    """What makes the fact's value of a posted one; any exception means that it is not that simple."""
    if fact.type == "enum":
        return {name: name for name in fact.values if name != "unknown"}.__getitem__
    if fact.type == "duration":
        return lambda raw: _span(_short(raw))

    def truth(raw: Any) -> bool:
        if raw is True or raw is False:
            return bool(raw)
        raise ValueError

    def number(raw: Any) -> int:
        if type(raw) is int and fact.lowest <= raw <= MAX_INT:
            return raw
        raise ValueError

    return truth if fact.type == "bool" else number


_TAKES: Final[Mapping[str, Callable[[Any], Value]]] = {name: _taker(fact) for name, fact in FACTS.items()}


def _read(value: Any, now: int, under: str) -> Case:
    if type(value) is not dict:
        raise NotValid("a case is an object", [Mistake("R203", "an object with `facts` is wanted here", under)])
    raw = _PAIR.sub(_character, json.dumps(value)).encode()
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"a case has at most {MAX_BYTES} bytes")
    try:
        case = facts_from_bytes(raw, "body", now)
    except FactsInvalid as error:
        mistakes = [_mistake(one, under) for one in error.diagnostics]
        raise NotValid(_told(mistakes), mistakes) from None
    evidence = {name: one.evidence for name, one in case.readings.items() if one.evidence is not None}
    return replace(
        case,
        readings={
            name: replace(one, evidence=replace(evidence[name], source=SOURCE)) if name in evidence else one
            for name, one in case.readings.items()
        },
    )


def _character(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else str(json.loads(f'"{found[0]}"'))


def _told(mistakes: list[Mistake]) -> str:
    more = len(mistakes) - 1
    return mistakes[0].detail + (f" (and {more} more)" if more else "")


def _mistake(found: Diagnostic, under: str) -> Mistake:
    path = [key or quoted or index for key, quoted, index in _STEP.findall(found.yaml_path.removeprefix("$"))]
    return Mistake(found.code, found.message, under + pointer(path), help=found.help)
