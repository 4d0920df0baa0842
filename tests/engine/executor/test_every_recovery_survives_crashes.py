"""The points of docs/crash-points.md on the other recoveries, on a real Codex: nothing twice, and one of each."""

from __future__ import annotations

import os

import pytest
from tests.engine.executor.world import World

from oncemore.adapters.demo.model import Fail, ModelRequest, Say, Script
from oncemore.engine import prompts

MINUTE = 60_000
REVIEW = "by reading only"
POINTS = ["after_reserve", "after_start_call", "after_send"]
EVERY = [
    *("after_observe", "after_decide", "after_reserve", "after_enqueue", "after_claim", "after_load"),
    *("after_start_intent", "after_start_call", "after_start_receipt", "after_native_end", "after_settle"),
    *("after_freeze", "after_delivery_intent", "after_send", "after_receipt", "after_verify"),
]
"""Asked for by `make crash`; three of them run with the suite."""
CHOSEN = EVERY if os.environ.get("ONCEMORE_EVERY_CRASH_POINT") else POINTS


def limited(request: ModelRequest) -> Script:
    return Fail("usage_limit")


def about(point: str, turn: str, stage: str) -> str:
    if point in ("after_freeze", "after_delivery_intent", "after_send", "after_receipt", "after_verify"):
        return stage
    return "" if point in ("after_observe", "after_decide", "after_reserve", "after_enqueue") else turn


def crash_and_go_on(w: World, point: str, turn: str, stage: str, calls: int) -> None:
    process = w.work_until(point, about(point, turn, stage))
    if point == "after_start_call":
        assert w.model.wait_for_calls(calls)
    w.kill(process)
    for _ in range(3):
        w.offset += 2 * MINUTE
        w.work()


@pytest.mark.parametrize("point", CHOSEN)
def test_a_quota_try(w: World, point: str) -> None:
    w.configure(level="portfolio_read", role="steward", policies=("retry-quota",))
    w.plot.other = limited
    w.ask("How many notes are there?")
    w.work()
    w.plot.other = lambda r: Say("Two.")
    w.offset = 6 * MINUTE
    crash_and_go_on(w, point, "quota-1", "recovery:quota-1", calls=2)
    turns = w.native_turns()
    assert len(turns) == 2
    assert w.model.calls == 2
    [attempt] = w.rows("select state from attempt")
    # Where the worker died with the model running, Codex interrupted the turn, or it had already ended.
    assert attempt["state"] in (("answered", "failed") if point == "after_start_call" else ("answered",))
    assert w.replies() == (["Two."] if attempt["state"] == "answered" else [prompts.FAILED["en"]])


@pytest.mark.parametrize("point", CHOSEN)
def test_a_review(w: World, point: str) -> None:
    w.configure(level="portfolio_read", role="steward", policies=("retry-quota", "review-exhausted-answer"))
    w.plot.other = limited
    w.ask("How many notes are there?")
    w.work()
    for wait in (6, 31, 121):
        w.offset += wait * MINUTE
        w.work()
    assert w.model.calls == 4
    w.plot.other = lambda r: Say("None.") if REVIEW in r.last_user else Fail("usage_limit")
    w.offset += 2 * MINUTE
    crash_and_go_on(w, point, "review-1", "recovery:review-1", calls=5)
    assert len(w.native_turns()) == 5
    assert w.model.calls == 5
    [attempt] = w.rows("select state from attempt where kind = 'review'")
    assert attempt["state"] in (("answered", "failed") if point == "after_start_call" else ("answered",))
    answered = [prompts.FAILED["en"], "None."]
    assert w.replies() == (answered if attempt["state"] == "answered" else answered[:1])
