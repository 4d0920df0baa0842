"""A facts file or a test's case says what is known and what is not; every mistake in it is shown where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import write

from oncemore.rules import times
from oncemore.rules.case import Reading
from oncemore.rules.cases import TEST_NOW, facts_from_bytes, load_facts, load_tests
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.expectations import Known

NOW = 1_700_000_000_000


def facts_errors(text: str) -> list[Diagnostic]:
    with pytest.raises(FactsInvalid) as caught:
        facts_from_bytes(text.encode(), "facts.yaml", NOW)
    return list(caught.value.diagnostics)


def test_a_file_states_facts_of_every_type(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "facts: {request.state: open, request.attachments: 0, native.latest: true, turn.ended_ago: 1m30s}\n",
        "facts.yaml",
    )
    case = load_facts(path, NOW)
    assert case.now == case.waiting_since == NOW
    assert {name: reading.value for name, reading in case.readings.items()} == {
        "request.state": "open", "request.attachments": 0, "native.latest": True, "turn.ended_ago": 90_000,
    }  # fmt: skip
    assert {reading.status for reading in case.readings.values()} == {"known"}
    evidence = case.reading("native.latest").evidence
    assert evidence is not None
    assert (evidence.source, evidence.observed_at) == ("file", NOW)


def test_the_same_file_may_be_json() -> None:
    text = '{"now": "2026-11-30T12:00:00Z", "facts": {"turn.ended_ago": "90s", "native.latest": false}}'
    case = facts_from_bytes(text.encode(), "facts.json", NOW)
    assert case.now == times.parse("2026-11-30T12:00:00Z")
    assert case.reading("turn.ended_ago").value == 90_000
    assert case.reading("native.latest").value is False


def test_json_may_be_indented_with_tabs() -> None:
    assert facts_from_bytes(b'{\n\t"facts": {\n\t\t"native.latest": true\n\t}\n}\n', "f", NOW).readings
    [one] = facts_errors('{\n\t"facts": {\n\t\t"native.lates": true\n\t}\n}\n')
    assert (one.code, one.line, one.column) == ("R302", 3, 3)


def test_what_is_named_nowhere_is_missing() -> None:
    assert facts_from_bytes(b"facts: {}\nmissing: [native.read]\n", "f", NOW).readings == {}


def test_unknown_is_no_value_whatever_the_type() -> None:
    text = "facts: {request.state: unknown, native.latest: unknown, turn.attempt: unknown, turn.ended_ago: unknown}"
    case = facts_from_bytes(text.encode(), "f", NOW)
    assert {(reading.status, reading.value) for reading in case.readings.values()} == {("reported", None)}


def test_a_stale_fact_keeps_its_value_to_be_shown() -> None:
    case = facts_from_bytes(b"facts: {source.state: edited}\nstale: {source.state: 61s}\n", "f", NOW)
    reading = case.reading("source.state")
    assert (reading.status, reading.value) == ("stale", "edited")
    assert reading.evidence is not None
    assert reading.evidence.observed_at == NOW - 61_000


def test_a_conflict_has_no_value_of_its_own() -> None:
    case = facts_from_bytes(b"conflict: [source.state]\n", "f", NOW)
    reading = case.reading("source.state")
    assert (reading.status, reading.value) == ("conflict", None)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("facts: {request.stat: open}", "R302", 1, 9),
        ("facts: {request.state: opne}", "R304", 1, 24),
        ("facts: {request.state: 1}", "R303", 1, 24),
        ("facts: {request.state: }", "R303", 1, 9),
        ("facts: {native.latest: yes}", "R303", 1, 24),
        ("facts: {native.latest: 1}", "R303", 1, 24),
        ("facts: {turn.attempt: 1.5}", "R303", 1, 23),
        ("facts: {turn.attempt: '1'}", "R303", 1, 23),
        ("facts: {turn.attempt: true}", "R303", 1, 23),
        ("facts: {turn.attempt: 9223372036854775808}", "R305", 1, 23),
        ("facts: {turn.ended_ago: 1d}", "R303", 1, 25),
        ("facts: {turn.ended_ago: -1}", "R303", 1, 25),
        ("facts: {turn.ended_ago: 5}", "R303", 1, 25),
        ("facts: {turn.ended_ago: true}", "R303", 1, 25),
        ("facts: {turn.ended_ago: [1]}", "R303", 1, 25),
        ("facts: {native.latest: true, native.latest: true}", "R102", 1, 30),
        ("facts: {native.latest: true}\nmissing: [native.latest]", "R501", 2, 11),
        ("facts: {native.latest: true}\nconflict: [native.latest]", "R501", 2, 12),
        ("missing: [native.latest]\nconflict: [native.latest]", "R501", 1, 11),
        ("missing: [native.latest, native.latest]", "R501", 1, 26),
        ("missing: [native.lates]", "R302", 1, 11),
        ("missing: native.latest", "R203", 1, 10),
        ("stale: {native.latest: 90s}", "R504", 1, 9),
        ("facts: {native.latest: true}\nstale: {native.latest: long}", "R303", 2, 24),
        ("facts: {native.latest: true}\nstale: {native.latest: 90}", "R303", 2, 24),
        ("facts: {native.latest: true}\nstale: {native.latest: }", "R303", 2, 9),
        ("facts: {native.latest: true}\nstale: {native.lates: 90s}", "R302", 2, 9),
        ("now: yesterday", "R502", 1, 6),
        ("now: -1", "R502", 1, 6),
        ("waiting_since: '2100-01-01T00:00:00Z'", "R502", 1, 16),
        ("fact: {}", "R201", 1, 1),
        ("[]", "R203", 1, 1),
        ("", "R108", 1, 1),
        ("facts: {native.latest: &x true}", "R103", 1, 24),
    ],
)
def test_what_is_no_fact_is_refused_where_it_stands(text: str, code: str, line: int, column: int) -> None:
    found = facts_errors(text)
    assert [(one.code, one.line, one.column) for one in found] == [(code, line, column)]


def test_every_error_of_the_file_is_reported() -> None:
    text = "now: soon\nfacts:\n  request.stat: open\n  request.state: opne\nmissing: [native.lates]\n"
    assert [one.code for one in facts_errors(text)] == ["R502", "R302", "R304", "R302"]


def test_a_number_without_a_unit_is_answered_with_those_that_it_could_have() -> None:
    facts = "facts: {turn.ended_ago: 5, source.state: edited}\nstale: {source.state: 7}\n"
    assert [one.help for one in facts_errors(facts)] == ["write 5s, 5m or 5h", "write 7s, 7m or 7h"]


@pytest.mark.parametrize("extra", ["nope: 1\n", "now: [1]\n", "waiting_since: true\n", "missing: native.latest\n"])
def test_a_mistake_outside_the_facts_hides_none_in_them(extra: str) -> None:
    found = facts_errors("facts: {source.state: edit, turn.ended_ago: 5}\nstale: {native.lates: 1s}\n" + extra)
    assert [one.code for one in found][:3] == ["R304", "R303", "R302"]
    assert len(found) == 4


def test_json_that_is_cut_off_is_answered_in_terms_of_json() -> None:
    [one] = facts_errors('{"facts": {"native.latest": true')
    assert one.code == "R101"
    assert one.message.startswith("not JSON")
    assert "cut off" in (one.help or "")


def test_a_file_that_is_not_there_has_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FactsInvalid) as caught:
        load_facts(tmp_path / "none.yaml", NOW)
    assert "none.yaml" in caught.value.diagnostics[0].file
    assert caught.value.diagnostics[0].code == "R108"


TESTS = """\
policy: p
base: {native.latest: true, source.state: unchanged, turn.ended_ago: 5m}
cases:
  - name: one
    facts: {source.state: edited}
    expect: {outcome: hold, blocked_by: [a, b], until: 23s}
  - name: two
    missing: [source.state]
    stale: {native.latest: 2m}
    conflict: [turn.ended_ago]
    waiting_since: 2025-12-31T00:00:00Z
    now: 2026-01-02T00:00:00Z
    expect: {unknown: [c], until: 2026-01-02T00:01:00Z, action: }
