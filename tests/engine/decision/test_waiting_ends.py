"""Until when does a policy wait, and what ends its patience?"""

from __future__ import annotations

import pytest
from tests.engine.decision import shipped_case
from tests.engine.decision.shipped_case import CONTINUE
from tests.engine.evaluation.generating import NOW
from tests.engine.evaluation.written import case, evaluator, gate, policy

from oncemore.engine.decision import decide
from oncemore.engine.record_text import instant
from oncemore.rules.case import Case

WAITING = gate("flag", "a.flag", "wait")


def until(asked_case: Case, *conditions: str) -> int | None:
    gates = [gate(f"g{number}", text, "wait") for number, text in enumerate(conditions)]
    decided = decide(evaluator(policy(*gates)), asked_case)
    [record] = decided.records
    assert record["until"] == (None if decided.due is None else instant(decided.due))
    return None if decided.due is None else decided.due - NOW


@pytest.mark.parametrize(
    ("age", "conditions", "after"),
    [
        (37_000, ['a.age >= duration("60s")'], 23_000),
        (37_000, ['a.age > duration("60s")'], 23_001),
        (0, ['a.age == duration("5m")'], 300_000),
        (0, ['a.age != duration("0s")'], 1),
        (0, ['!(a.age <= duration("1h"))'], 3_600_001),
        (0, ['a.age in [duration("1m"), duration("2m")]'], 60_000),
        (0, ['a.age >= duration("1m")', 'a.age >= duration("2m")'], 120_000),
        (0, ['a.age >= duration("1m")', 'a.age <= duration("30s")'], 60_000),
        (0, ['a.count == 1 || a.age >= duration("1m")'], 60_000),
        (0, ['a.flag || a.age >= duration("1m")'], 60_000),
        (90_000, ['a.age <= duration("1m")'], None),
        (0, ['a.age >= duration("1m") && a.age <= duration("30s")'], None),
        (0, ['a.age >= duration("1m") && a.count == 1'], None),
        (0, ["a.count == 1"], None),
        (2**63 - 1, ['a.age == duration("1m")'], None),
        (0, [f'a.age >= duration("{2**53 - 1}ms")'], None),
    ],
)
def test_it_is_the_earliest_time_at_which_the_failing_time_bound_gates_pass(
    age: int, conditions: list[str], after: int | None
) -> None:
    assert until(case({"a.age": age, "a.count": 0, "a.flag": False}), *conditions) == after


def test_an_unknown_duration_gives_no_time() -> None:
    assert until(case({}), 'a.age >= duration("60s")') is None


def test_only_a_wait_names_a_time() -> None:
    gates = [gate("old", 'a.age >= duration("60s")', "wait"), gate("flag", "a.flag", "hold")]
    [record] = decide(evaluator(policy(*gates)), case({"a.age": 0, "a.flag": False})).records
    assert (record["outcome"], record["until"]) == ("hold", None)


def test_the_earliest_time_of_all_that_wait_is_the_time_of_the_pass() -> None:
    sooner = policy(gate("old", 'a.age >= duration("60s")', "wait"), name="sooner")
    later = policy(gate("old", 'a.age >= duration("90s")', "wait"), name="later")
    assert decide(evaluator(sooner, later), case({"a.age": 0})).due == NOW + 60_000


def test_the_shipped_continuation_waits_exactly_a_minute() -> None:
    for age, outcome in ((0, "wait"), (59_999, "wait"), (60_000, "fire"), (86_400_000, "fire"), (86_400_001, "hold")):
        decided = decide(shipped_case.evaluator(), shipped_case.case(turn__ended_ago=age))
        assert decided.verdicts[CONTINUE].outcome.value == outcome
        assert decided.verdicts[CONTINUE].until == (shipped_case.NOW + 60_000 - age if outcome == "wait" else None)


@pytest.mark.parametrize(
    ("since", "outcome", "kind"),
    [
        (None, "wait", "gate_failed"),
        (NOW, "wait", "gate_failed"),
        (NOW - 999, "wait", "gate_failed"),
        (NOW - 1_000, "hold", "patience"),
        (NOW - 10**15, "hold", "patience"),
        (NOW + 10**9, "wait", "gate_failed"),
    ],
)
def test_a_wait_becomes_a_hold_once_it_has_lasted_as_long_as_the_patience(
    since: int | None, outcome: str, kind: str
) -> None:
    asked = evaluator(policy(WAITING, patience=1_000))
    [record] = decide(asked, case({"a.flag": False}, waiting_since=since)).records
    assert (record["outcome"], record["reason"]) == (outcome, {"kind": kind, "gate": "flag"})


def test_patience_ends_a_wait_for_evidence_and_for_when_too() -> None:
    asked = evaluator(policy(WAITING, when="a.done", patience=1_000))
    [record] = decide(asked, case({"a.done": True}, waiting_since=NOW - 1_000)).records
    assert (record["outcome"], record["reason"]) == ("hold", {"kind": "patience", "gate": "flag"})
    [record] = decide(asked, case({}, waiting_since=NOW - 1_000)).records
    assert (record["outcome"], record["reason"]) == ("hold", {"kind": "patience", "gate": None})


def test_patience_touches_neither_what_fires_nor_what_is_more_severe() -> None:
    asked = evaluator(policy(WAITING, gate("done", "a.done", "deny"), patience=1_000))
    long_ago = NOW - 10**9
    fires = decide(asked, case({"a.flag": True, "a.done": True}, waiting_since=long_ago))
    assert fires.fired == "written"
    [record] = decide(asked, case({"a.flag": False, "a.done": False}, waiting_since=long_ago)).records
    assert (record["outcome"], record["reason"]) == ("deny", {"kind": "gate_failed", "gate": "done"})


def test_without_patience_a_wait_lasts() -> None:
    [record] = decide(evaluator(policy(WAITING)), case({"a.flag": False}, waiting_since=0)).records
    assert record["outcome"] == "wait"
