"""What does docs/crash-points.md promise?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "crash-points.md"
REPLY_POINTS = ("after_freeze", "after_delivery_intent", "after_send", "after_receipt", "after_verify")
"""Those around a reply."""
RUNS = ("after_start_call", "after_start_receipt", "while_running")
"""Those at which the runtime is at work; there a model hangs, so that the worker surely dies before the Turn's end."""


@dataclass(frozen=True)
class Row:
    """A row; its fields are the table's columns."""

    point: str
    about: str
    call: str
    settled_by: str
    turns: int
    calls: int
    replies: int
    notices: int
    request: str
    attempt: str

    @property
    def subject(self) -> str:
        """The end of the id that the point is about; empty where that is no Turn and no reply."""
        return self.about if self.point in REPLY_POINTS or re.fullmatch(r"[a-z]+-\d", self.about) else ""

    @property
    def name(self) -> str:
        """For a test."""
        return f"{self.point}-{self.about}"


def table(policy: str) -> list[Row]:
    """The rows of a policy's section."""
    (section,) = re.findall(rf"^## {policy}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for line in section.splitlines() if line.startswith(("| after_", "| while_"))]
    return [_row([cell.strip() for cell in line.strip("|").split("|")]) for line in lines]


def _row(cells: list[str]) -> Row:
    words, numbers = cells[:4], [int(cell) for cell in cells[4:8]]
    return Row(*words, *numbers, *cells[8:])  # type: ignore[arg-type]