"""


def test_a_case_is_laid_over_the_base(tmp_path: Path) -> None:
    tests = load_tests(write(tmp_path, TESTS, "p_test.yaml"))
    one, two = tests.cases
    assert (tests.policy, one.name, one.line) == ("p", "one", 4)
    assert one.case.now == one.case.waiting_since == TEST_NOW
    assert one.case.reading("source.state").value == "edited"
    assert one.case.reading("native.latest").value is True
    assert one.expect == {"outcome": "hold", "blocked_by": ["a", "b"], "until": TEST_NOW + 23_000}
    assert two.case.now == times.parse("2026-01-02T00:00:00Z")
    assert two.case.waiting_since == times.parse("2025-12-31T00:00:00Z")
    assert two.case.reading("source.state") == Reading("missing")
    assert (two.case.reading("native.latest").status, two.case.reading("native.latest").value) == ("stale", True)
    assert (two.case.reading("turn.ended_ago").status, two.case.reading("turn.ended_ago").value) == (
        "conflict",
        300_000,
    )
    assert two.expect == {"unknown": ["c"], "until": two.case.now + 60_000, "action": None}


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (TESTS.replace("    expect: {unknown: [c], until: 2026-01-02T00:01:00Z, action: }\n", ""), "R202", 7),
        (TESTS.replace("{outcome: hold, blocked_by: [a, b], until: 23s}", "{}"), "R503", 6),
        (TESTS.replace("outcome: hold", "outcome: held"), "R203", 6),
        (TESTS.replace("outcome: hold", "outcom: hold"), "R201", 6),
        (TESTS.replace("23s", "soon"), "R502", 6),
        (TESTS.replace("name: two", "name: one"), "R505", 7),
        (TESTS.replace("{source.state: edited}", "{source.state: gone}"), "R304", 5),
        (TESTS.replace("source.state: unchanged", "source.stat: unchanged"), "R302", 2),
    ],
)
def test_a_bad_case_is_refused_where_it_stands(tmp_path: Path, text: str, code: str, line: int) -> None:
    with pytest.raises(FactsInvalid) as caught:
        load_tests(write(tmp_path, text, "p_test.yaml"))
    assert [(one.code, one.line) for one in caught.value.diagnostics] == [(code, line)]


def test_mistakes_of_a_test_file_hide_none_another(tmp_path: Path) -> None:
    text = TESTS.replace("cases:", "nope: 1\ncases:").replace("source.state: edited", "source.state: edit")
    text = text.replace("outcome: hold", "outcome: held").replace("{native.latest: 2m}", "{native.latest: 2}")
    with pytest.raises(FactsInvalid) as caught:
        load_tests(
            write(tmp_path, text.replace("2026-01-02T00:01:00Z", "60"), "p_test.yaml"), Known({"p": frozenset("ab")})
        )
    assert [(one.code, one.line) for one in caught.value.diagnostics] == [
        ("R201", 3), ("R304", 6), ("R203", 7), ("R303", 10), ("R507", 14), ("R203", 14),
    ]  # fmt: skip


def test_a_file_may_have_no_case_yet(tmp_path: Path) -> None:
    assert load_tests(write(tmp_path, "policy: p\ncases: []\n", "p_test.yaml")).cases == ()


@pytest.mark.parametrize(("fact", "least"), [("native.steps", 0), ("material.bytes", 0), ("turn.attempt", 1)])
def test_a_number_is_never_below_the_least_that_the_fact_can_be(tmp_path: Path, fact: str, least: int) -> None:
    path = tmp_path / "facts.yaml"
    path.write_text(f"facts: {{{fact}: {least - 1}}}\n")
    with pytest.raises(FactsInvalid) as caught:
        load_facts(path, 0)
    [one] = caught.value.diagnostics
    assert (one.code, one.line, one.column) == ("R305", 1, 11 + len(fact))
    path.write_text(f"facts: {{{fact}: {least}}}\n")
    assert load_facts(path, 0).readings[fact].value == least
