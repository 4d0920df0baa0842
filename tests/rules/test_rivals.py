"""Two policies on one case: proven impossible for the shipped ones, found with a case for planted ones."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import pytest
from tests.oracle import evaluate

from oncemore.engine.decision import decide
from oncemore.engine.evaluation import Evaluator
from oncemore.rules import cells
from oncemore.rules.case import Case, Evidence, Reading
from oncemore.rules.check import check_paths
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import Outcome
from oncemore.rules.parsing import parse
from oncemore.rules.policy import Policy
from oncemore.rules.rivals import Rivals
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.witness import Values

POLICIES = {policy.name: policy for policy in load_policies([shipped_policies()]).policies}
NOW = 1_796_040_000_000


def both_fire(first: Policy, second: Policy) -> Values | None:
    return Rivals((first, second)).both_fire(first.name, second.name)


def one_fires_undecided(first: Policy, second: Policy) -> Values | None:
    return Rivals((first, second)).one_fires_undecided(first.name, second.name)


def decided(first: Policy, second: Policy, witness: Values) -> dict[str, Outcome]:
    evidence = Evidence("file", NOW)
    readings = {fact: Reading("known", value, evidence) for fact, value in witness.items() if value is not None}
    verdicts = decide(Evaluator((first, second)), Case(NOW, readings)).verdicts
    return {name: verdict.fired.outcome for name, verdict in verdicts.items()}


@pytest.mark.parametrize(("first", "second"), list(combinations(sorted(POLICIES), 2)))
def test_no_two_shipped_policies_can_fire_on_one_case(first: str, second: str) -> None:
    assert both_fire(POLICIES[first], POLICIES[second]) is None


@pytest.mark.parametrize(("first", "second"), list(permutations(sorted(POLICIES), 2)))
def test_a_shipped_policy_that_fires_is_never_kept_waiting_by_another(first: str, second: str) -> None:
    assert one_fires_undecided(POLICIES[first], POLICIES[second]) is None


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_each_shipped_policy_can_fire(name: str) -> None:
    witness = both_fire(POLICIES[name], POLICIES[name])
    assert witness is not None
    assert decided(POLICIES[name], POLICIES[name], witness) == {name: Outcome.FIRE}


def test_a_policy_that_overlaps_is_found_with_a_case_in_which_both_fire(tmp_path: Path) -> None:
    twin = replace(
        POLICIES["continue-unfinished-work"],
        name="twin",
        digest="sha256:twin",
        gates=tuple(g for g in POLICIES["continue-unfinished-work"].gates if g.id != "recent"),
    )
    witness = both_fire(POLICIES["continue-unfinished-work"], twin)
    assert witness is not None
    outcomes = decided(POLICIES["continue-unfinished-work"], twin, witness)
    assert set(outcomes.values()) == {Outcome.FIRE}


def test_policies_apart_by_one_threshold_are_apart_exactly() -> None:
    base = POLICIES["continue-unfinished-work"]
    early = replace(base, name="early", when=parse('turn.ended_ago < duration("2h")'))
    late = replace(base, name="late", when=parse('turn.ended_ago >= duration("2h")'))
    both = replace(base, name="both", when=parse('turn.ended_ago <= duration("2h")'))
    assert both_fire(early, late) is None
    witness = both_fire(both, late)
    assert witness is not None
    assert witness["turn.ended_ago"] == 7_200_000


def test_a_rival_that_depends_on_a_fact_the_other_does_not_need_is_undecided() -> None:
    base = POLICIES["retry-route"]
    first = replace(base, name="first", when=parse('turn.status == "failed"'))
    second = replace(base, name="second", when=parse('turn.status == "failed" && native.steps > 3'))
    witness = one_fires_undecided(first, second)
    assert witness is not None
    assert witness.get("native.steps") is None
    known = {fact: value for fact, value in witness.items() if value is not None}
    assert all(evaluate(gate.condition, known) is True for gate in first.gates)
    outcomes = decided(first, second, witness)
    assert outcomes["first"] is Outcome.FIRE
    assert outcomes["second"] is Outcome.WAIT


def test_more_combinations_than_are_tried_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    either = replace(POLICIES["retry-quota"], name="either", when=parse("native.latest || native.steps > 3"))
    assert both_fire(either, either) is not None
    monkeypatch.setattr(cells, "MAX_STEPS", 0)
    with pytest.raises(cells.Undecided):
        both_fire(either, either)


def test_check_names_the_pair_and_shows_a_case_that_decide_confirms(tmp_path: Path) -> None:
    for name in ("continue-unfinished-work.yaml", "groups"):
        source = shipped_policies() / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    text = (tmp_path / "continue-unfinished-work.yaml").read_text()
    twin = text.replace("policy: continue-unfinished-work", "policy: twin")
    (tmp_path / "twin.yaml").write_text(twin)
    (tmp_path / "groups" / "reviewable.yaml").unlink()
    [finding] = check_paths([tmp_path])
    assert (finding.code, finding.file, finding.line) == ("R408", str(tmp_path / "twin.yaml"), 2)
    assert "`continue-unfinished-work` and `twin`" in finding.message
    assert finding.case is not None and "turn.ended_ago: 1m" in finding.case
