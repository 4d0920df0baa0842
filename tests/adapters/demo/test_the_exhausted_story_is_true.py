"""Is what the story of an exhausted question says so? Everything is read again here, with other means than its own."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.adapters.codex.stage import READ, WRITE, Stage
from tests.adapters.demo.told import told

from oncemore.adapters.codex import count
from oncemore.adapters.demo import exhausted, planted
from oncemore.adapters.demo.model import Say, Shell
from oncemore.engine import prompts
from oncemore.engine.ports import Profile


def test_the_question_is_tried_three_times_and_then_answered_once_by_reading_only(tmp_path: Path) -> None:
    story = told(tmp_path / "demo", "exhausted")
    assert story.result == 0, story.text
    assert "NO " not in story.text
    *tried, review = story.rows("SELECT * FROM turn ORDER BY started_at")
    assert [(turn["phase"], turn["status"], turn["error"]) for turn in tried] == [
        (phase, "failed", "usage_limit_exceeded") for phase in ("business", "quota", "quota", "quota")
    ]
    assert (review["phase"], review["status"], json.loads(review["profile"])["sandbox"]) == (
        "review",
        "completed",
        "read_only",
    )
    notice, answer = story.replies()
    assert notice == prompts.FAILED["en"]
    assert answer == 'There are 3 notes. The newest, 3-autumn.md, says: "The lamp on the pier is out."'
    (thread,) = {turn["native_thread"] for turn in tried}
    counted = [len(count.turns(story.folder / "codex", one)) for one in (thread, review["native_thread"])]
    assert counted == [4, 1]
    assert sorted(file.name for file in (story.folder / "planted").iterdir()) == sorted(planted.NAMES)
    (attempt,) = story.rows("SELECT * FROM attempt WHERE kind = 'review'")
    assert attempt["state"] == "answered"
    assert f"explain --home {story.folder} {attempt['decision']}" in story.text
    waits = story.rows("SELECT reason_gate FROM decision WHERE policy = 'review-exhausted-answer' AND outcome = 'wait'")
    assert "route-available" in [one["reason_gate"] for one in waits]
    assert {file.name: file.read_text() for file in (story.folder / "workspace").iterdir()} == exhausted.NOTES


@pytest.mark.parametrize(("profile", "starts"), [(WRITE, list(planted.NAMES)), (READ, [])], ids=["writing", "reading"])
def test_what_is_planted_is_started_by_an_ordinary_codex_and_by_none_that_may_only_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: Profile, starts: list[str]
) -> None:
    monkeypatch.setenv("MODEL_KEY", "none")
    with ExitStack() as cleanup:
        stage = Stage(tmp_path, cleanup)
        planted.plant(stage.home, tmp_path / "planted", None)
        assert planted.armed(stage.home, None)
        assert planted.started(tmp_path / "planted") == []
        # The server starts beside the turn: the turn lasts until both marks are there, where they are to come.
        marks = " && ".join(f"[ -e {tmp_path}/planted/{name}-was-started ]" for name in starts)
        until = Shell(f"timeout 20 sh -c 'until {marks}; do sleep 0.05; done'")
        stage.script = lambda request: [until, Say("done")] if starts else Say("done")
        assert stage.run("request-1", "hello", profile)[1].status == "completed"
    assert planted.started(tmp_path / "planted") == starts
    assert all(os.access(tmp_path / "planted" / name, os.X_OK) for name in planted.NAMES)
