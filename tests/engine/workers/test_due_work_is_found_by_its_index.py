"""Finding due work looks into the index of due times and nowhere else, whatever else is stored.

How much that costs among a million: `python -m tests.bench --claims`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import postgres
from tests.bench import claims

from oncemore.engine.journal import Journal
from oncemore.engine.leases import OneOfMany, OneWorker, Terms

SIZE = 3_000


@pytest.fixture
def filled(place: Path | str) -> Iterator[Path | str]:
    journal = Journal(place)
    claims.fill(journal, SIZE)
    yield place
    journal.close()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_on_sqlite(filled: Path) -> None:
    steps = claims.plan_on_sqlite(filled).splitlines()
    assert steps and all(re.match(r"(SEARCH|SCAN) t1 USING COVERING INDEX request_due\b", step) for step in steps), (
        steps
    )


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_on_postgresql(filled: str) -> None:
    plan = claims.plan_on_postgres(filled)
    on_request = [line for line in plan.splitlines() if re.search(r"\bon request\b", line)]
    assert len(on_request) == 2, plan
    assert all(re.search(r"Index (Only )?Scan using request_due on request", line) for line in on_request), plan
    assert "Sort Key: request" not in plan


@postgres.both
def test_all_that_is_due_is_found_in_its_order(place: Path | str) -> None:
    journal = Journal(place)
    try:
        claims.fill(journal, SIZE)
        made = OneWorker() if journal.server is None else OneOfMany(journal, Terms("one", batch=1_000))
        found: list[str] = []
        while (request := made.next(claims.NOW, found)) is not None:
            found.append(request)
        made.close()
        due = [f"r-{number}" for number in range(0, SIZE, SIZE // claims.DUE)]
        assert found == sorted(due, key=lambda one: (-(int(one[2:]) % 997), one))
    finally:
        journal.close()
