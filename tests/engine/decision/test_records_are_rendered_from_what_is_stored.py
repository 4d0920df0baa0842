"""Is everything that a decision record says in the stored bytes and the policy texts?"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from typing import Any

import pytest
import rfc8785
from tests.engine.decision import shipped_case
from tests.engine.decision.shipped_case import CONTINUE, NOW
from tests.engine.evaluation import generating
from tests.engine.evaluation.written import case, evaluator, gate, policy

from oncemore.engine import records
from oncemore.engine.canonical import canonical
from oncemore.engine.decision import decide
from oncemore.engine.evaluation import Evaluator
from oncemore.engine.records import NotRenderable, judged_by, render, written
from oncemore.rules.case import Case, Evidence, Reading

TEXTS = {one.digest: one.texts for one in shipped_case.shipped().policies}


def varied(rng: random.Random) -> Case:
    """The firing case with some facts otherwise, some not known."""
    good = shipped_case.case()
    readings = dict(good.readings)
    for name in rng.sample(sorted(readings), rng.randint(0, 5)):
        status = rng.choice(("missing", "stale", "conflict", "reported", "clock"))
        details = {"prompt_hash": 'a"b', "范围": "1-2"} if rng.random() < 0.5 else {}
        evidence = Evidence("codex", NOW - rng.randint(0, 10**7), 60_000, "sha256:ab", details)
        readings[name] = replace(readings[name], status=status, evidence=rng.choice((None, evidence)))
    readings["turn.ended_ago"] = Reading("known", rng.choice((0, 37_000, 60_000, 10**8)), Evidence("journal", NOW))
    return replace(good, readings=readings, waiting_since=rng.choice((None, NOW - 5, NOW - 10**8)))


@pytest.mark.parametrize("levels", [None, {CONTINUE: "enforce"}, {CONTINUE: "shadow"}, {}])
def test_rendering_from_bytes_and_texts_gives_the_same_bytes(levels: dict[str, str] | None) -> None:
    rng = random.Random(11)
    for _ in range(40):
        decided = decide(shipped_case.evaluator(), varied(rng), stage="admission", request="req-1", levels=levels)
        assert canonical(render(decided.stored, TEXTS)) == canonical(decided.records)
        for record in decided.records:
            verdict = decided.verdicts[record["policy"]["name"]]
            assert record["outcome"] == verdict.outcome.value
            assert record["reason"]["kind"] == verdict.kind.value
            assert record["reason"]["gate"] == verdict.gate
            assert [one["result"] for one in record["gates"]] == [one.value for one in verdict.fired.gates]


def test_what_is_stored_is_canonical_whatever_the_case_holds() -> None:
    rng = random.Random(12)
    for _ in range(40):
        policies = [generating.policy(rng, f"p{number}", gates=2) for number in range(3)]
        asked = Evaluator(policies, lambda _: (), facts=generating.VOCABULARY)
        for _ in range(15):
            decided = decide(asked, generating.case(rng), request=rng.choice((None, 'é"\n')))
            kept = json.loads(decided.stored)
            assert rfc8785.dumps(kept) == decided.stored
            assert rfc8785.dumps(json.loads(decided.json())) == decided.json()
            records = written(decided.stored, asked.by_digest, asked.facts)
            assert [rfc8785.dumps(json.loads(one)) for one in records] == records == decided.written
        asked.close()


def test_a_decision_is_named_by_the_hash_of_the_pass_and_its_policy() -> None:
    decided = decide(shipped_case.evaluator(), shipped_case.case())
    for record in decided.records:
        named = {"pass": json.loads(decided.stored), "policy": record["policy"]["name"]}
        assert record["decision_id"] == "sha256:" + hashlib.sha256(rfc8785.dumps(named)).hexdigest()


def test_another_time_stage_request_or_value_is_another_decision() -> None:
    asked, good = shipped_case.evaluator(), shipped_case.case()
    passes = [
        decide(asked, good),
        decide(asked, replace(good, now=NOW + 1)),
        decide(asked, good, stage="dispatch"),
        decide(asked, good, request="req-1"),
        decide(asked, good, origin="posted"),
        decide(asked, shipped_case.case(turn__ended_ago=120_001)),
    ]
    assert len({one.records[0]["decision_id"] for one in passes}) == len(passes)
    assert decide(asked, good).records == passes[0].records


def test_a_record_says_what_was_read_and_what_was_wanted() -> None:
    [record] = [
        one
        for one in decide(shipped_case.evaluator(), shipped_case.case(turn__ended_ago=37_000)).records
        if one["policy"]["name"] == CONTINUE
    ]
    backoff = next(one for one in record["gates"] if one["id"] == "backoff")
    assert backoff["operands"] == [
        {
            "fact": "turn.ended_ago",
            "value": "37s",
            "wanted": ">= 60s",
            "status": "known",
            "source": "journal",
            "observed_at": "2026-11-30T11:59:59.000Z",
            "age": "1s",
        }
    ]
    assert backoff["expression"] == 'turn.ended_ago >= duration("60s")'
    assert backoff["at"].startswith("policies/continue-unfinished-work.yaml:")
    assert record["at"] == "2026-11-30T12:00:00.000Z"
    assert record["until"] == "2026-11-30T12:00:23.000Z"
    assert record["facts"]["turn.ended_ago"] == "37s"
    assert record["facts"]["attempts.work"] == 0
    assert record["facts_digest"] == "sha256:" + hashlib.sha256(rfc8785.dumps(record["facts"])).hexdigest()
    assert record["engine"] == {"name": "durable-rules", "version": "2.0.28"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a.flag", ["== true"]),
        ("!a.flag", ["== false"]),
        ("a.flag != true", ["== false"]),
        ("!(a.count < 5)", [">= 5"]),
        ('!(s.state in ["open", "closed"])', ["not in [open, closed]"]),
        ('!(s.state == "open" && a.flag)', ["!= open", "== false"]),
        ('a.age >= duration("90s") || a.age == duration("0s")', [">= 90s", "== 0s"]),
        ("a.count == 9223372036854775807", ["== 9223372036854775807"]),
    ],
)
def test_wanted_is_what_each_comparison_has_to_be(text: str, wanted: list[str]) -> None:
    [record] = decide(evaluator(policy(gate("g", text))), case({})).records
    assert [one["wanted"] for one in record["gates"][0]["operands"]] == wanted


def test_a_number_that_json_cannot_hold_is_kept_as_text() -> None:
    [record] = decide(evaluator(policy(gate("g", "a.count > 0"))), case({"a.count": 2**63 - 1})).records
    assert record["facts"]["a.count"] == "9223372036854775807"
    assert record["gates"][0]["operands"][0]["value"] == "9223372036854775807"


@pytest.mark.parametrize("junk", [float("nan"), "\ud800", [1], b"a", "x" * 100_000])
def test_a_value_that_is_none_of_its_type_is_recorded_as_missing(junk: Any) -> None:
    decided = decide(evaluator(policy(gate("g", 'a.text == "a"'))), case({"a.text": junk, "undeclared": junk}))
    [record] = decided.records
    assert record["gates"][0]["operands"][0]["status"] == "missing"
    assert record["missing"] == ["a.text"]
    assert record["reason"] == {"kind": "evidence_missing", "gate": "g"}
    assert "undeclared" not in json.loads(decided.stored)["case"]["facts"]


def test_a_fault_is_recorded_as_a_hold_without_results() -> None:
    asked = evaluator(policy(gate("g", "a.flag", "deny")))
    plan = asked.plans["written"]
    broken = replace(
        plan, leaf_rulesets=(replace(plan.leaf_rulesets[0], text='{"warm": {"all": [{"m": {"warm": 1}}]}}'),)
    )
    asked.plans = {"written": broken}
    decided = decide(asked, case({"a.flag": False}))
    [record] = decided.records
    assert decided.outcome.value == "hold"
    assert (record["outcome"], record["reason"]["kind"], record["reason"]["gate"]) == ("hold", "fault", None)
    assert record["gates"][0]["result"] == "unknown"


def test_a_pass_whose_text_is_gone_is_not_rendered() -> None:
    decided = decide(shipped_case.evaluator(), shipped_case.case())
    with pytest.raises(NotRenderable):
        render(decided.stored, {})


@pytest.mark.parametrize("name", ["floor", "vocabulary"])
def test_a_pass_whose_floor_or_vocabulary_is_not_kept_is_not_rendered(name: str) -> None:
    kept = json.loads(decide(shipped_case.evaluator(), shipped_case.case()).stored)
    kept[name] = "sha256:other"
    with pytest.raises(NotRenderable, match=f"the {name} that it was judged by"):
        render(canonical(kept), TEXTS)


@pytest.mark.parametrize(("name", "file"), [("floor", "floor.yaml"), ("vocabulary", "vocabulary.json")])
def test_a_floor_or_vocabulary_that_was_changed_is_not_taken_for_the_one_that_judged(name: str, file: str) -> None:
    decided = decide(shipped_case.evaluator(), shipped_case.case())
    digest = json.loads(decided.stored)[name]
    changed = judged_by()[digest][file].replace("bool", "int", 1) + " "
    with pytest.raises(NotRenderable, match="another one"):
        render(decided.stored, {**TEXTS, digest: {file: changed}})


def test_a_pass_judged_by_an_earlier_floor_and_vocabulary_is_rendered_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after an upgrade: today's have other digests, the old texts are kept beside the decision."""
    decided = decide(shipped_case.evaluator(), shipped_case.case())
    before, kept = canonical(decided.records), judged_by()
    monkeypatch.setattr(records, "judged_by", dict)
    assert canonical(render(decided.stored, {**TEXTS, **kept})) == before


def test_a_text_that_was_changed_afterwards_is_not_taken_for_the_one_that_decided() -> None:
    decided = decide(shipped_case.evaluator(), shipped_case.case())
    changed = {
        digest: {name: text.replace("60s", "61s") for name, text in texts.items()} for digest, texts in TEXTS.items()
    }
    with pytest.raises(NotRenderable):
        render(decided.stored, changed)
