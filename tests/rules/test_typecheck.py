"""A condition that cannot mean anything is refused at its place, with what may have been meant."""

from __future__ import annotations

import pytest

from oncemore.rules.parsing import parse
from oncemore.rules.typecheck import check


@pytest.mark.parametrize(
    ("text", "code", "marked", "suggestion"),
    [
        ('request.stat == "open"', "R302", "request.stat", "`request.state`"),
        ("ended_ago >= 1", "R302", "ended_ago", "`turn.ended_ago`"),
        ("zzz.qqq", "R302", "zzz.qqq", "oncemore facts"),
        ('request.state == "opne"', "R304", '"opne"', '"open"'),
        ('request.state == "unknown"', "R304", '"unknown"', "not a value"),
        ("request.state == 1", "R303", "1", None),
        ('request.state in ["open", true]', "R303", "true", None),
        ('request.state in ["open", "closed"]', "R304", '"closed"', None),
        ("request.state", "R307", "request.state", 'request.state == "project"'.replace("project", "open")),
        ("turn.attempt", "R307", "turn.attempt", "turn.attempt == 0"),
        ('request.state < "open"', "R306", 'request.state < "open"', "=="),
        ("request.steered >= true", "R306", "request.steered >= true", "=="),
        ("request.steered == 1", "R303", "1", "== false"),
        ("request.attachments == true", "R303", "true", None),
        ('request.attachments == "3"', "R303", '"3"', "without quotes"),
        ('request.attachments < duration("1s")', "R303", 'duration("1s")', None),
        ('turn.ended_ago >= "60s"', "R303", '"60s"', 'duration("60s")'),
        ("turn.ended_ago >= 60000", "R303", "60000", 'duration("16h40m"), if seconds are meant'),
        ("turn.attempt == 9223372036854775808", "R305", "9223372036854775808", None),
        ("turn.attempt > -9223372036854775809", "R305", "-9223372036854775809", None),
    ],
)
def test_a_mistake_is_found_at_its_place_with_a_suggestion(
    text: str, code: str, marked: str, suggestion: str | None
) -> None:
    [problem] = check(parse(text))
    assert problem.code == code
    assert text[problem.span.start : problem.span.end] == marked
    if suggestion is None:
        assert problem.suggestion is None or "did you mean" not in problem.suggestion
    else:
        assert suggestion in (problem.suggestion or "")


def test_all_mistakes_are_found_from_left_to_right() -> None:
    problems = check(parse('nosuch.fact && request.state == "x" || !(turn.attempt)'))
    assert [problem.code for problem in problems] == ["R302", "R304", "R307"]


@pytest.mark.parametrize(
    "text",
    ["native.latest", 'duration("60s") <= turn.ended_ago', "turn.attempt in [1, 2]", "turn.attempt in []",
     "turn.attempt >= -9223372036854775808", 'request.state != "open" && !(request.steered)'],
)  # fmt: skip
def test_a_good_condition_has_no_problems(text: str) -> None:
    assert check(parse(text)) == []
