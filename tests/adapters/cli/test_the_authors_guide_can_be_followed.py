"""The guide for authors, followed from its first line to its last in an empty folder, prints what it says."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.cli.page import Session, agrees, steps

GUIDE = Path(__file__).parents[3] / "docs" / "writing-policies.md"


def test_every_command_prints_what_the_guide_shows(tmp_path: Path) -> None:
    session = Session(tmp_path)
    followed = 0
    for step in steps(GUIDE.read_text("utf-8")):
        printed = session.follow(step)
        if step.kind == "command":
            assert agrees(step.expected, printed), f"$ {step.text}\n{printed}"
            followed += 1
    assert followed > 20


def test_a_page_that_shows_something_else_is_noticed() -> None:
    assert agrees(["one", "[...]", "took 3m20s"], "one\ntwo\nthree\ntook 5s\n")
    assert agrees(["[...]", "exit 1"], "exit 1\n")
    assert not agrees(["one", "three"], "one\ntwo\nthree\n")
    assert not agrees(["one"], "one\ntwo\n")
    assert not agrees(["exit 1"], "exit 2\n")
