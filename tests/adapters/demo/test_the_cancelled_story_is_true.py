"""Is what the story of a cancelled Turn says so? Everything is read again here, with other means than its own."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.demo.told import told

from oncemore.adapters.demo import cancelled
from oncemore.engine import prompts


def test_a_turn_that_is_stopped_at_the_desktop_is_settled_once_and_the_next_message_is_answered(tmp_path: Path) -> None:
    story = told(tmp_path / "demo", "cancelled")
    assert story.result == 0, story.text
    assert "NO " not in story.text
    first, second = story.rows("SELECT * FROM turn ORDER BY started_at")
    assert (first["status"], first["error"], first["settled_cancel"]) == ("failed", "upstream_transport_failure", 1)
    assert (second["status"], second["native_thread"]) == ("completed", first["native_thread"])
    assert story.rows("SELECT * FROM attempt") == []
    assert story.replies() == [prompts.FAILED["en"], cancelled.ANSWER]
    (fired,) = story.rows("SELECT * FROM decision WHERE outcome = 'fire'")
    assert (fired["policy"], fired["request"]) == (cancelled.POLICY, first["request"])
    assert f"explain --home {story.folder} {fired['id']}" in story.text


def test_the_token_of_the_language_server_is_in_no_line_and_not_in_the_journal(tmp_path: Path) -> None:
    story = told(tmp_path / "demo", "cancelled")
    token = (story.folder / "antigravity" / "token").read_text()
    assert len(token) > 20
    assert token not in story.text
    for file in (story.folder / "data").iterdir():
        assert token.encode() not in file.read_bytes()
