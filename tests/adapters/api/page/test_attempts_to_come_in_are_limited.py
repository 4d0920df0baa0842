"""Whoever tries one key after the other is not listened to for a while, and keeps out nobody who has a good one."""

from __future__ import annotations

import re

from httpx import Client
from tests.adapters.api.page.browser import Served


def test_after_many_wrong_keys_of_an_address_a_good_one_lets_in_all_the_same(served: Served) -> None:
    with Client(base_url=served.address, trust_env=False, timeout=60) as visitor:
        answers = [_try(visitor, f"om_{number:012x}_{'0' * 64}") for number in range(40)]
        assert answers[0] == 403
        assert answers[-1] == 429
        assert answers == sorted(answers)
        assert _try(visitor, served.key("read")) == 303


def _try(visitor: Client, key: str) -> int:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', visitor.get("/login").text)
    assert found is not None
    return visitor.post("/login", data={"key": key, "token": found[1]}).status_code
