"""What the engine said of a case holds for every other one that no comparison tells from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.engine.evaluation.generating import VOCABULARY
from tests.engine.evaluation.written import case, gate, policy

from oncemore.engine.engine_session import Session
from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Value
from oncemore.rules.policy import Policy


class Asked:
    """An evaluator, with a count of how often the engine was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, written: Policy, keep: int = 1024) -> None:
        self.evaluator = Evaluator([written], lambda _: (), facts=VOCABULARY, keep=keep)
        self.times = 0
        asked = Session._asked

        def counted(session: Session, case: object) -> object:
            self.times += 1
            return asked(session, case)

        monkeypatch.setattr(Session, "_asked", counted)

    def gates(self, facts: Mapping[str, Value]) -> str:
        return self.evaluator.ask("written", case(facts)).gates[0].value

    def every(self, fact: str, values: Sequence[Value]) -> list[str]:
        return [self.gates({fact: value}) for value in values]


def test_numbers_between_the_same_literals_are_one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, policy(gate("is", "a.count >= 3 && a.count != 7")))
    told = asked.every("a.count", [0, 2, 3, 4, 6, 7, 8, 1_000])
    assert told == ["fail", "fail", "pass", "pass", "pass", "fail", "pass", "pass"]
    assert asked.times == 5  # below 3, at 3, between, at 7, above


def test_what_is_no_number_is_no_case_of_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, policy(gate("is", "a.count >= 1")))
    assert asked.every("a.count", [1, True, 2**70, "1"]) == ["pass", "unknown", "unknown", "unknown"]


def test_facts_that_are_not_compared_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, policy(gate("is", "a.flag")))
    assert [asked.gates({"a.flag": True, "a.count": count}) for count in range(5)] == ["pass"] * 5
    assert asked.times == 1


def test_when_as_many_are_kept_as_may_be_it_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, policy(gate("is", "a.count >= 3")), keep=2)
    assert asked.every("a.count", [2, 3, 4, 4, 2, 3, 4]) == ["fail", *["pass"] * 3, "fail", "pass", "pass"]
    assert asked.times == 6


def test_nothing_is_kept_where_nothing_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, policy(gate("is", "a.flag")), keep=0)
    assert asked.every("a.flag", [True, True]) == ["pass", "pass"]
    assert asked.times == 2
