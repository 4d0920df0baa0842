"""Several workers on PostgreSQL keep to one budget together, whoever of them reserves."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
from tests import postgres
from tests.engine.workers.crowd import crowd, played, said

from oncemore.adapters.demo.model import ModelRequest, Script

AT_ONCE = 2
WAITS = "select count(*) from event where kind = 'waits_for_budget'"


def test_never_more_recoveries_are_in_flight_than_are_allowed(tmp_path: Path) -> None:
    url = postgres.server().fresh()
    with crowd(tmp_path, url) as made, psycopg.connect(url, autocommit=True) as server:

        def second(request: ModelRequest) -> Script:
            """Answered once the budget has kept somebody waiting: those in flight do not end before."""
            while server.execute(WAITS).fetchone() == (0,):
                time.sleep(0.05)
            return said(request)

        made.w.entries["top"] += f"budgets: {{routes: {{codex: {{in_flight: {AT_ONCE}}}}}}}\n"
        made.w.configure()
        made.w.plot.second = second
        played(made, conversations=8, rounds=1, workers=4, every=1_000, limit=120)
        spans = server.execute("select reserved_at, settled_at from attempt").fetchall()
        left = server.execute("select count(*) from budget_wait").fetchone()
    assert len(spans) == 8
    assert max(sum(other[0] <= one[0] < other[1] for other in spans) for one in spans) <= AT_ONCE
    assert left == (0,)
    postgres.drop(url)
