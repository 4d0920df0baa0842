"""Which messages are commands, and what becomes of one in the journal?"""

from __future__ import annotations

import pytest
from tests.engine.commands.conftest import Talk

from oncemore.engine import commands, events, facts
from oncemore.engine.command_texts import WORDS, say
from oncemore.engine.commands import Command, command
from oncemore.engine.errors import Conflict
from oncemore.engine.tables import Request, Turn


@pytest.mark.parametrize("text", ["/stop", "/Stop", "/STOP", "/stop ", " /stop", "/stop\n"])
def test_a_word_alone_is_a_command_however_it_is_written(text: str) -> None:
    assert command(text) is Command.STOP


@pytest.mark.parametrize("name", ["stop", "status", "new", "why", "help"])
def test_there_are_five_commands(name: str) -> None:
    assert command(f"/{name}") == f"/{name}"


@pytest.mark.parametrize(
    "text", ["/stop please", "/stop.", "please /stop", "stop", "//stop", "/ stop", "/stop /stop", "/halt", "/", ""]
)
def test_anything_more_is_a_message_to_the_agent(text: str) -> None:
    assert command(text) is None


def test_a_message_that_begins_like_a_command_gets_a_turn(talk: Talk) -> None:
    assert Turn.get(Turn.request == talk.say("/stop please")).phase == "business"


def test_a_command_has_a_request_that_is_answered_and_no_turn(talk: Talk) -> None:
    request = talk.say("/help")
    assert talk.state(request) == "answered"
    assert Turn.select().count() == 0
    assert talk.frozen(request) == [("command", WORDS["en"]["help"])]
    assert events.latest(request, "command") == {"name": "help", "target": None}
    assert events.verify(request) is None


@pytest.mark.parametrize("text", ["/help", "/status", "/why", "/new", "/stop"])
def test_the_same_command_again_changes_nothing(talk: Talk, text: str) -> None:
    talk.say("write two parts")
    arrival = talk.posted(text)
    session = talk.session
    first = commands.accept_command(talk.journal, session, arrival)
    before = talk.everything()
    assert commands.accept_command(talk.journal, session, arrival) == first
    assert talk.everything() == before


def test_a_command_that_came_as_something_else_before_is_a_conflict(talk: Talk) -> None:
    request = talk.say("write two parts")
    edited = commands.Arrival(message=Request.get_by_id(request).message, sender="ann", text="/stop")
    with pytest.raises(Conflict, match="other content"):
        commands.accept_command(talk.journal, talk.session, edited)
    assert talk.state(request) == "open"


def test_what_is_no_command_is_not_taken_in_as_one(talk: Talk) -> None:
    with pytest.raises(Conflict, match="no command"):
        commands.accept_command(talk.journal, talk.session, talk.posted("/stop please"))
    assert Request.select().count() == 0


def test_a_command_is_no_newer_message(talk: Talk) -> None:
    request = talk.say("write two parts")
    for text in ("/status", "/help", "/why"):
        talk.say(text)
    row = Request.get_by_id(request)
    reference = facts.SourceRef("inbox", row.message, row.sender, row.digest)
    with talk.journal.transaction():
        assert facts.journal_facts(request).newer == "none"
    assert talk.inbox.newer(reference).messages == ()


def test_a_command_waits_in_no_queue_and_takes_no_place_in_it(talk: Talk) -> None:
    for n in range(20):
        talk.say(f"message {n}")
    assert talk.frozen(talk.say("/help"))


def test_every_text_stands_in_every_language_with_the_same_places() -> None:
    def places(text: str) -> set[str]:
        return {part.split("}")[0] for part in text.split("{")[1:]}

    assert set(WORDS["en"]) == set(WORDS["zh"])
    assert {name: places(text) for name, text in WORDS["en"].items()} == {
        name: places(text) for name, text in WORDS["zh"].items()
    }


def test_an_unknown_language_is_answered_in_english() -> None:
    assert say("idle", "fr") == say("idle", "en")
