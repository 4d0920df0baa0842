"""What holds for all tests: where a journal stands, and that worlds which several share say what they compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, so that a failure tells of the change at hand; to look for new ones,
# `pytest --hypothesis-profile search`.
settings.register_profile("same", derandomize=True)
settings.register_profile("search", derandomize=False)
settings.load_profile("same")

# Before anything imports them: a test elsewhere uses a world of the rows too.
for shared in ("antigravity_world", "interrupted_world", "steward_world"):
    pytest.register_assert_rewrite(f"tests.rows.{shared}")


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where the test's journal stands: in a file of its own, or in a PostgreSQL database of its own.

    `tests.postgres.both` asks for either in turn; ONCEMORE_TESTS_ON=postgresql puts every journal on the server.
    """
    if getattr(request, "param", os.environ.get("ONCEMORE_TESTS_ON", "sqlite")) == "sqlite":
        yield tmp_path / "data" / "oncemore.db"
        return
    from tests import postgres

    url = postgres.server().fresh()
    yield url
    postgres.drop(url)
