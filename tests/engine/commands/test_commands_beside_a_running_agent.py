"""Commands in a conversation with a real Codex, whose answer was unfinished and waits to be taken up once more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.executor.world import BACKOFF, KEY, World, hanging, world

from oncemore.engine import prompts
from oncemore.engine.command_texts import say


@pytest.fixture
def w(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    with world(tmp_path) as made:
        yield made


def said(w: World, request: str) -> str:
    found = w.row(
        "select body from delivery join text on text.digest = delivery.text_digest where request = ?", request
    )
    return str(found["body"])


def test_why_tells_the_newest_decision_and_stop_prevents_the_continuation(w: World) -> None:
    request = w.ask()
    early = w.ask("/why")
    with w.house() as house:
        status = house.ask("notes", "/status", language="zh")
    w.work()
    why = w.ask("/why")
    with w.house() as house:
        chinese = house.ask("notes", "/why", language="zh")
    stop = w.ask("/stop")
    w.offset += BACKOFF
    w.work()
    assert said(w, early) == say("nothing_decided", "en")
    assert say("is_queued", "zh") in said(w, status)
    assert "left alone for a minute. Looked at again from" in said(w, why)
    assert "起再次查看" in said(w, chinese)
    assert w.row("select state, stop_origin from request where id = ?", request) == {
        "state": "stopped",
        "stop_origin": "user",
    }
    assert len(w.native_turns()) == 1
    assert w.rows("select * from delivery where request = ?", stop) == []
    assert w.rows("select * from delivery where state != 'verified'") == []
    assert prompts.STOPPED["en"] in w.replies()


def test_commands_do_not_keep_an_answer_from_being_continued(w: World) -> None:
    request = w.ask()
    w.work()
    for text in ("/status", "/help", "/why"):
        w.ask(text)
    w.offset += BACKOFF
    w.work()
    assert w.row("select state from attempt where request = ?", request) == {"state": "answered"}
    assert len(w.native_turns()) == 2


def test_new_interrupts_what_runs_and_the_next_message_has_a_thread_of_its_own(w: World) -> None:
    w.plot.first = hanging(w)
    request = w.ask()
    process = w.work_until("while_running", "business-1")
    new = w.ask("/new")
    process.finish()
    later = w.ask("Hello.")
    w.work()
    assert w.first_turn(request)["status"] == "interrupted"
    assert said(w, request) == prompts.STOPPED["en"] and said(w, new) == say("left", "en")
    assert w.rows("select * from delivery where state != 'verified'") == []
    assert w.row("select state from request where id = ?", later) == {"state": "answered"}
    threads = w.rows("select session, thread from session_thread")
    assert len({row["session"] for row in threads}) == len({row["thread"] for row in threads}) == 2


def test_nothing_is_continued_in_a_session_that_somebody_else_left(w: World) -> None:
    request = w.ask()
    w.work()
    with w.house() as house:
        house.ask("notes", "/new", author="bob")
    w.offset += BACKOFF
    w.work()
    assert w.row("select state, due_at from request where id = ?", request) == {"state": "open", "due_at": None}
    assert len(w.native_turns()) == 1
    assert w.rows("select * from attempt") == []
