"""What holds for all tests: the assertions of worlds that several of them share say what they compared."""

from __future__ import annotations

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
