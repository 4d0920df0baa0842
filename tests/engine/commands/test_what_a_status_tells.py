"""What does `/status` say, and of which moment?"""

from __future__ import annotations

import pytest
from tests.engine.commands.conftest import Talk

from oncemore.engine import commands
from oncemore.engine.command_texts import WORDS, say
from oncemore.engine.tables import Request, Turn
from oncemore.rules import times


def status(talk: Talk, author: str = "ann", language: str = "en") -> list[str]:
    ((stage, text),) = talk.frozen(talk.say("/status", author, language))
    assert stage == "command"
    return text.splitlines()


def stands(name: str, until: str = "") -> str:
    return say(name, "en", until=until)


def test_a_conversation_without_messages_is_idle(talk: Talk) -> None:
    at = times.format_ms(talk.time)
    assert status(talk) == [f"As of {at}:", WORDS["en"]["idle"], WORDS["en"]["no_message"]]


def test_it_says_what_runs_and_how_many_wait(talk: Talk) -> None:
    first = talk.say("first")
    talk.begin(first)
    talk.say("second")
    talk.say("third", author="bob")
    lines = status(talk)
    assert lines[1] == say("running_own", "en", since=times.format_ms(talk.time))
    assert lines[2] == say("queue", "en", count=2)
    assert lines[3].endswith(stands("is_queued"))
    assert status(talk, author="bob")[1] == say("running_other", "en", since=times.format_ms(talk.time))


@pytest.mark.parametrize("state", ["answered", "stopped", "superseded"])
def test_a_message_that_has_ended_is_said_to_have(talk: Talk, state: str) -> None:
    request = talk.say("first")
    Request.update(state=state).where(Request.id == request).execute()
    assert status(talk)[-1].endswith(stands(f"is_{state}"))


def test_a_held_message_is_said_to_need_somebody_and_not_why(talk: Talk) -> None:
    request = talk.say("first")
    Request.update(held="the internal reason", due_at=None).where(Request.id == request).execute()
    assert status(talk)[-1].endswith(stands("is_held"))


def test_a_message_that_waits_for_a_time_is_said_to_until_then(talk: Talk) -> None:
    request = talk.say("first")
    talk.end(request)
    Request.update(due_at=talk.time + 5_000).where(Request.id == request).execute()
    assert status(talk)[-1].endswith(stands("is_waiting", times.format_ms(talk.time + 5_000)))


def test_a_time_that_is_over_is_not_told(talk: Talk) -> None:
    request = talk.say("first")
    talk.end(request)
    assert status(talk)[-1].endswith(stands("is_waiting_untimed"))


def test_a_message_that_rests_is_said_to(talk: Talk) -> None:
    request = talk.say("first")
    talk.end(request)
    Request.update(due_at=None).where(Request.id == request).execute()
    assert status(talk)[-1].endswith(stands("is_resting"))


def test_it_is_said_in_the_askers_language(talk: Talk) -> None:
    assert status(talk, language="zh")[1] == WORDS["zh"]["idle"]


def test_what_it_says_is_of_the_moment_at_which_it_was_taken_in(talk: Talk) -> None:
    request = talk.say("first")
    asked = talk.posted("/status")
    taken = commands.accept_command(talk.journal, talk.session, asked)
    before = talk.frozen(taken)
    talk.time += 60_000
    Turn.update(status="completed", ended_at=talk.time).where(Turn.request == request).execute()
    Request.update(state="answered").where(Request.id == request).execute()
    commands.accept_command(talk.journal, talk.session, asked)
    talk.deliver(taken)
    assert [("command", text) for text in talk.answers(taken)] == before


def test_a_status_that_was_edited_is_not_answered(talk: Talk) -> None:
    taken = talk.say("/status")
    talk.inbox.edit(Request.get_by_id(taken).message, "write two parts")
    talk.deliver(taken)
    assert talk.answers(taken) == []
    assert Request.get_by_id(taken).held == "not delivered: source.state is edited"


def test_a_command_that_was_delivered_is_not_looked_at_again(talk: Talk) -> None:
    taken = talk.say("/status")
    talk.deliver(taken)
    row = Request.get_by_id(taken)
    assert (row.state, row.due_at, row.held) == ("answered", None, None)
    assert len(talk.answers(taken)) == 1
