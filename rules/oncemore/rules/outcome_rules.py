"""Which rules say what a policy's outcome is?

One per gate and way of not passing, ordered by priority; the first that fires is the outcome. The policy's own gates
come before its floor's: the floor speaks only when all of them have passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oncemore.rules.engine_text import (
    FAIL,
    MAX_PENDING,
    PASS,
    UNKNOWN,
    Condition,
    Ruleset,
    definition,
    packed,
    result_texts,
    rule,
    warm,
)
from oncemore.rules.outcome import Outcome
from oncemore.rules.policy import Gate, Policy


@dataclass(frozen=True, slots=True)
class Ending:
    """What an outcome rule says when it is the first to fire.

    Attributes:
        gate: place of the deciding gate in `Plan.gates`; None when no gate decided.
        truth: FAIL or UNKNOWN, of the deciding gate or of `when`.
        impatient: the wait outlasted the policy's patience.
        carry: what the next ruleset of this stage is told.
    """

    outcome: Outcome
    gate: int | None
    truth: int
    impatient: bool
    carry: int


NOTHING_YET = 7
"""Carried to the next ruleset when every gate so far has passed."""

_LETTERS = {Outcome.DENY: "D", Outcome.HOLD: "H", Outcome.WAIT: "W"}
_CLASS = {Outcome.DENY: 1, Outcome.HOLD: 2, Outcome.WAIT: 3}


Place = tuple[int, bool]


def outcome_rulesets(
    policy: Policy, gates: tuple[Gate, ...], when: Place, places: Sequence[Place]
) -> tuple[tuple[Ruleset, ...], dict[str, Ending]]:
    """Rulesets asked one after the other, each told how severe the one before it was; and what their rules say.

    A floor's gate whose result is that of a gate of the policy itself is left out: it speaks only when that one passed.
    """
    own = set(places[: len(policy.gates)])
    judged = [
        (number, gate, place)
        for number, (gate, place) in enumerate(zip(gates, places, strict=True))
        if not (gate.floor and place in own)
    ]
    # Beside the gates, the rules of `when`, of the earlier verdict and of passing can be pending.
    chunks = list(packed(judged, lambda chunk: len(chunk) <= MAX_PENDING - 6)) or [[]]
    endings: dict[str, Ending] = {}
    rulesets = []
    for position, chunk in enumerate(chunks):
        stage = _Stage(policy.patience, endings)
        if position == 0:
            stage.begin(when)
        else:
            stage.go_on()
        for number, gate, place in chunk:
            stage.judge(number, gate, place)
        stage.end("fire" if position == len(chunks) - 1 else "pass")
        rulesets.append(stage.ruleset())
    return tuple(rulesets), endings


class _Stage:
    """One ruleset in the making."""

    def __init__(self, patience: int | None, endings: dict[str, Ending]) -> None:
        self.patience = patience
        self.endings = endings
        self.rules = warm()
        self.texts: dict[str, tuple[int, tuple[str, str, str]]] = {}
        self.passing: dict[str, Condition] = {}

    def begin(self, when: Place) -> None:
        key = self.key(when)
        self.add("none", 1, [{key: FAIL}], Ending(Outcome.NOT_CONCERNED, None, FAIL, False, 0))
        self.wait("when", "past", 2, {key: UNKNOWN}, Ending(Outcome.WAIT, None, UNKNOWN, False, 0))

    def go_on(self) -> None:
        """What an earlier ruleset said stands, unless a gate of this one is more severe."""
        for carried in range(NOTHING_YET):
            self.rules[f"keep.{carried}"] = rule([{"e": carried}], priority=1 + carried * 1000)
        self.passing["e"] = {"e": NOTHING_YET}

    def judge(self, number: int, gate: Gate, place: Place) -> None:
        key = self.key(place)
        for truth, outcome in ((FAIL, gate.otherwise), (UNKNOWN, gate.unknown)):
            severity = _CLASS[outcome] + (3 if gate.floor else 0)
            priority = severity * 1000 + 2 + number
            name, impatient = (
                f"{letter if truth == FAIL else letter.lower()}{number:03d}" for letter in (_LETTERS[outcome], "P")
            )
            ending = Ending(outcome, number, truth, False, severity)
            if outcome is Outcome.WAIT:
                self.wait(name, impatient, priority, {key: truth}, ending)
            else:
                self.add(name, priority, [{key: truth}], ending)

    def end(self, name: str) -> None:
        ending = Ending(Outcome.FIRE, None, PASS, False, NOTHING_YET)
        self.add(name, NOTHING_YET * 1000, list(self.passing.values()), ending)

    def key(self, place: Place) -> str:
        """The name under which a result stands in the fact; turned results have names of their own."""
        key = f"{'h' if place[1] else 'g'}{place[0]}"
        self.texts[key] = (place[0], result_texts(key, turn=place[1]))
        self.passing[key] = {key: PASS}
        return key

    def add(self, name: str, priority: int, condition: list[Condition], ending: Ending) -> None:
        self.rules[name] = rule(condition, priority=priority)
        self.endings[name] = ending

    def wait(self, name: str, impatient: str, priority: int, condition: Condition, ending: Ending) -> None:
        """Waiting, and what it becomes once it has lasted, `w`, as long as the patience; never both."""
        if self.patience is None:
            self.add(name, priority, [condition], ending)
            return
        self.add(name, priority, [condition, {"$lt": {"w": self.patience}}], ending)
        held = replace(ending, outcome=Outcome.HOLD, impatient=True)
        self.add(impatient, priority, [condition, {"$gte": {"w": self.patience}}], held)

    def ruleset(self) -> Ruleset:
        return Ruleset(definition(self.rules), slots=tuple(self.texts.values()))
