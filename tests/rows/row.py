"""A row of the catalogue of counterexamples: what must happen, where it is shown, and what is taken out to see it fail.

A test of a row bears its id in its name and this mark. With `--without-rule` the rule, gate or guard that the row names
is taken out before each test, and every one of them has to fail: that shows that the test can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Removal:
    """What is taken out.

    Attributes:
        says: in words, for the table.
        apply: takes it out for one test; given the test's monkeypatch and its world, whatever that is.
    """

    says: str
    apply: Callable[[pytest.MonkeyPatch, Any], None]


def row(number: str, sentence: str, *, on: str, removed: Removal) -> pytest.MarkDecorator:
    """The mark.

    Args:
        number: the row's id, such as `U6`.
        sentence: what must happen, in one sentence.
        on: `real Codex`, `real Antigravity harness`, `fake language server`, `fake Lark` or `engine`.
    """
    return pytest.mark.row(number=number, sentence=sentence, on=on, removed=removed)
