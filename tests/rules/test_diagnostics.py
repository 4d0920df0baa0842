"""A diagnostic shows its line with the place underlined, and nothing in it acts on a terminal."""

from __future__ import annotations

import json

from oncemore.rules.diagnostics import Diagnostic, render, width
from oncemore.rules.source import Place, load

ONE = Diagnostic("R302", "error", "there is no fact `a.b`", "p/x.yaml", 3, 5, 8, "$.when", "w: \ta.b", "did you mean?")


def test_a_frame_shows_the_line_and_underlines_the_place() -> None:
    one = Diagnostic("R302", "error", "no fact", "p/x.yaml", 12, 7, 10, "$.when", "when: a.b && c", "look\nhere")
    assert one.pretty() == (
        "error[R302] no fact\n"
        "  --> p/x.yaml:12:7   $.when\n"
        "   |\n"
        "12 | when: a.b && c\n"
        "   |       ^^^\n"
        "   = help: look\n"
        "           here"
    )


def test_wide_characters_take_two_columns_under_the_caret() -> None:
    document = load("名前: 中文 XX\n", "f")
    start = document.text.index("中文")
    lines = document.diagnostic("R203", "x", Place(start, start + 2)).pretty().splitlines()
    assert lines[3].index("中") == 8
    assert width(lines[4][: lines[4].index("^")]) == width(lines[3][: lines[3].index("中")])
    assert lines[4].count("^") == 4


def test_tabs_stay_tabs_before_the_caret() -> None:
    lines = ONE.pretty().splitlines()
    assert lines[4].endswith("|    \t^^^")


def test_control_characters_never_reach_the_terminal() -> None:
    shown = Diagnostic("R106", "error", "x", "f", 1, 4, 5, "", "a: \x1b[31m\u202e").pretty()
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_colour_comes_only_when_asked() -> None:
    assert "\x1b[" not in ONE.pretty()
    assert "\x1b[31;1m" in ONE.pretty(color=True)


def test_a_place_over_several_lines_is_underlined_on_its_first_one() -> None:
    document = load("a: 'one\n  two'\n", "f")
    one = document.diagnostic("R203", "x", Place(3, 14))
    assert (one.line, one.column, one.end_column) == (1, 4, 8)


def test_compact_is_one_line_for_editors() -> None:
    assert render([ONE, ONE], "compact").splitlines() == ["p/x.yaml:3:5: error[R302] there is no fact `a.b`"] * 2


def test_json_says_the_same() -> None:
    [found] = json.loads(render([ONE], "json"))
    assert (found["code"], found["line"], found["column"], found["end_column"]) == ("R302", 3, 5, 8)
    assert found["path"] == "$.when"
    assert render([], "json") == "[]"
