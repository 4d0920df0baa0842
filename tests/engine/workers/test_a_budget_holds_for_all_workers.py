"""Several workers on PostgreSQL keep to one budget together, whoever of them reserves."""

from __future__ import annotations

from pathlib import Path

import psycopg
from tests import postgres
from tests.engine.workers.crowd import crowd, played

AT_ONCE = 2


def test_never_more_recoveries_are_in_flight_than_are_allowed(tmp_path: Path) -> None:
    url = postgres.server().fresh()
    with crowd(tmp_path, url) as made:
        made.w.entries["top"] += f"budgets: {{routes: {{codex: {{in_flight: {AT_ONCE}}}}}}}\n"
        made.w.configure()
        played(made, conversations=8, rounds=1, workers=4, every=1_000, limit=120)
        with psycopg.connect(url) as server:
            spans = server.execute("select reserved_at, settled_at from attempt").fetchall()
            waits = server.execute("select count(*) from event where kind = 'waits_for_budget'").fetchone()
            left = server.execute("select count(*) from budget_wait").fetchone()
    assert len(spans) == 8
    assert max(sum(other[0] <= one[0] < other[1] for other in spans) for one in spans) <= AT_ONCE
    assert waits is not None and waits[0] >= 1
    assert left == (0,)
    postgres.drop(url)
