"""What a reserved review is to be handed cannot be read: it is waited for as long as its policy has patience."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import Look
from tests.rows.antigravity_world import Desk
from tests.rows.interrupted_world import ANSWER, HOUR, LOOKED, MINUTE, RESULTS, REVIEW, interrupted, steward_desk

from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with steward_desk(tmp_path, monkeypatch, REVIEW, RESULTS) as made:
        yield made


def reserved(d: Desk) -> tuple[str, Look]:
    """A question whose review was reserved when a page of the conversation could no longer be read; how it read."""
    request = interrupted(d, *LOOKED)
    before: list[Look] = []

    def lose(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_RESERVE and not before:
            before.append(d.reads())
            d.server.script(Look(before[0].steps, "IDLE", before[0].executors, page=2, refuses_pages=True))

    d.on = lose
    d.work(2 * MINUTE)
    assert d.w.row("select held from request")["held"] is None
    assert attempt(d) == {"state": "reserved", "open": 1, "reason": None}
    return request, before[0]


def attempt(d: Desk) -> dict[str, Any]:
    return d.w.row("select state, open, reason from attempt")


def test_once_it_can_be_read_the_review_is_run(d: Desk) -> None:
    request, before = reserved(d)
    d.server.script(before)
    d.work(3 * MINUTE)
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.row("select state from request where id = ?", request)["state"] == "answered"


def test_when_patience_is_over_the_try_is_spent_without_a_model(d: Desk) -> None:
    reserved(d)
    d.work(23 * HOUR)
    assert attempt(d)["state"] == "reserved"
    d.work(25 * HOUR, 50 * HOUR)
    assert attempt(d) == {"state": "withdrawn", "open": 0, "reason": "patience"}
    assert d.w.model.calls == 0
    assert d.w.replies() == [prompts.FAILED["en"]]
    assert d.w.rows("select * from turn where phase = 'review'") == []
