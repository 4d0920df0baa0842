"""The App conversation is a Source: what was said and answered in it can be read back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncemore.adapters.inbox import Inbox
from oncemore.engine import texts
from oncemore.engine.errors import NotFound, Refused
from oncemore.engine.journal import Journal
from oncemore.engine.ports import Receipt, SourceRef
from oncemore.engine.tables import InboxReply


@pytest.fixture
def inbox(place: Path | str) -> Iterator[Inbox]:
    journal = Journal(place, clock=lambda: 1_000)
    yield Inbox(journal)
    journal.close()


def posted(inbox: Inbox, text: str = "write two parts", author: str = "ann") -> SourceRef:
    message = inbox.post("c", author, text)
    return SourceRef("inbox", message, author, texts.digest(text))


def state(inbox: Inbox, ref: SourceRef) -> object:
    return inbox.read(ref)["source.state"].value


def test_an_unchanged_message_of_the_same_person_says_so(inbox: Inbox) -> None:
    readings = inbox.read(posted(inbox))
    assert (readings["source.state"].value, readings["source.sender_verified"].value) == ("unchanged", True)
    assert readings["source.state"].evidence is not None
    assert readings["source.state"].evidence.observed_at == 1_000


def test_an_edit_a_recall_and_an_absence_show(inbox: Inbox) -> None:
    edited, recalled = posted(inbox), posted(inbox, "other")
    inbox.edit(edited.message, "write three parts")
    inbox.recall(recalled.message)
    assert state(inbox, edited) == "edited"
    assert state(inbox, recalled) == "recalled"
    gone = inbox.read(SourceRef("inbox", "m-none", "ann", "d"))
    assert gone["source.state"].value == "missing"
    assert "source.sender_verified" not in gone


def test_another_sender_than_accepted_is_not_verified(inbox: Inbox) -> None:
    ref = posted(inbox)
    readings = inbox.read(SourceRef("inbox", ref.message, "bob", ref.digest))
    assert readings["source.sender_verified"].value is False


def test_newer_counts_people_after_the_message_and_nothing_else(inbox: Inbox) -> None:
    ref = posted(inbox)
    inbox.post("other", "ann", "elsewhere")
    inbox.post("c", "ann", "/status", command=True)
    taken_back = inbox.post("c", "ann", "never mind")
    inbox.recall(taken_back)
    inbox.reply(ref, "done", "k")
    assert inbox.newer(ref).messages == ()
    later = inbox.post("c", "ann", "and a third part")
    assert inbox.newer(ref).messages == (later,)


def test_newer_than_a_message_that_is_not_there_is_refused(inbox: Inbox) -> None:
    with pytest.raises(Refused):
        inbox.newer(SourceRef("inbox", "m-none", "ann", "d"))


def test_one_key_gives_one_reply(inbox: Inbox) -> None:
    ref = posted(inbox)
    assert inbox.reply(ref, "done", "k") == inbox.reply(ref, "done", "k")
    assert InboxReply.select().count() == 1
    with pytest.raises(Refused, match="another reply"):
        inbox.reply(ref, "done differently", "k")


def test_a_recalled_message_gets_no_reply(inbox: Inbox) -> None:
    ref = posted(inbox)
    inbox.recall(ref.message)
    with pytest.raises(Refused, match="gone"):
        inbox.reply(ref, "done", "k")
    assert InboxReply.select().count() == 0


def test_a_reply_is_found_and_its_absence_is_proven(inbox: Inbox) -> None:
    ref = posted(inbox)
    before = inbox.find(ref, "done", "k", None)
    assert (before.receipt, before.absence_proven) == (None, True)
    receipt = inbox.reply(ref, "done", "k")
    assert inbox.find(ref, "done", "k", None).receipt == receipt
    assert inbox.find(ref, "done", "k", receipt).receipt == receipt
    other = inbox.find(ref, "done", "k", Receipt("a-other", 1))
    assert (other.receipt, other.absence_proven) == (None, False)


def test_the_conversation_reads_as_a_person_sees_it(inbox: Inbox) -> None:
    ref = posted(inbox)
    inbox.post("c", "ann", "thanks")
    inbox.reply(ref, "done", "k")
    assert [(p.author, p.text) for p in inbox.conversation("c")] == [
        ("ann", "write two parts"),
        (None, "done"),
        ("ann", "thanks"),
    ]


def test_editing_what_is_not_there_is_said(inbox: Inbox) -> None:
    with pytest.raises(NotFound):
        inbox.edit("m-none", "x")
