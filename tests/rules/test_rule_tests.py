"""A rule test passes, fails or is an error by what the record says, and no case stops the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.rules.policy_files import write

from oncemore.rules import times
from oncemore.rules.case import Case
from oncemore.rules.cases import TEST_NOW, load_tests
from oncemore.rules.testing import run

RECORD: dict[str, Any] = {
    "outcome": "wait",
    "reason": {"kind": "gate_failed", "gate": "backoff"},
    "gates": [
        {"id": "backoff", "floor": False, "result": "fail"},
        {"id": "owner", "floor": False, "result": "unknown"},
        {"id": "fine", "floor": False, "result": "pass"},
        {"id": "floor/owner", "floor": True, "result": "fail"},
    ],
    "until": times.format_ms(TEST_NOW + 23_000),
    "action": None,
}


def verdicts(tmp_path: Path, expect: str, record: Mapping[str, Any] = RECORD) -> tuple[str, str]:
    path = write(tmp_path, f"policy: p\ncases:\n  - name: c\n    expect: {expect}\n", "p_test.yaml")
    [result] = run(load_tests(path), lambda name, case: record)
    assert (result.name, result.file, result.line) == ("c", str(path), 3)
    return result.verdict, result.message


@pytest.mark.parametrize(
    "expect",
    ["{outcome: wait}", "{blocked_by: [backoff]}", "{unknown: [owner]}", "{until: 23s}",
     "{until: 2026-01-01T00:00:23Z}", "{action: }", "{outcome: wait, blocked_by: [backoff], unknown: [owner]}"],
)  # fmt: skip
def test_what_the_record_says_passes(tmp_path: Path, expect: str) -> None:
    assert verdicts(tmp_path, expect) == ("PASS", "")


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{outcome: fire}", "outcome is wait, expected fire"),
        ("{blocked_by: []}", "blocked_by is backoff, expected no gate"),
        ("{blocked_by: [backoff, fine]}", "blocked_by is backoff, expected backoff, fine"),
        ("{unknown: []}", "unknown is owner, expected no gate"),
        ("{until: 24s}", "until is 2026-01-01T00:00:23.000Z, expected 2026-01-01T00:00:24.000Z"),
        ("{until: }", "until is 2026-01-01T00:00:23.000Z, expected none"),
        ("{action: continue_work}", "action is none, expected continue_work"),
    ],
)
def test_what_it_does_not_say_fails_with_both_sides(tmp_path: Path, expect: str, message: str) -> None:
    assert verdicts(tmp_path, expect) == ("FAIL", message)


def test_a_gate_that_does_not_exist_is_an_error_and_no_failure(tmp_path: Path) -> None:
    verdict, message = verdicts(tmp_path, "{blocked_by: [backof]}")
    assert verdict == "ERROR"
    assert "`backof`" in message
    assert "did you mean `backoff`?" in message


def test_a_case_that_cannot_be_decided_is_an_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "policy: p\ncases:\n  - {name: a, expect: {outcome: wait}}\n  - {name: b, expect: {outcome: wait}}\n",
        "p_test.yaml",
    )

    def decide(name: str, case: Case) -> Mapping[str, Any]:
        if not seen:
            seen.append(name)
            raise LookupError("there is no policy p")
        return RECORD

    seen: list[str] = []
    first, second = run(load_tests(path), decide)
    assert (first.verdict, first.record, second.verdict) == ("ERROR", None, "PASS")
    assert "there is no policy p" in first.message


def test_the_floor_counts_where_it_decides_or_is_named(tmp_path: Path) -> None:
    by_floor = RECORD | {"reason": {"kind": "floor", "gate": "floor/owner"}}
    assert verdicts(tmp_path, "{blocked_by: [backoff, floor/owner]}", by_floor)[0] == "PASS"
    assert verdicts(tmp_path, "{blocked_by: [backoff]}", by_floor)[0] == "FAIL"
    assert verdicts(tmp_path, "{blocked_by: [backoff, floor/owner]}")[0] == "PASS"
