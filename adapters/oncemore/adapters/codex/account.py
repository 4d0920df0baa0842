"""Has the account behind Codex's route to its model room, as Codex itself tells it?

Codex asks its vendor when it is asked (`account/rateLimits/read`). Only the vendor's own word that the account may use
the model means room: Codex's protocol says that percentages and reset times prove none. They go into the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oncemore.adapters.codex.connection import Connection
from oncemore.adapters.codex.owner import read_config
from oncemore.adapters.codex.processes import Processes
from oncemore.engine.errors import PortError
from oncemore.rules import times
from oncemore.rules.case import Evidence, Reading

VENDOR = "openai"
"""The provider that Codex has built in, and takes where none is configured; no other one goes by the account."""

FULL = 100
"""Percent of a window at which nothing of it is left."""


class Account:
    """The `Capacity` port over Codex's own word for the account that is logged in in a home.

    Args:
        clock: milliseconds since the epoch.
    """

    def __init__(self, processes: Processes, home: Path, *, clock: Callable[[], int]) -> None:
        self._processes = processes
        self._home = home
        self._clock = clock

    def read(self) -> Reading:
        """`route.state`, asked now of a fresh process that loads nothing. It raises nothing: what Codex does not tell
        is missing, with the cause beside it."""
        # Before the question, so that an answer is never younger than it says.
        at = self._clock()
        try:
            with self._processes.reader(self._home) as reader:
                if (why := _not_of_the_account(reader, self._home)) is not None:
                    return _missing(at, why)
                asked = {"excludeResetCreditDetails": True}
                return reading(reader.read("account/rateLimits/read", asked), at)
        except PortError:
            # Codex's words may quote what its vendor answered; they stay in its own log.
            return _missing(at, "codex does not tell the limits of an account")


def _not_of_the_account(reader: Connection, home: Path) -> str | None:
    """Why the account does not stand for the route; an account may be logged in beside a provider with a key."""
    provider = read_config(reader, str(home)).get("model_provider")
    return None if provider in (None, VENDOR) else "codex's model is that of another provider than the account's"


def reading(answer: Mapping[str, Any], at: int) -> Reading:
    """What an answer to `account/rateLimits/read` says of `route.state`.

    Room is known where the vendor says that the account may use the model and nothing in the answer says otherwise; no
    room where the vendor says that it may not, or that a limit is reached. An answer that says both is in conflict.
    One that says neither, or tells no limits, is missing; one that is not of the protocol's form was reported and is no
    value, unless it says plainly that the account may not be used.
    """
    allowed: bool | None = None
    try:
        allowed = _of(answer, "ordinaryUsageAllowed", bool)
        limits = answer.get("rateLimits")
        if limits is None and allowed is not False:
            return _missing(at, "codex tells no limits: rateLimits is not there, as its protocol has it")
        if not isinstance(limits, Mapping):
            raise _Malformed("rateLimits")
        windows = {name: _window(limits, name) for name in ("primary", "secondary")}
        reached = _of(limits, "rateLimitReachedType", str) is not None
        reached = _of(limits, "spendControlReached", bool) is True or reached
    except _Malformed as field:
        details = {"why": f"{field} is not as codex's protocol has it"}
        if allowed is False:
            return Reading("known", "exhausted", Evidence("codex", at, details=details))
        return Reading("reported", None, Evidence("codex", at, details=details))
    reached = reached or any(window.full(at) for window in windows.values() if window is not None)
    evidence = Evidence("codex", at, details={name: str(one) for name, one in windows.items() if one is not None})
    if allowed and reached:
        return Reading("conflict", None, evidence)
    if allowed is False or reached:
        return Reading("known", "exhausted", evidence)
    if allowed is None:
        return _missing(at, "the vendor does not say whether the account may be used", **evidence.details)
    return Reading("known", "available", evidence)


class _Malformed(Exception):
    """The field of this name has another type than the protocol gives it."""


class _Window:
    """How much of a limit's window is used, and when it begins anew, milliseconds since the epoch."""

    def __init__(self, used: int, resets_at: int | None) -> None:
        self.used = used
        self.resets_at = resets_at

    def full(self, at: int) -> bool:
        return self.used >= FULL and (self.resets_at is None or at < self.resets_at)

    def __str__(self) -> str:
        resets = "" if self.resets_at is None else f", resets at {times.format_ms(self.resets_at)}"
        return f"{self.used}% used{resets}"


def _window(limits: Mapping[str, Any], name: str) -> _Window | None:
    told = limits.get(name)
    if told is None:
        return None
    if not isinstance(told, Mapping):
        raise _Malformed(name)
    used, resets = _of(told, "usedPercent", int), _of(told, "resetsAt", int)
    if used is None or used < 0 or not 0 <= (resets or 0) < 1 << 37:  # beyond it there is no date to write
        raise _Malformed(name)
    return _Window(used, None if resets is None else resets * 1000)


def _of(told: Mapping[str, Any], name: str, wanted: type) -> Any:
    """The value of a field that may be null or absent, of exactly this type. Raises `_Malformed`."""
    value = told.get(name)
    if value is not None and type(value) is not wanted:
        raise _Malformed(name)
    return value


def _missing(at: int, why: str, **details: str) -> Reading:
    return Reading("missing", None, Evidence("codex", at, details={**details, "why": why}))
