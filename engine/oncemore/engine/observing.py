"""What does a watcher of the engine learn? Counts and times by ids, never a text that anybody wrote.

The engine tells as it goes; what stands still (how many wait, which budget is used up) is read from the journal when
somebody asks, see `gauges`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from oncemore.engine.competition import Verdict
from oncemore.engine.decision import Pass
from oncemore.rules.case import Case
from oncemore.rules.expression import leaves
from oncemore.rules.outcome import Truth

ACTIONS: Final[Mapping[str, str]] = {
    "work": "continue_work",
    "review": "review_answer",
    "quota": "retry_business",
    "route": "retry_business",
}
"""The action that a kind of Attempt belongs to."""


class Observer(Protocol):
    """Whoever watches. Nothing that it does may fail, or keep the engine waiting."""

    def decided(self, policy: str, outcome: str, reason: str, level: str) -> None:
        """A policy has judged a case."""

    def decision_took(self, seconds: float) -> None:
        """All policies have judged one case, in so many seconds."""

    def unknown(self, fact: str, cause: str) -> None:
        """A gate could not be judged for this fact, which was to be read here: it is `missing`, `stale`, `conflict`,
        `reported` or `clock`."""

    def acted(self, action: str, result: str) -> None:
        """An action was `reserved`, had to `wait` for a budget, or ended: `answered`, `unfinished`, `failed`,
        `withdrawn`, `ambiguous`, `settled`."""

    def span(self, name: str, **ids: str) -> AbstractContextManager[None]:
        """What happens inside took place under this name."""


UNNAMED: Final[AbstractContextManager[None]] = nullcontext()
"""What happens inside takes place under no name."""


class Silent:
    """Nobody watches."""

    def decided(self, policy: str, outcome: str, reason: str, level: str) -> None:
        """Not kept."""

    def decision_took(self, seconds: float) -> None:
        """Not kept."""

    def unknown(self, fact: str, cause: str) -> None:
        """Not kept."""

    def acted(self, action: str, result: str) -> None:
        """Not kept."""

    def span(self, name: str, **ids: str) -> AbstractContextManager[None]:
        """Not kept."""
        return UNNAMED


SILENT: Final[Observer] = Silent()


def watched(observer: Observer, case: Case, judge: Callable[[], Pass], *, evidence: bool, **ids: str) -> Pass:
    """What the judgement of a case gives.

    Args:
        evidence: the facts were read here, so that those that are not known say something of our reading.
    """
    if observer is SILENT:
        return judge()
    began = time.perf_counter()
    with observer.span("decide", **ids):
        judged = judge()
        observer.decision_took(time.perf_counter() - began)
        for name, verdict in judged.verdicts.items():
            observer.decided(name, verdict.outcome.value, verdict.kind.value, verdict.level or "none")
            if evidence:
                _tell_unknown(observer, verdict, case)
    return judged


def _tell_unknown(observer: Observer, verdict: Verdict, case: Case) -> None:
    """The facts for which gates of a policy that is concerned could not be judged."""
    if verdict.fired.when is Truth.FAIL:
        return
    gates = zip(verdict.fired.plan.gates, verdict.fired.gates, strict=True)
    facts = {leaf.fact for gate, result in gates if result is Truth.UNKNOWN for leaf in leaves(gate.condition)}
    for fact in sorted(facts):
        if (status := case.reading(fact).status) != "known":
            observer.unknown(fact, status)
