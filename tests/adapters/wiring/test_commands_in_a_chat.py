"""Commands in Lark: with the bot's name in front, in the asker's language, answered under the message that asked."""

from __future__ import annotations

import pytest
from tests.adapters.feishu.conftest import ANN
from tests.adapters.wiring.conftest import GROUP, Chat

from oncemore.engine import prompts
from oncemore.engine.command_texts import say
from oncemore.engine.facts import journal_facts, source_ref
from oncemore.engine.tables import Request, Session, Turn

BOT = (("@_user_1", "ou_bot", "Once More"), ("@_user_2", "ou_bob", "Once"))


def replies(chat: Chat, request: str | None) -> list[str]:
    return [entry.text for entry in chat.lark.replies(Request.get_by_id(request).message)]


def test_a_command_is_answered_under_its_own_message(chat: Chat) -> None:
    asked = chat.say("/help")
    chat.deliver(asked.request)
    chat.deliver(asked.request)
    assert replies(chat, asked.request) == [say("help", "zh")]
    assert Turn.select().count() == 0


def test_it_is_answered_in_the_language_of_its_authors_last_message(chat: Chat) -> None:
    chat.say("write two parts")
    asked = chat.say("/why")
    chat.deliver(asked.request)
    assert replies(chat, asked.request) == [say("nothing_decided", "en")]


@pytest.mark.parametrize("text", ["@_user_1 /status", "@_user_1  /STATUS ", "@_user_2 @_user_1 /status", "/status"])
def test_the_bots_name_may_stand_in_front(chat: Chat, text: str) -> None:
    arrived = chat.say(text, chat=GROUP, mentions=BOT)
    assert Request.get_by_id(arrived.request).state == "answered"
    chat.deliver(arrived.request)
    assert len(replies(chat, arrived.request)) == 1


@pytest.mark.parametrize("text", ["@_user_1 /stop please", "/stop @_user_1", "@Somebody /stop"])
def test_a_command_with_more_around_it_is_a_message(chat: Chat, text: str) -> None:
    arrived = chat.say(text, chat=GROUP, mentions=BOT)
    assert Turn.get(Turn.request == arrived.request).status == "queued"


def test_a_stop_in_a_group_ends_only_what_its_author_asked_for(chat: Chat) -> None:
    mine, other = chat.say("mine", chat=GROUP), chat.say("other", author="ou_bob", chat=GROUP)
    stop = chat.say("@_user_1 /stop", chat=GROUP, mentions=BOT)
    assert [Request.get_by_id(one.request).state for one in (mine, other)] == ["stopped", "open"]
    chat.deliver(mine.request, stop.request)
    assert replies(chat, mine.request) == [prompts.STOPPED["en"]]
    assert replies(chat, stop.request) == []


@pytest.mark.parametrize("text", ["/status", "/help", "/why", "/stop"])
def test_a_command_is_no_newer_message_of_the_journal_or_the_source(chat: Chat, text: str) -> None:
    request = chat.say("write two parts").request
    chat.clock.pass_(1_000)
    chat.say(text)
    row = Request.get_by_id(request)
    with chat.house.journal.transaction():
        known = journal_facts(row.id)
    newer = chat.house.ports.sources["team"].newer(source_ref(row, Session.get_by_id(row.session)))
    assert known.newer == "none"
    assert set(newer.messages) <= known.accepted


def test_new_begins_a_fresh_session_for_the_chat(chat: Chat) -> None:
    first = chat.say("write two parts")
    new = chat.say("/new")
    later = chat.say("and a third", author=ANN)
    chat.deliver(first.request, new.request)
    assert replies(chat, first.request) == [prompts.STOPPED["en"]]
    assert replies(chat, new.request) == [say("left", "en")]
    session = Session.get_by_id(Request.get_by_id(later.request).session)
    assert (session.state, session.conversation) == ("open", "oc_private")
    assert session.id != Request.get_by_id(first.request).session
