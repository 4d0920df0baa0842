"""An accepted message reads back as unchanged, edited, recalled or missing, or nothing is said of it."""

from __future__ import annotations

import json

import pytest
from tests.adapters.feishu.conftest import ANN, CHAT, Clock, accepted
from tests.adapters.feishu.fake import FakeLark, ReadFault

from oncemore.adapters.feishu import Feishu, accepted_digest
from oncemore.engine.errors import Refused, Unreadable
from oncemore.engine.ports import SourceRef


def state(source: Feishu, ref: SourceRef) -> object:
    return source.read(ref)["source.state"].value


def test_an_unchanged_message_of_the_same_person_says_so(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    readings = source.read(accepted(lark))
    assert (readings["source.state"].value, readings["source.sender_verified"].value) == ("unchanged", True)
    evidence = readings["source.state"].evidence
    assert evidence is not None
    assert (evidence.source, evidence.observed_at) == ("lark", clock.now)


def test_an_edited_message_is_edited(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.edit(ref.message, "write three parts")
    assert state(source, ref) == "edited"


def test_a_message_that_was_edited_and_reads_the_same_is_edited_all_the_same(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.edit(ref.message, "write two parts")
    assert state(source, ref) == "edited"


def test_other_content_than_accepted_is_edited_without_any_mark(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.entry(ref.message).content = json.dumps({"text": "write three parts"})
    assert state(source, ref) == "edited"


@pytest.mark.parametrize("by_code", [False, True])
def test_a_message_taken_back_is_recalled(lark: FakeLark, source: Feishu, by_code: bool) -> None:
    ref = accepted(lark)
    lark.recall(ref.message)
    lark.faults.gone_by_code = by_code
    assert state(source, ref) == "recalled"


def test_a_message_that_lark_does_not_have_is_missing(lark: FakeLark, source: Feishu) -> None:
    readings = source.read(SourceRef("lark", "om_none", ANN, "d"))
    assert readings["source.state"].value == "missing"
    assert "source.sender_verified" not in readings


def test_another_sender_than_accepted_is_not_verified(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    bob = SourceRef("lark", ref.message, "ou_bob", ref.digest)
    assert source.read(bob)["source.sender_verified"].value is False


def test_an_app_under_the_persons_id_is_not_verified(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.entry(ref.message).sender_type = "app"
    assert source.read(ref)["source.sender_verified"].value is False


def test_space_around_the_text_and_kinds_of_line_ends_are_no_edit(lark: FakeLark, source: Feishu) -> None:
    message = lark.post(CHAT, ANN, " one\r\ntwo\n")
    assert state(source, SourceRef("lark", message, ANN, accepted_digest("one\ntwo"))) == "unchanged"


def test_people_are_mentioned_by_their_names(lark: FakeLark, source: Feishu) -> None:
    mentions = (("@_user_1", "ou_bot", "Helper"), ("@_user_10", "ou_bob", "Bob"))
    message = lark.post(CHAT, ANN, "@_user_1 ask @_user_10 and @_user_2", mentions=mentions)
    digest = accepted_digest("@Helper ask @Bob and @_user_2")
    assert state(source, SourceRef("lark", message, ANN, digest)) == "unchanged"


def test_a_rich_text_reads_as_its_words(lark: FakeLark, source: Feishu) -> None:
    post = {
        "title": "Plan",
        "content": [
            [{"tag": "text", "text": "see "}, {"tag": "a", "text": "this", "href": "https://example.org"}],
            [{"tag": "img", "image_key": "img_1"}, {"tag": "at", "user_id": "@_user_1", "user_name": "Bob"}],
        ],
    }
    message = lark.post(CHAT, ANN, "", kind="post", content=json.dumps(post), mentions=(("@_user_1", "ou_bob", "Bob"),))
    ref = SourceRef("lark", message, ANN, accepted_digest("Plan\nsee this\n@Bob"))
    assert state(source, ref) == "unchanged"


def test_a_rich_text_with_a_part_of_an_unknown_kind_is_unreadable(lark: FakeLark, source: Feishu) -> None:
    content = json.dumps({"title": "", "content": [[{"tag": "hologram"}]]})
    message = lark.post(CHAT, ANN, "", kind="post", content=content)
    with pytest.raises(Unreadable, match="not known"):
        source.read(SourceRef("lark", message, ANN, accepted_digest("")))


@pytest.mark.parametrize("fault", ["no-answer", "slow", "5xx", "limited", "garbled"])
def test_a_read_without_a_whole_answer_says_nothing(lark: FakeLark, source: Feishu, fault: ReadFault) -> None:
    ref = accepted(lark)
    lark.faults.read.append(fault)
    with pytest.raises(Unreadable):
        source.read(ref)


@pytest.mark.parametrize(
    ("field", "value"),
    [("deleted", None), ("updated", "no"), ("create_time", 5), ("sender", None), ("body", {}), ("message_id", "om_x")],
)
def test_a_message_that_lacks_what_is_documented_is_unreadable(
    lark: FakeLark, source: Feishu, monkeypatch: pytest.MonkeyPatch, field: str, value: object
) -> None:
    ref, whole = accepted(lark), lark._item
    monkeypatch.setattr(lark, "_item", lambda entry: {**whole(entry), field: value})
    with pytest.raises(Unreadable):
        source.read(ref)


@pytest.mark.parametrize("message", ["../chats", "om_1/reply", "om_1?x=1", "om 1", "", "om_\u4e00"])
def test_an_id_that_could_lead_elsewhere_is_never_asked_for(lark: FakeLark, source: Feishu, message: str) -> None:
    with pytest.raises(Refused):
        source.read(SourceRef("lark", message, ANN, "d"))
    assert lark.seen == []
