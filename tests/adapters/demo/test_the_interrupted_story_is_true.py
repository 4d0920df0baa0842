"""Is what the story of a cut-off answer says so? Everything is read again here, with other means than its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.demo.told import told

from oncemore.adapters.codex import count
from oncemore.adapters.demo import interrupted
from oncemore.adapters.demo.model import Say
from oncemore.engine import prompts
from oncemore.engine.prompts import review_input


def test_what_was_left_to_be_seen_is_reviewed_once_by_a_codex_that_only_reads(tmp_path: Path) -> None:
    story = told(tmp_path / "demo", "interrupted")
    assert story.result == 0, story.text
    assert "NO " not in story.text
    failed, review = story.rows("SELECT * FROM turn ORDER BY started_at")
    assert (failed["phase"], failed["status"], failed["error"]) == ("business", "failed", "runtime_error")
    assert (review["phase"], review["status"]) == ("review", "completed")
    assert json.loads(review["profile"])["sandbox"] == "read_only"
    assert story.replies() == [
        prompts.FAILED["en"],
        "The notes name Lisbon, Genoa, Antwerp. The earlier try had not come to Antwerp.",
    ]
    (attempt,) = story.rows("SELECT * FROM attempt")
    assert (attempt["kind"], attempt["state"], attempt["turn"]) == ("review", "answered", review["id"])
    (body,) = story.rows(f"SELECT body FROM text WHERE digest = '{review['input_digest']}'")
    assert interrupted.material(body["body"]) == interrupted.LEFT
    assert body["body"].count(interrupted.LEFT) == 1
    assert len(count.turns(story.folder / "codex", review["native_thread"])) == 1
    assert f"explain --home {story.folder} {attempt['decision']}" in story.text


def test_the_scripted_model_finds_the_material_only_between_two_equal_markers() -> None:
    asked = review_input("Which ones?", "visible_response", "Lisbon and\nGenoa", "word", "marker")
    assert interrupted.material(asked) == "Lisbon and\nGenoa"
    assert interrupted.material(review_input("Which ones?", "none", None, "word", "marker")) is None
    assert interrupted.material(asked.replace("=====material-marker=====\n\n", "=====material-other=====\n\n")) is None
    assert interrupted.material("=====material-marker=====\nLisbon\n=====material-marker=====") is None


def test_a_story_that_goes_otherwise_says_what_is_not_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupted, "answer", lambda request: Say("I would rather not say."))
    story = told(tmp_path / "demo", "interrupted")
    assert story.result == 1
    wrong = [line for line in story.lines if line.startswith("  this is not so: ")]
    assert [line.removeprefix("  this is not so: ") for line in wrong] == [
        line.removeprefix("  NO   ") for line in story.lines if line.startswith("  NO ")
    ]
    assert "its answer names all three harbours" in wrong[0]
