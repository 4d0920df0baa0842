"""The points around the continuation and its replies, with Lark as the Source: one message for each answer, always."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.feishu.conftest import ANN
from tests.adapters.feishu.fake import FakeLark
from tests.engine.executor.crash_tables import REPLY_POINTS
from tests.engine.executor.world import ASK, BACKOFF, KEY, World, world

from oncemore.adapters import wiring
from oncemore.adapters.feishu import Event, events
from oncemore.engine import prompts

SECRET = "ONCEMORE_TEST_LARK_SECRET"
CHOSEN = [
    ("after_reserve", ""),
    ("after_start_call", "work-1"),
    ("after_delivery_intent", "answer"),
    ("after_send", "answer"),
    *((point, "recovery:work-1") for point in REPLY_POINTS),
]
MORE = [
    ("after_observe", ""),
    ("after_decide", ""),
    ("after_enqueue", ""),
    ("after_claim", "work-1"),
    ("after_load", "work-1"),
    ("after_start_intent", "work-1"),
    ("after_native_end", "work-1"),
    ("after_settle", "work-1"),
]
POINTS = CHOSEN + (MORE if os.environ.get("ONCEMORE_EVERY_CRASH_POINT") else [])


@pytest.fixture
def w(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    monkeypatch.setenv(SECRET, FakeLark.app_secret)
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def lark(w: World) -> Iterator[FakeLark]:
    with FakeLark(w.now) as fake:
        text = w.configuration.read_text().replace("owner: ann", f"owner: {ANN}, source: team")
        secret = f"{{environment: {SECRET}}}"
        source = f"{{kind: feishu, base: '{fake.base_url}', app_id: {FakeLark.app_id}, secret: {secret}}}"
        w.configuration.write_text(f"{text}sources:\n  team: {source}\n")
        yield fake


@pytest.mark.parametrize(("point", "about"), POINTS, ids=[f"{point}-{about}" for point, about in POINTS])
def test_after_a_kill_each_answer_is_one_message(w: World, lark: FakeLark, point: str, about: str) -> None:
    message = lark.post("oc_private", ANN, ASK)
    with wiring.opened(w.configuration, clock=w.now) as house:
        told = events.read(lark.event(message), app_id=lark.app_id, verification_token=lark.verification_token)
        assert isinstance(told, Event)
        house.arrive(told)
    if about != "answer":
        w.work()
        w.offset = BACKOFF
    process = w.work_until(point, about)
    if point == "after_start_call":
        assert w.model.wait_for_calls(3)
    w.kill(process)
    for _ in range(4):
        w.offset += BACKOFF
        w.work()
    said = [reply.text.strip() for reply in lark.replies(message)]
    attempt = w.row("select state from attempt")["state"]
    assert attempt in (("answered", "failed") if point == "after_start_call" else ("answered",))
    last = "Part two is written." if attempt == "answered" else prompts.FAILED["en"]
    assert said == ["Part one is written.", last]
    assert len(w.native_turns()) == 2
    assert w.model.calls <= 4
