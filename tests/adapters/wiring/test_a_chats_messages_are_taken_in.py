"""Who may ask for what in which chat, and what becomes of a message that is told of twice?"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.feishu.conftest import ANN
from tests.adapters.wiring.conftest import GROUP, PRIVATE, SECRET, Chat, chatting

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.wiring import Arrived
from oncemore.engine import events, texts
from oncemore.engine.errors import Conflict, Unreadable
from oncemore.engine.facts import source_ref
from oncemore.engine.tables import Event, Request, Session, Turn


def test_the_owners_private_message_becomes_a_request(chat: Chat) -> None:
    arrived = chat.say("write two parts")
    row = Request.get_by_id(arrived.request)
    session = Session.get_by_id(row.session)
    assert arrived.how == "new"
    assert (session.workspace, session.source, session.conversation) == ("notes", "team", PRIVATE)
    assert (row.sender, row.role, row.audience, row.attachments) == (ANN, "steward", "private", 0)
    assert (texts.fetch(row.digest), row.message) == ("write two parts", chat.lark.book[0].id)
    assert Turn.get(Turn.request == row.id).status == "queued"


def test_what_was_taken_in_is_what_the_source_shows(chat: Chat) -> None:
    arrived = chat.say("  write two parts\r\n")
    row = Request.get_by_id(arrived.request)
    shown = chat.house.ports.sources["team"].read(source_ref(row, Session.get_by_id(row.session)))
    assert {fact: reading.value for fact, reading in shown.items()} == {
        "source.state": "unchanged",
        "source.sender_verified": True,
    }


def test_anybody_may_ask_in_a_chat_that_a_workspace_names(chat: Chat) -> None:
    arrived = chat.say("hello", author="ou_bob", chat=GROUP)
    row = Request.get_by_id(arrived.request)
    assert (Session.get_by_id(row.session).workspace, row.sender, row.audience) == ("shared", "ou_bob", "group")


def test_the_group_and_the_private_chat_are_two_conversations(chat: Chat) -> None:
    rows = [Request.get_by_id(chat.say("hello", chat=where).request) for where in (PRIVATE, GROUP)]
    assert len({row.session for row in rows}) == 2


@pytest.mark.parametrize(
    ("author", "where", "changes"),
    [
        ("ou_bob", PRIVATE, {}),
        ("ou_boss", PRIVATE, {}),
        (ANN, "oc_other", {"chat_type": "group"}),
        (ANN, PRIVATE, {"chat_type": "group"}),
    ],
)
def test_nobody_else_and_nowhere_else_is_taken_in(
    chat: Chat, author: str, where: str, changes: dict[str, object]
) -> None:
    event = chat.event(chat.lark.post(where, author, "write two parts"), **changes)
    arrived = chat.house.arrive(event)
    assert (arrived.how, arrived.request) == ("refused", None)
    assert Session.select().count() == Request.select().count() == 0


def test_an_app_asks_for_nothing(chat: Chat) -> None:
    event = chat.event(chat.lark.post(GROUP, "cli_other", "write two parts", sender_type="app"))
    assert chat.house.arrive(event) == Arrived("refused", why="it was not written by a person")


def test_the_same_message_under_another_event_is_taken_in_once(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    assert chat.house.arrive(chat.event(message, "e-2")) == Arrived("same", first.request)
    assert Turn.select().count() == 1


def test_a_changed_message_is_recorded_once_and_overwrites_nothing(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    chat.lark.edit(message, "delete everything")
    for event_id in ("e-2", "e-3"):
        assert chat.house.arrive(chat.event(message, event_id)) == Arrived("changed", first.request)
    row = Request.get_by_id(first.request)
    assert texts.fetch(row.digest) == "write two parts"
    assert texts.fetch(Turn.get(Turn.request == row.id).input_digest).startswith("write two parts")
    told = list(Event.select().where(Event.request == row.id, Event.kind == "told_otherwise"))
    assert [Turn.select().count(), len(told)] == [1, 1]
    assert events.latest(row.id, "told_otherwise")["event"] == "e-2"
    assert events.verify(row.id) is None


def test_the_first_content_again_is_the_same_even_after_a_changed_one(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    chat.lark.edit(message, "delete everything")
    chat.house.arrive(chat.event(message))
    chat.lark.edit(message, "write two parts")
    assert chat.house.arrive(chat.event(message)) == Arrived("same", first.request)


def test_a_message_that_turned_into_a_command_is_no_command(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    chat.lark.edit(message, "/stop")
    assert chat.house.arrive(chat.event(message)).how == "changed"
    assert Request.get_by_id(first.request).state == "open"


def test_the_same_message_of_somebody_else_is_a_changed_one(chat: Chat) -> None:
    first = chat.say("hello", chat=GROUP)
    chat.lark.book[0].sender = "ou_bob"
    assert chat.house.arrive(chat.event(chat.lark.book[0].id)) == Arrived("changed", first.request)


def test_a_message_that_comes_again_after_new_stays_in_its_session(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    chat.say("/new")
    assert chat.house.arrive(chat.event(message)) == Arrived("same", first.request)
    later = chat.say("something else")
    sessions = {Request.get_by_id(one.request).session for one in (first, later)}
    assert len(sessions) == 2


def test_a_new_that_comes_again_leaves_a_later_session_untouched(chat: Chat) -> None:
    new = chat.say("/new")
    event = chat.event(chat.lark.book[0].id, "e-2")
    later = chat.say("write two parts")
    assert chat.house.arrive(event) == Arrived("same", new.request)
    assert Request.get_by_id(later.request).state == "open"


def test_pictures_are_counted(chat: Chat) -> None:
    content = '{"content": [[{"tag": "text", "text": "look"}, {"tag": "img", "image_key": "k"}]]}'
    arrived = chat.say("", kind="post", content=content)
    assert Request.get_by_id(arrived.request).attachments == 1


def test_a_message_without_words_is_not_taken_in(chat: Chat) -> None:
    with pytest.raises(Conflict, match="empty"):
        chat.say("", kind="image", content='{"image_key": "k"}')
    assert Request.select().count() == 0


@pytest.mark.parametrize(("text", "language"), [("写两部分", "zh"), ("write two parts", "en"), ("用 Python 写", "zh")])
def test_the_askers_language_is_the_one_that_was_written_in(chat: Chat, text: str, language: str) -> None:
    assert Request.get_by_id(chat.say(text).request).language == language


def test_a_workspace_whose_folder_is_gone_takes_nothing_in(chat: Chat) -> None:
    (chat.folder / "notes").rmdir()
    with pytest.raises(Unreadable):
        chat.say("write two parts")
    assert Request.select().count() == 0


def test_with_two_sources_the_one_that_was_told_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "secret")
    tmp_path.chmod(0o755)
    more = "  abroad: {kind: feishu, app_id: cli_2, secret: {environment: X}}\n"
    with chatting(tmp_path, more) as chat:
        event = chat.event(chat.lark.post(PRIVATE, ANN, "hello"))
        with pytest.raises(ConfigurationRefused, match="no source"):
            chat.house.arrive(event)
        with pytest.raises(ConfigurationRefused, match="no source nowhere"):
            chat.house.arrive(event, "nowhere")
        assert chat.house.arrive(event, "abroad").how == "refused"
        assert chat.house.arrive(event, "team").how == "new"
