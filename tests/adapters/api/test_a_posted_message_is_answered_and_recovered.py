"""From a post over HTTP to the recovered reply: the demo's stage with a real Codex, served."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.adapters.api.conftest import served

from oncemore.adapters import wiring
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.serving import first_key
from oncemore.adapters.api.working import Work
from oncemore.adapters.client import Client
from oncemore.adapters.demo import script
from oncemore.adapters.demo.served import staged
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.worker import Worker

SECONDS = 120


def test_a_post_is_answered_and_what_it_left_is_taken_up_once(tmp_path: Path) -> None:
    verified, recovered = [], threading.Event()
    with (
        staged(tmp_path / "demo", None) as (home, scenery),
        wiring.opened(home / "oncemore.yaml", worker=True) as house,
    ):
        service = Service(house, wiring.rulebook(house.configuration))

        def checkpoint(point: CrashPoint, subject: str) -> None:
            scenery(point, subject)
            if point is CrashPoint.AFTER_VERIFY:
                verified.append(subject)
                if len(verified) == 2:
                    recovered.set()

        # It never looks by itself before something is due: a post wakes it.
        worker = Worker(wiring.context(house, service.rules, checkpoint), poll=3_600_000)
        work = service.worker = Work(house.journal, worker)
        token = first_key(service)
        assert token is not None and first_key(service) is None
        work.start()
        try:
            with served(service) as url, Client(url, token) as client:
                accepted = client.post("notes", script.MESSAGE, message="first")
                assert recovered.wait(SECONDS)
                (message,) = client.conversation("notes")
                assert client.post("notes", script.MESSAGE, message="first")["request"] == accepted["request"]
        finally:
            work.stop()
            work.join()
            service.close()
    assert len(message["replies"]) == 2
    assert "part-two.md is written now" in message["replies"][1]["text"]
    assert [one["phase"] for one in message["turns"] if one["kind"] == "queued"] == ["business", "work"]
    assert [one.get("state") for one in message["recoveries"]] == [None, "answered"]
    assert work.trouble == "it does not run"
