"""docs/counterexamples.md has every row that a test is marked with, and every row says what it is on."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.rows.table import PAGE, ROOT


def test_the_page_is_as_the_marks_say() -> None:
    command = [sys.executable, "-m", "tests.rows.table", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}python -m tests.rows.table writes {PAGE.name} anew"


@pytest.mark.parametrize(
    ("letter", "last"), [("U", 28), ("E", 19), ("K", 14), ("V", 20), ("Q", 16), ("L", 7), ("N", 6)]
)
def test_no_number_is_left_out(letter: str, last: int) -> None:
    found = {int(number) for number in re.findall(rf"^\| {letter}(\d+) \|", PAGE.read_text(encoding="utf-8"), re.M)}
    assert found == set(range(1, last + 1))
