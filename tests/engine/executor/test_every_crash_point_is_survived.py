"""docs/crash-points.md is true: the worker dies at each point, another one goes on, and nothing happened twice."""

from __future__ import annotations

import pytest
from tests.engine.executor.crash_aftermath import continued_by_another
from tests.engine.executor.crash_tables import Row, table
from tests.engine.executor.world import World

from oncemore.engine.crashpoints import CrashPoint

ROWS = table("continue-unfinished-work")


def test_the_table_has_every_point() -> None:
    assert {row.point for row in ROWS} == {point.value for point in CrashPoint}


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_after_a_kill_another_worker_ends_it_as_the_table_says(w: World, row: Row) -> None:
    continued_by_another(w, row, row.calls, ["one.md"])
    assert w.model.calls == row.calls
