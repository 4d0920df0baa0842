"""docs/crash-points.md is true of every recovery: the worker dies at each point, another one goes on, and nothing
happened twice.

Every row runs on scripted runtimes that speak the real protocols; three of each recovery run on the real programs, and
all of them where it is asked for (`make crash`).
"""

from __future__ import annotations

import os

import pytest
from tests.adapters.feishu.fake import FakeLark
from tests.engine.executor.crash_aftermath import is_as_told
from tests.engine.executor.crash_tables import REPLY_POINTS, RUNS, Row, table
from tests.engine.executor.recoveries import ANSWER, MINUTE, SECRET, STORIES, TOKEN, Programs, stage
from tests.engine.executor.world import SHIPPED, World

from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint

NOT_IN_ITS_WAY = {"settle-cancelled-turn": {"after_reserve", "after_enqueue", "after_native_end"}}
"""Points that a recovery never reaches: this one has no try, and settles a Turn that has no native end."""
ELSEWHERE = {"continue-unfinished-work"}
"""It has its own test: docs/crash-points.md is about both of its Turns, on a real Codex."""
NOT_REAL = {"settle-cancelled-turn"}
"""The desktop's language server cannot be installed here, and nobody but us can halt a turn of the harness."""
ON_REAL_PROGRAMS = ("after_reserve", "after_start_call", "after_send")
EVERYTHING = bool(os.environ.get("ONCEMORE_EVERY_CRASH_POINT"))

SCRIPTED = [
    pytest.param(policy, row, on_lark, id=f"{policy}-{row.name}-{'lark' if on_lark else 'inbox'}")
    for policy in STORIES
    for row in table(policy)
    for on_lark in ((False, True) if row.point in REPLY_POINTS else (False,))
]
REAL = [
    pytest.param(policy, row, programs, on_lark, id=f"{policy}-{row.name}-{programs}-{'lark' if on_lark else 'inbox'}")
    for policy, programs in [
        *((policy, "real") for policy in STORIES if policy not in NOT_REAL),
        *((policy, "harness") for policy, story in STORIES.items() if story.said is not None),
    ]
    for row in table(policy)
    if EVERYTHING or row.point in ON_REAL_PROGRAMS
    for on_lark in ((False, True) if EVERYTHING and row.point in REPLY_POINTS else (False,))
]


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, FakeLark.app_secret)
    monkeypatch.setenv(TOKEN, "a-token-that-nobody-must-see")


def test_every_recovery_has_a_table() -> None:
    assert set(STORIES) | ELSEWHERE == set(SHIPPED)


@pytest.mark.parametrize("policy", STORIES)
def test_each_table_has_every_point(policy: str) -> None:
    points = {point.value for point in CrashPoint} - NOT_IN_ITS_WAY.get(policy, set())
    assert {row.point for row in table(policy)} == points


@pytest.mark.parametrize(("policy", "row", "on_lark"), SCRIPTED)
def test_on_scripted_runtimes(w: World, policy: str, row: Row, on_lark: bool) -> None:
    survives(w, policy, row, "scripted", on_lark)


@pytest.mark.parametrize(("policy", "row", "programs", "on_lark"), REAL)
def test_on_real_programs(w: World, policy: str, row: Row, programs: Programs, on_lark: bool) -> None:
    survives(w, policy, row, programs, on_lark)


def survives(w: World, policy: str, row: Row, programs: Programs, on_lark: bool) -> None:
    if programs == "harness":
        pytest.importorskip("websockets")
    with stage(w, policy, programs, on_lark) as played:
        *before, fires = played.story.times
        if before:
            w.work(*before)
        hangs = row.point in RUNS and row.calls > 0
        if hangs:
            played.answers(None)
        again = None if programs == "scripted" else fires + MINUTE
        process = w.work_until(row.point, row.subject, fires, again=again)
        if hangs:
            assert w.model.wait_for_calls(row.calls)
        w.kill(process)
        kept = w.rows("select * from turn where ended_at is not null order by id")
        w.work(*(fires + minutes * MINUTE for minutes in (2, 4, 6)))

        replies = played.replies()
        is_as_told(w, row, played.native_turns(), replies, played.proofs())
        assert replies.count(prompts.FAILED["en"]) == row.notices
        assert w.model.calls == row.calls
        assert (ANSWER in replies) == (row.request == "answered")
        if played.desk is not None:
            assert played.desk.cancels == []
        assert w.rows("select * from turn where ended_at is not null order by id")[: len(kept)] == kept
