"""Rows Q: what people say is taken in once, for whom it was said and under the grant of that moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.feishu.fake import FakeLark
from tests.adapters.wiring.conftest import SECRET, Chat, chatting
from tests.rows.antigravity_world import FINAL, WORKING, Desk, desk, refusal
from tests.rows.removals import guard
from tests.rows.row import Removal, row

from oncemore.adapters.feishu.events import EventRefused
from oncemore.adapters.grants import ConfiguredGrants
from oncemore.adapters.wiring import Arrived
from oncemore.engine import intake, texts
from oncemore.engine.command_texts import say
from oncemore.engine.errors import Conflict, Refused
from oncemore.engine.tables import Request, Session, Turn

LANGUAGE_SERVER, LARK = "fake language server", "fake Lark"
HOUR = 3_600_000


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with desk(tmp_path, monkeypatch, "retry-route") as made:
        taken_out(made.w)
        yield made


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Chat]:
    monkeypatch.setenv(SECRET, FakeLark.app_secret)
    tmp_path.chmod(0o755)
    with chatting(tmp_path) as made:
        taken_out(made)
        yield made


def _whatever_it_says(session: str, arrival: intake.Arrival) -> str | None:
    found = intake.known(Session.get_by_id(session).source, arrival.message)
    return None if found is None else str(found.id)


@row(
    "Q1",
    "The same message with other content is refused, and the first content is what is done.",
    on=LANGUAGE_SERVER,
    removed=guard(
        "oncemore.engine.intake.again", _whatever_it_says, "comparing a message that comes again with what was taken in"
    ),
)
def test_Q01_the_same_message_with_other_content_is_refused(d: Desk) -> None:
    d.server.after_send(WORKING, FINAL)
    request = d.ask("How many parts?")
    with d.w.house() as house:
        row = Request.get_by_id(request)
        other = intake.Arrival(message=row.message, sender="ann", text="Delete them all.")
        assert "other content" in refusal(lambda: intake.accept(house.journal, row.session, other), Conflict)
    d.work()
    (sent,) = d.server.sends
    assert sent["items"][0]["text"].startswith("How many parts?")


@row(
    "Q2",
    "The twenty-first message that would wait is refused and never executed, and its person is told so once.",
    on=LARK,
    removed=guard("oncemore.engine.queueing.PLACES", 1_000, "the number of places in a queue"),
)
def test_Q02_the_twenty_first_message_that_would_wait_is_refused(chat: Chat) -> None:
    for number in range(20):
        chat.say(f"Question {number}?")
    refused = chat.say("One more?")
    assert (refused.how, Turn.select().count()) == ("refused", 20)
    message = chat.lark.book[-1].id
    assert chat.house.arrive(chat.event(message, "e-2")).request == refused.request
    chat.deliver(refused.request)
    assert [entry.text for entry in chat.lark.replies(message)] == [say("queue_full", "en", count=20)]
    assert Turn.select().where(Turn.request == refused.request).count() == 0


def _in_an_open_conversation(source: str, message: str) -> Request | None:
    sessions = Session.select(Session.id).where(Session.source == source, Session.left_at.is_null())
    found = Request.get_or_none(Request.message == message, Request.session.in_(sessions))
    assert found is None or isinstance(found, Request)
    return found


ONLY_OPEN = guard(
    "oncemore.engine.intake.known",
    _in_an_open_conversation,
    "looking for a message in the conversations that were left, too",
)


@row(
    "Q5",
    "A message that is told of again after its conversation was left stays there; it is not moved to the next one.",
    on=LARK,
    removed=ONLY_OPEN,
)
def test_Q05_a_message_told_of_again_stays_in_the_conversation_that_was_left(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    chat.say("/new")
    later = chat.say("something else")
    assert chat.house.arrive(chat.event(message, "e-2")) == Arrived("same", first.request)
    assert Request.get_by_id(first.request).session != Request.get_by_id(later.request).session
    assert Turn.select().count() == 2


@row(
    "Q6",
    "A `/new` that is told of again leaves a conversation that was begun after it alone.",
    on=LARK,
    removed=ONLY_OPEN,
)
def test_Q06_a_new_told_of_again_leaves_the_later_conversation_alone(chat: Chat) -> None:
    chat.say("write two parts")
    new = chat.say("/new")
    event = chat.event(chat.lark.book[1].id, "e-2")
    later = chat.say("something else")
    assert chat.house.arrive(event) == Arrived("same", new.request)
    row = Request.get_by_id(later.request)
    assert (row.state, Session.get_by_id(row.session).state) == ("open", "open")


def _as_it_was_granted(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    """Grants are read from a copy of the configuration of this moment."""
    folder: Path = made.folder
    copy = folder / "as-it-was.yaml"
    copy.write_bytes((folder / "oncemore.yaml").read_bytes())
    copy.chmod(0o600)
    clock = made.clock if isinstance(made, Chat) else made.now
    grant, read = ConfiguredGrants.grant, ConfiguredGrants.read
    then = ConfiguredGrants(copy, clock)
    monkeypatch.setattr(ConfiguredGrants, "grant", lambda grants, workspace: grant(then, workspace))
    monkeypatch.setattr(ConfiguredGrants, "read", lambda grants, ref: read(then, ref))


GRANT_ONCE = Removal("reading the grant anew each time", _as_it_was_granted)


@row(
    "Q7",
    "A grant that is taken back before a message is taken in lets nothing in: no conversation, and nothing written.",
    on=LARK,
    removed=GRANT_ONCE,
)
def test_Q07_a_grant_taken_back_before_the_message_is_taken_in_lets_nothing_in(chat: Chat) -> None:
    event = chat.event(chat.lark.post("oc_private", "ou_ann", "write two parts"))
    file = chat.house.configuration.file
    text = file.read_text()
    file.write_text(text[: text.index("workspaces:")] + "workspaces: {}\n")
    assert "no workspace" in refusal(lambda: chat.house.arrive(event), Refused)
    assert (Session.select().count(), Request.select().count(), Turn.select().count()) == (0, 0, 0)


@row(
    "Q8",
    "A message that is told of again is as much without its grant as the first time: it starts nothing.",
    on=LANGUAGE_SERVER,
    removed=GRANT_ONCE,
)
def test_Q08_a_message_told_of_again_after_the_grant_is_gone_starts_nothing(d: Desk) -> None:
    d.server.after_send(WORKING, FINAL)
    request = d.ask()
    row = d.w.row("select * from request")
    d.w.revoke()
    with d.w.house() as house:
        again = intake.Arrival(message=row["message"], sender="ann", text="How many parts?")
        assert intake.accept(house.journal, row["session"], again) == request
    d.work(0, HOUR)
    assert d.books() == (0, 0)
    assert d.w.row("select held from request")["held"] == "not started: grant.state is revoked"


@row(
    "Q9",
    "A reference that leads elsewhere is refused before anything is locked, looked up or written.",
    on=LARK,
    removed=guard("oncemore.adapters.feishu.events.safe_id", lambda value: True, "the form of an id"),
)
@pytest.mark.parametrize("field", ["message_id", "chat_id"])
def test_Q09_a_reference_that_leads_elsewhere_is_refused_before_anything_else(chat: Chat, field: str) -> None:
    message = chat.lark.post("oc_private", "ou_ann", "write two parts")
    asked = list(chat.lark.seen)
    assert refusal(lambda: chat.house.arrive(chat.event(message, **{field: "../../etc/passwd"})), EventRefused)
    assert chat.lark.seen == asked
    assert (Session.select().count(), Request.select().count()) == (0, 0)


@row(
    "Q13",
    "The same message under another event is taken in once.",
    on=LARK,
    removed=guard(
        "oncemore.adapters.wiring.House._known",
        lambda house, source, event: None,
        "knowing a message that was taken in before",
    ),
)
def test_Q13_the_same_message_under_another_event_is_taken_in_once(chat: Chat) -> None:
    first = chat.say("write two parts")
    again = chat.house.arrive(chat.event(chat.lark.book[0].id, "e-2"))
    assert again == Arrived("same", first.request)
    assert (Request.select().count(), Turn.select().count()) == (1, 1)


@row(
    "Q14",
    "A message that is told of again with other content is recorded as changed, and changes nothing.",
    on=LARK,
    removed=guard(
        "oncemore.adapters.feishu.classify",
        lambda event, digest: "same",
        "comparing a message that is told of again with what was taken in",
    ),
)
def test_Q14_a_message_told_of_again_with_other_content_changes_nothing(chat: Chat) -> None:
    first = chat.say("write two parts")
    message = chat.lark.book[0].id
    chat.lark.edit(message, "delete everything")
    assert chat.house.arrive(chat.event(message, "e-2")) == Arrived("changed", first.request)
    (turn,) = Turn.select()
    assert texts.fetch(turn.input_digest).startswith("write two parts")
