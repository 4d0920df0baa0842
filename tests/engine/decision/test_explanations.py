"""Is a decision explained truly, in both languages, to each audience?"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import pytest
from tests.engine.decision import shipped_case
from tests.engine.decision.shipped_case import CONTINUE, NOW
from tests.engine.evaluation.written import case, evaluator, gate, policy

from oncemore.engine.decision import decide
from oncemore.engine.explanation import Audience, Format, Language, explain, sentence
from oncemore.engine.phrases import WORDS
from oncemore.rules.case import Evidence, Reading
from oncemore.rules.outcome import ReasonKind

LANGUAGES, AUDIENCES, FORMATS = get_args(Language), get_args(Audience), get_args(Format)


def shipped_record(**spoiled: Any) -> dict[str, Any]:
    decided = decide(shipped_case.evaluator(), shipped_case.case(**spoiled))
    return next(one for one in decided.records if one["policy"]["name"] == CONTINUE)


def every_kind() -> dict[str, dict[str, Any]]:
    """A record of each kind of reason."""
    flag = policy(gate("flag", "a.flag", "wait"), name="flag", patience=1_000)
    done = policy(gate("done", "a.done"), name="done", when="a.count == 0")
    floor = policy(name="floor")
    passes = [
        decide(evaluator(flag, done), case(facts, waiting_since=since))
        for facts, since in (
            ({"a.flag": True, "a.done": True, "a.count": 0}, None),
            ({"a.flag": True, "a.count": 0}, None),
            ({"a.flag": True, "a.done": False, "a.count": 0}, None),
            ({"a.flag": False, "a.count": 1}, None),
            ({"a.flag": False}, 0),
        )
    ]
    passes.append(decide(evaluator(floor, floor=[gate("floor/flag", "a.flag", floor=True)]), case({"a.flag": False})))
    for status in ("stale", "conflict"):
        asked = case({})
        reading = Reading(status, False, Evidence("codex", asked.now - 90_000))  # type: ignore[arg-type]
        passes.append(decide(evaluator(flag), replace(asked, readings={**asked.readings, "a.flag": reading})))
    broken = evaluator(flag)
    plan = broken.plans["flag"]
    warm_only = '{"warm": {"all": [{"m": {"warm": 1}}]}}'
    broken.plans = {"flag": replace(plan, outcome_rulesets=(replace(plan.outcome_rulesets[0], text=warm_only),))}
    passes.append(decide(broken, case({"a.flag": False})))
    return {record["reason"]["kind"]: record for one in passes for record in one.records}


RECORDS = every_kind()


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+", text))


def test_there_is_a_record_of_every_kind_of_reason() -> None:
    assert set(RECORDS) == {kind.value for kind in ReasonKind}


@pytest.mark.parametrize("kind", sorted(RECORDS))
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("audience", AUDIENCES)
def test_both_languages_give_the_same_numbers(kind: str, form: Format, audience: Audience) -> None:
    english, chinese = (explain(RECORDS[kind], lang, audience, form) for lang in LANGUAGES)
    assert numbers(english) == numbers(chinese)
    assert english != chinese


@pytest.mark.parametrize("kind", sorted(RECORDS))
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_sentence_comes_first_and_leaves_nothing_open(kind: str, lang: Language) -> None:
    said = sentence(RECORDS[kind], lang)
    assert explain(RECORDS[kind], lang).startswith(said + "\n")
    assert "None" not in said
    assert not re.search(r"[{}]", said)
    assert RECORDS[kind]["policy"]["name"] in said


def test_every_phrase_is_there_in_every_language_with_the_same_places() -> None:
    places = [{key: set(re.findall(r"\{(\w+)\}", text)) for key, text in words.items()} for words in WORDS.values()]
    assert places[0] == places[1]


def test_the_operator_sees_every_gate_with_what_was_read_and_wanted() -> None:
    record = shipped_record(turn__ended_ago=37_000)
    said = explain(record)
    assert said.splitlines()[0] == (
        "continue-unfinished-work waits: A completed turn is left alone for a minute. "
        "Gate backoff: turn.ended_ago is 37s, wanted >= 60s. Looked at again from 2026-11-30T12:00:23.000Z."
    )
    assert all(one["id"] in said and one["expression"] in said for one in record["gates"])
    assert "turn.ended_ago is 37s, wanted >= 60s  from journal, 1s old" in said
    assert "\033" not in said
    assert "\033[31mfail" in explain(record, colour=True)


def test_what_is_not_known_is_named_with_its_cause() -> None:
    said = explain(shipped_record(native__background=None))
    assert "native.background is missing, wanted == none" in said
    assert "Missing: native.background" in said
    stale = explain(RECORDS["evidence_stale"])
    assert "a.flag is too old (read: false), wanted == true" in stale
    assert "from codex, 1m30s old" in stale


def test_an_agent_is_shown_only_what_stands_in_the_way() -> None:
    said = json.loads(explain(shipped_record(turn__ended_ago=37_000), "en", "agent", "json"))
    assert [one["id"] for one in said["gates"]] == ["backoff"]
    assert said["until"] == "2026-11-30T12:00:23.000Z"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("form", FORMATS)
def test_the_person_is_told_the_reason_and_the_time_and_nothing_internal(lang: Language, form: Format) -> None:
    record = shipped_record(turn__ended_ago=37_000)
    said = explain(record, lang, "user", form)
    why = next(one["why"][lang] for one in record["gates"] if one["id"] == "backoff")
    assert why in said
    assert "2026-11-30T12:00:23.000Z" in said
    internal = {one["fact"] for gate in record["gates"] for one in gate["operands"]}
    internal |= {one["id"] for one in record["gates"]} | {CONTINUE, "journal", "37s"}
    assert not [word for word in internal if word in said]


def test_the_person_is_told_nothing_of_a_fault() -> None:
    record = RECORDS["fault"]
    assert record["reason"]["fault"]
    assert record["reason"]["fault"] not in explain(record, "en", "user")


def test_evidence_details_are_shown_without_what_could_steer_a_terminal() -> None:
    good = shipped_case.case(native__effects="active")
    evidence = Evidence("codex", NOW, details={"range": "3-7\x1b[2J", "note": "a\nb"})
    readings = {**good.readings, "native.effects": replace(good.readings["native.effects"], evidence=evidence)}
    record = decide(shipped_case.evaluator(), replace(good, readings=readings)).records[0]
    for form in ("pretty", "markdown"):
        said = explain(record, format=form)  # type: ignore[arg-type]
        assert "range 3-7\ufffd[2J" in said
        assert "\x1b" not in said
        assert "a\ufffdb" in said
