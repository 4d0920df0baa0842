"""What does `/new` end, and where does the next message go?"""

from __future__ import annotations

import pytest
from tests.engine.commands.conftest import Talk

from oncemore.engine import commands, intake
from oncemore.engine.command_texts import say
from oncemore.engine.errors import Conflict
from oncemore.engine.tables import Request, Session, Turn


def test_the_next_message_comes_into_a_fresh_session_with_the_same_permission(talk: Talk) -> None:
    first = talk.say("first")
    talk.say("/new")
    second = talk.say("second")
    old, new = (Session.get_by_id(Request.get_by_id(one).session) for one in (first, second))
    assert old.id != new.id
    assert (old.state, old.left_at, new.state, new.left_at) == ("closed", talk.time, "open", None)
    assert (new.workspace, new.root_inode, new.conversation) == (old.workspace, old.root_inode, old.conversation)


def test_what_was_in_hand_for_its_author_is_ended(talk: Talk) -> None:
    first, second = talk.say("first"), talk.say("second")
    turn = talk.begin(first)
    new = talk.say("/new")
    assert (talk.state(first), talk.state(second)) == ("stopped", "stopped")
    assert Request.get_by_id(first).stop_target == turn
    assert talk.frozen(new) == [("command", say("left", "en"))]


def test_what_rests_already_is_left_as_it_is(talk: Talk) -> None:
    request = talk.say("first")
    talk.end(request, status="failed", error="other", has_reply=False, reply_digest=None)
    Request.update(due_at=None).where(Request.id == request).execute()
    talk.say("/new")
    assert talk.state(request) == "open" and talk.frozen(request) == []


@pytest.mark.parametrize("running", [True, False])
def test_the_session_is_not_left_while_somebody_else_waits_in_it(talk: Talk, running: bool) -> None:
    own, other = talk.say("first", author="ann"), talk.say("second", author="bob")
    if running:
        talk.begin(other)
    before = talk.session
    new = talk.say("/new", author="ann")
    assert talk.frozen(new) == [("command", say("not_left", "en"))]
    assert (talk.state(own), talk.state(other), talk.session) == ("open", "open", before)


def test_a_new_that_comes_again_leaves_the_later_session_untouched(talk: Talk) -> None:
    talk.say("first")
    new = talk.posted("/new")
    taken = commands.accept_command(talk.journal, talk.session, new)
    later = talk.say("second")
    before = talk.everything()
    assert commands.accept_command(talk.journal, talk.session, new) == taken
    assert talk.everything() == before and talk.state(later) == "open"


def test_a_message_that_comes_again_stays_where_it_was_taken_in(talk: Talk) -> None:
    message = talk.posted("first")
    taken = intake.accept(talk.journal, talk.session, message)
    talk.say("/new")
    assert intake.accept(talk.journal, talk.session, message) == taken
    assert Turn.select().count() == 1


def test_nothing_more_comes_into_a_session_that_was_left(talk: Talk) -> None:
    left = talk.session
    talk.say("/new")
    for text in ("second", "/status"):
        take = commands.accept_command if text == "/status" else intake.accept
        with pytest.raises(Conflict, match="closed"):
            take(talk.journal, left, talk.posted(text))


def test_a_session_that_an_operator_closed_is_not_opened_anew_by_a_person(talk: Talk) -> None:
    intake.close_session(talk.journal, talk.session)
    with pytest.raises(Conflict, match="never reopened"):
        talk.say("/new")


def test_the_answer_to_new_is_delivered_from_the_session_that_was_left(talk: Talk) -> None:
    request = talk.say("first")
    new = talk.say("/new", language="zh")
    talk.deliver(request, new)
    assert talk.answers(new) == [say("left", "zh")]
    assert len(talk.answers(request)) == 1


def test_a_conversation_is_left_as_often_as_its_people_want(talk: Talk) -> None:
    sessions = set()
    for _ in range(3):
        sessions.add(talk.session)
        talk.say("/new")
    assert len(sessions) == 3
    assert Session.select().where(Session.left_at.is_null()).count() == 0
