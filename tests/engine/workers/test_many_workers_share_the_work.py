"""Four workers on PostgreSQL, one of them killed every three seconds: everybody is answered or told, and nothing twice.

Each of the Requests needs a recovery; `python -m tests.bench --crowd 5000 --workers 8` takes as many as one likes.
"""

from __future__ import annotations

from pathlib import Path

from tests import postgres
from tests.engine.workers.crowd import checked, crowd, played

CONVERSATIONS, ROUNDS, WORKERS = 100, 4, 4


def test_every_request_ends_once_whatever_is_killed(tmp_path: Path) -> None:
    url = postgres.server().fresh()
    with crowd(tmp_path, url) as made:
        played(made, CONVERSATIONS, ROUNDS, WORKERS, every=3, limit=900)
        ways = checked(made)
        assert made.asked == CONVERSATIONS * ROUNDS
        assert made.kills >= 1
        # A Turn whose worker dies is cut off, one at most for each kill; everything else was taken up once more.
        assert ways["told that it was cut off"] <= made.kills
        assert ways["continued"] >= made.asked - made.kills
    postgres.drop(url)
