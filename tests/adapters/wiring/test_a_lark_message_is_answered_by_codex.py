"""From a message in Lark over a real Codex to the reply in Lark, and once more what was left unfinished."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.feishu.conftest import ANN
from tests.adapters.feishu.fake import FakeLark
from tests.engine.executor.world import ASK, BACKOFF, KEY, World, world

from oncemore.adapters import wiring
from oncemore.adapters.feishu import Event, events
from oncemore.engine.worker import Worker

SECRET = "ONCEMORE_TEST_LARK_SECRET"


@pytest.fixture
def w(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    monkeypatch.setenv(SECRET, FakeLark.app_secret)
    with world(tmp_path) as made:
        yield made


def connect(w: World, base: str) -> None:
    """The workspace is Ann's, and she may write to it in Lark."""
    text = w.configuration.read_text().replace("owner: ann", f"owner: {ANN}, source: team")
    source = f"{{kind: feishu, base: '{base}', app_id: {FakeLark.app_id}, secret: {{environment: {SECRET}}}}}"
    w.configuration.write_text(f"{text}sources:\n  team: {source}\n")


def work(w: World, lark: FakeLark, message: str | None = None) -> None:
    """What is due is done, after this message was told of."""
    with wiring.opened(w.configuration, clock=w.now, worker=True) as house:
        if message is not None:
            told = events.read(lark.event(message), app_id=lark.app_id, verification_token=lark.verification_token)
            assert isinstance(told, Event)
            assert house.arrive(told).how == "new"
        Worker(wiring.context(house, wiring.rulebook(house.configuration))).run_due()


def test_an_unfinished_answer_is_taken_up_once_more_and_each_part_is_one_reply(w: World) -> None:
    with FakeLark(w.now) as lark:
        connect(w, lark.base_url)
        message = lark.post("oc_private", ANN, ASK)
        work(w, lark, message)
        work(w, lark, lark.post("oc_private", ANN, "/status"))
        w.offset += BACKOFF
        work(w, lark)
        work(w, lark)
        assert [reply.text.strip() for reply in lark.replies(message)] == [
            "Part one is written.",
            "Part two is written.",
        ]
    assert (w.workspace / "two.md").read_text() == "two"
    assert len(w.native_turns()) == 2
    assert w.row("select state from request where message = ?", message) == {"state": "answered"}
