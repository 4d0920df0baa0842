"""Over a journal on PostgreSQL the page shows the same and does the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from httpx import Client
from tests import postgres
from tests.adapters.api.page.browser import served
from tests.adapters.api.page.world import KEY, build

from oncemore.engine.allowance_tables import Advice, LevelChange
from oncemore.engine.tables import Request


def test_everything_is_shown_and_can_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "none")
    url = postgres.server().fresh()
    told = build(tmp_path, url)
    with served(told) as made, Client(base_url=made.address, trust_env=False, timeout=60) as visitor:
        _come_in(visitor, made.key("read", "act", "admin"))
        overview = visitor.get("/").text
        decisions = set(re.findall(r"/decisions/[0-9a-f]{64}", overview))
        pages = ["/policies", "/policies/retry-quota", "/levels", *decisions]
        pages += [f"/requests/{request}" for request in told.requests.values()]
        assert {path: visitor.get(path).status_code for path in pages} == dict.fromkeys(pages, 200)
        assert len(decisions) >= 4
        rows = {doing: overview.count(f'class="row {doing}"') for doing in ("advised", "held", "waits")}
        assert rows == {"advised": 1, "held": 2, "waits": 2}
        token = _token(overview)
        done = {
            f"/requests/{told.requests['plans']}/act": {"policy": "continue-unfinished-work"},
            f"/requests/{told.requests['letters']}/release": {},
            f"/requests/{told.requests['notes']}/stop": {},
            "/policies/retry-quota/level": {"level": "off", "lasts": "8h"},
            "/breaker": {"change": "open"},
        }
        for path, fields in done.items():
            answer = visitor.post(path, data={"why": "To be tried.", "token": token, **fields})
            assert (path, answer.status_code) == (path, 303)
        assert "To be tried." in visitor.get("/").text
        with made.service.house.journal.connected():
            assert Advice.get(Advice.request == told.requests["plans"]).state == "taken"
            assert Request.get_by_id(told.requests["letters"]).held is None
            assert Request.get_by_id(told.requests["notes"]).state == "stopped"
            change = LevelChange.select().order_by(LevelChange.id.desc()).get()
            assert (change.policy, change.level, change.until - change.at) == ("retry-quota", "off", 8 * 3_600_000)
    postgres.drop(url)


def _come_in(visitor: Client, key: str) -> None:
    token = _token(visitor.get("/login").text)
    assert visitor.post("/login", data={"key": key, "token": token}).status_code == 303


def _token(page: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]
