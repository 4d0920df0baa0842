"""What holds for all tests: the assertions of worlds that several of them share say what they compared."""

from __future__ import annotations

import pytest

# Before anything imports them: a test elsewhere uses a world of the rows too.
for shared in ("antigravity_world", "interrupted_world", "steward_world"):
    pytest.register_assert_rewrite(f"tests.rows.{shared}")
