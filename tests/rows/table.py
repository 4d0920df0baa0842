"""Which rows does the catalogue of counterexamples have, which test shows each, and what is taken out to see it fail?

`python -m tests.rows.table` writes docs/counterexamples.md from the marks of the tests; with `--check` it says whether
the page is as it would be written.
"""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "counterexamples.md"

GROUPS = {
    "U": "Unfinished work that a completed Turn reported",
    "E": "A steward's question whose quota tries are used up",
    "K": "A Turn at Antigravity that was cancelled",
    "V": "What an interrupted Turn left: an answer, or what its tools gave back",
    "Q": "The queue and the journal",
    "L": "Lark",
    "N": "Reading what a runtime keeps",
}

HEAD = """\
# Counterexamples

What could go wrong, one line each, and the test that shows that it does not. `make rows` takes out, for each test, the
rule that its line names; every one of them then has to fail.

This page is written by `python -m tests.rows.table`.
"""


@dataclass(frozen=True)
class Line:
    """One test of one row."""

    number: str
    sentence: str
    test: str
    on: str
    removed: str

    @property
    def place(self) -> tuple[int, int, str]:
        return list(GROUPS).index(self.number[0]), int(self.number[1:]), self.test


class _Marks:
    """Takes the marks of what pytest collects."""

    def __init__(self) -> None:
        self.lines: set[Line] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            mark = item.get_closest_marker("row")
            if mark is not None:
                told = mark.kwargs
                test = item.nodeid.partition("[")[0].rpartition("/")[2]
                self.lines.add(Line(told["number"], told["sentence"], test, told["on"], told["removed"].says))


def collected() -> list[Line]:
    """Every row that a test of this folder is marked with, in the catalogue's order."""
    marks = _Marks()
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet):
        code = pytest.main(
            [
                "--collect-only",
                "-q",
                "-p",
                "no:randomly",
                "-p",
                "no:cacheprovider",
                f"--rootdir={ROOT}",
                str(ROOT / "tests/rows"),
            ],
            plugins=[marks],
        )
    if code != pytest.ExitCode.OK:
        sys.exit(quiet.getvalue())
    return sorted(marks.lines, key=lambda line: line.place)


def page(lines: list[Line]) -> str:
    """The page as it is to be."""
    parts = [HEAD]
    for letter, title in GROUPS.items():
        own = [line for line in lines if line.number[0] == letter]
        if not own:
            continue
        parts.append(
            f"\n## {title}\n\n| Row | What happens | On | Taken out | Test |\n| --- | --- | --- | --- | --- |\n"
        )
        for line in own:
            file, name = line.test.split("::")
            cells = (line.number, line.sentence, line.on, line.removed, f"[{name}](../tests/rows/{file})")
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(parts)


def main(arguments: list[str]) -> int:
    """The command; 1 when the page that was to be checked is another one."""
    text = page(collected())
    if arguments == ["--check"]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
