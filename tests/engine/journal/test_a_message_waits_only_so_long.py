"""Until when a message may wait for its turn is stored when it is taken in; past it, it has ended, unstarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import peewee as pw
import pytest

from oncemore.engine import commands, intake, queueing
from oncemore.engine.errors import Conflict
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Workspace
from oncemore.engine.tables import Request, Session, Turn, database

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
TAKEN_IN = 1_000_000
OVER = TAKEN_IN + queueing.PATIENCE


class Line:
    """A Session, and a clock that is set."""

    def __init__(self, place: Path | str) -> None:
        self.now = TAKEN_IN
        self.journal = Journal(place, clock=lambda: self.now)
        self.session = intake.open_session(
            self.journal, GRANT, runtime="codex", home="/h", source="inbox", conversation="c"
        )

    def accept(self, message: str = "m-1", sender: str = "ann", **more: int) -> str:
        return intake.accept(
            self.journal, self.session, intake.Arrival(message=message, sender=sender, text="write"), **more
        )

    def command(self, word: str) -> str:
        arrival = intake.Arrival(message=f"m-{word}-{self.now}", sender="ann", text=word)
        return commands.accept_command(self.journal, self.session, arrival)


@pytest.fixture
def line(place: Path | str) -> Iterator[Line]:
    made = Line(place)
    yield made
    made.journal.close()


def ended(request: str) -> tuple[str, str, int | None]:
    turn = Turn.get(Turn.request == request)
    return turn.status, turn.error, turn.ended_at


WAITS = ("queued", "none", None)


def test_the_time_is_stored_with_the_turn_and_never_changes(line: Line) -> None:
    request = line.accept()
    assert Turn.get(Turn.request == request).expires_at == TAKEN_IN + 3_600_000
    assert Turn.get(Turn.request == line.accept("m-2", patience=5_000)).expires_at == TAKEN_IN + 5_000
    with pytest.raises(pw.IntegrityError, match="keeps its identity"):
        database.execute_sql("update turn set expires_at = expires_at + 1")


@pytest.mark.parametrize(("phase", "expires_at"), [("business", None), ("work", OVER)])
def test_a_persons_turn_has_such_a_time_and_a_recovery_has_none(line: Line, phase: str, expires_at: int | None) -> None:
    request = line.accept()
    with pytest.raises(pw.IntegrityError, match=r"(?i)check"), line.journal.transaction():
        queueing.queue_turn(request, phase, 2, "again", "word", TAKEN_IN, expires_at=expires_at)


def test_messages_that_waited_too_long_take_no_place_from_the_next(line: Line) -> None:
    waiting = [line.accept(f"m-{number}") for number in range(queueing.PLACES)]
    line.now = OVER - 1
    with pytest.raises(Conflict, match="already wait"):
        line.accept("one-more")
    assert [ended(request) for request in waiting] == [WAITS] * queueing.PLACES
    line.now = OVER
    line.accept("one-more")
    assert [ended(request) for request in waiting] == [("timed_out", queueing.EXPIRED, OVER)] * queueing.PLACES
    assert {Request.get_by_id(request).due_at for request in waiting} == {OVER}


def test_a_session_is_closed_over_what_waited_too_long_and_not_over_what_waits(line: Line) -> None:
    request = line.accept()
    line.now = OVER - 1
    with pytest.raises(Conflict, match="still has work"):
        intake.close_session(line.journal, line.session)
    assert ended(request) == WAITS
    line.now = OVER
    intake.close_session(line.journal, line.session)
    assert Session.get_by_id(line.session).state == "closed"
    assert ended(request) == ("timed_out", queueing.EXPIRED, OVER)


def test_a_claimed_turn_is_left_to_who_claimed_it(line: Line) -> None:
    request = line.accept()
    Session.update(active_turn=f"{request}-business-1").execute()
    line.now = OVER
    with line.journal.transaction():
        assert queueing.expire(line.session, line.now) == []
    assert ended(request) == WAITS


def test_what_is_held_waits_no_longer_than_the_rest(line: Line) -> None:
    request = line.accept()
    Request.update(held="not started: grant.state is revoked", due_at=None).execute()
    line.now = OVER
    line.accept("m-2")
    row = Request.get_by_id(request)
    assert (row.held, row.due_at) == (None, OVER)
    assert ended(request) == ("timed_out", queueing.EXPIRED, OVER)


@pytest.mark.parametrize("stopped", [False, True], ids=["expired first", "stopped first"])
def test_a_stop_and_the_end_of_the_wait_do_not_undo_each_other(line: Line, stopped: bool) -> None:
    request = line.accept()
    if stopped:
        intake.stop(line.journal, request, "user")
    line.now = OVER
    with line.journal.transaction():
        assert queueing.expire(line.session, line.now) == ([] if stopped else [f"{request}-business-1"])
    if not stopped:
        intake.stop(line.journal, request, "user")
    assert Turn.get(Turn.request == request).status == ("withdrawn" if stopped else "timed_out")
    assert Request.get_by_id(request).state == "stopped"


def test_somebody_elses_message_that_waited_too_long_keeps_nobody_from_leaving(line: Line) -> None:
    other = line.accept(sender="bob")
    line.now = OVER - 1
    line.command("/new")
    assert Session.get_by_id(line.session).state == "open"
    line.now = OVER
    line.command("/new")
    assert Session.get_by_id(line.session).state == "closed"
    assert ended(other) == ("timed_out", queueing.EXPIRED, OVER)
