"""Messages, stops, releases and closings are taken in once, and what they cannot mean any more is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncemore.engine import events, intake, queueing, texts
from oncemore.engine.errors import Conflict, NotFound
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Workspace
from oncemore.engine.tables import Event, Request, Session, Turn

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))


@pytest.fixture
def journal(place: Path | str) -> Iterator[Journal]:
    opened = Journal(place, clock=lambda: 1_000_000)
    yield opened
    opened.close()


@pytest.fixture
def session(journal: Journal) -> str:
    return intake.open_session(journal, GRANT, runtime="codex", home="/h", source="inbox", conversation="c")


def arrival(message: str = "m-1", text: str = "write two parts", sender: str = "ann") -> intake.Arrival:
    return intake.Arrival(message=message, sender=sender, text=text)


def kinds(request: str) -> list[str]:
    return [e.kind for e in Event.select().where(Event.request == request).order_by(Event.seq)]


def test_a_message_becomes_a_request_and_one_turn(journal: Journal, session: str) -> None:
    request = intake.accept(journal, session, arrival())
    turn = Turn.get(Turn.request == request)
    assert (turn.id, turn.status, turn.phase) == (f"{request}-business-1", "queued", "business")
    assert texts.fetch(turn.input_digest).startswith("write two parts")
    assert texts.fetch(Request.get_by_id(request).digest) == "write two parts"
    assert kinds(request) == ["accepted", "queued"]


def test_the_same_message_again_is_the_same_request(journal: Journal, session: str) -> None:
    assert intake.accept(journal, session, arrival()) == intake.accept(journal, session, arrival())
    assert Turn.select().count() == 1


@pytest.mark.parametrize("other", [{"text": "write three parts"}, {"sender": "bob"}])
def test_the_same_message_with_other_content_is_a_conflict(journal: Journal, session: str, other: dict) -> None:
    intake.accept(journal, session, arrival())
    with pytest.raises(Conflict, match="other content"):
        intake.accept(journal, session, arrival(**other))


def test_the_queue_takes_twenty_and_the_next_one_is_told(journal: Journal, session: str) -> None:
    for n in range(queueing.PLACES):
        intake.accept(journal, session, arrival(f"m-{n}"))
    with pytest.raises(Conflict, match="already wait"):
        intake.accept(journal, session, arrival("one-more"))
    assert Request.select().count() == queueing.PLACES


def test_a_conversation_keeps_its_workspace(journal: Journal, session: str) -> None:
    other = GrantRef("other", "ann", "workspace_write", 1, Workspace("/srv/other", 1, 3))
    with pytest.raises(Conflict, match="bound to the workspace notes"):
        intake.open_session(journal, other, runtime="codex", home="/h", source="inbox", conversation="c")


def test_a_closed_session_is_never_reopened(journal: Journal, session: str) -> None:
    intake.close_session(journal, session)
    with pytest.raises(Conflict, match="never reopened"):
        intake.open_session(journal, GRANT, runtime="codex", home="/h", source="inbox", conversation="c")
    with pytest.raises(Conflict, match="is closed"):
        intake.accept(journal, session, arrival())


def test_a_session_with_work_is_not_closed(journal: Journal, session: str) -> None:
    intake.accept(journal, session, arrival())
    with pytest.raises(Conflict, match="still has work"):
        intake.close_session(journal, session)


def test_a_stop_ends_what_waits_and_freezes_its_target(journal: Journal, session: str) -> None:
    first = intake.accept(journal, session, arrival("m-1"))
    second = intake.accept(journal, session, arrival("m-2"))
    Session.update(active_turn=f"{first}-business-1").execute()
    intake.stop(journal, second, "user")
    intake.stop(journal, first, "operator", "enough")
    assert Request.get_by_id(second).stop_target is None
    assert Turn.get_by_id(f"{second}-business-1").status == "withdrawn"
    assert Request.get_by_id(first).stop_target == f"{first}-business-1"
    assert Turn.get_by_id(f"{first}-business-1").status == "queued"


def test_what_has_ended_cannot_be_stopped_or_released(journal: Journal, session: str) -> None:
    request = intake.accept(journal, session, arrival())
    intake.stop(journal, request, "user")
    with pytest.raises(Conflict, match="already stopped"):
        intake.stop(journal, request, "user")
    with pytest.raises(Conflict, match="already stopped"):
        intake.release(journal, request, "please")


def test_a_release_needs_a_reason_and_makes_the_request_due(journal: Journal, session: str) -> None:
    request = intake.accept(journal, session, arrival())
    Request.update(due_at=None, held="source-unchanged").execute()
    with pytest.raises(Conflict, match="reason"):
        intake.release(journal, request, "  ")
    intake.release(journal, request, "I looked at it")
    row = Request.get_by_id(request)
    assert (row.due_at, row.held, row.waiting_since) == (1_000_000, None, 1_000_000)


def test_a_release_cannot_settle_what_is_not_ambiguous(journal: Journal, session: str) -> None:
    request = intake.accept(journal, session, arrival())
    with pytest.raises(Conflict, match="no start"):
        intake.release(journal, request, "saw it", saw="ran")
    with pytest.raises(Conflict, match="no reply"):
        intake.release(journal, request, "saw it", saw="delivered")


def test_closing_by_hand_ends_the_request(journal: Journal, session: str) -> None:
    request = intake.accept(journal, session, arrival())
    intake.release(journal, request, "answered by telephone", close=True)
    row = Request.get_by_id(request)
    assert (row.state, row.due_at) == ("answered", None)
    assert Turn.get(Turn.request == request).status == "withdrawn"


def test_what_is_not_there_is_said(journal: Journal) -> None:
    with pytest.raises(NotFound, match="r-none"):
        intake.stop(journal, "r-none", "user")
    with pytest.raises(NotFound, match="s-none"):
        intake.close_session(journal, "s-none")


def test_every_word_of_a_person_is_in_the_chain(journal: Journal, session: str) -> None:
    request = intake.accept(journal, session, arrival())
    intake.opt_out(journal, request)
    intake.stop(journal, request, "user")
    assert kinds(request) == ["accepted", "queued", "opted_out", "stopped"]
    assert events.verify(request) is None


@pytest.mark.parametrize(
    ("text", "says"), [("", "empty"), (" \n", "empty"), ("x" * 200_001, "at most 200000"), ("a\ud800", "position 1")]
)
def test_a_message_that_cannot_be_kept_is_refused_in_words(
    journal: Journal, session: str, text: str, says: str
) -> None:
    with pytest.raises(Conflict, match=says):
        intake.accept(journal, session, arrival(text=text))
    assert Request.select().count() == 0
