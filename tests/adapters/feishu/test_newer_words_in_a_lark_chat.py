"""What people wrote after a message, read completely."""

from __future__ import annotations

import json

import pytest
from tests.adapters.feishu.conftest import ANN, CHAT, Clock, accepted
from tests.adapters.feishu.fake import PAGE, FakeLark, ReadFault

from oncemore.adapters.feishu import Feishu
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import SourceRef


def test_people_count_after_the_message_and_nothing_else(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    lark.post(CHAT, ANN, "before")
    clock.pass_(5)
    ref = accepted(lark)
    clock.pass_(5)
    lark.post("oc_other", ANN, "elsewhere")
    source.reply(ref, "done", "k")
    lark.recall(lark.post(CHAT, ANN, "never mind"))
    lark.post(CHAT, "", "Bob joined", kind="system", sender_type="")
    assert source.newer(ref).messages == ()
    later = [lark.post(CHAT, ANN, "and a third part"), lark.post(CHAT, ANN, "", kind="image", content="{}")]
    assert list(source.newer(ref).messages) == later


def test_messages_of_the_same_moment_count_by_their_place(lark: FakeLark, source: Feishu) -> None:
    lark.post(CHAT, ANN, "just before")
    ref = accepted(lark)
    after = lark.post(CHAT, ANN, "just after")
    assert source.newer(ref).messages == (after,)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("/status", False),
        ("/help", False),
        (" /WHY ", False),
        ("@_user_1 /status", False),
        ("/stop", True),
        ("/new", True),
        ("/status of the tests, and then fix them", True),
        ("/helper", True),
    ],
)
def test_a_command_that_only_asks_does_not_count(lark: FakeLark, source: Feishu, text: str, counts: bool) -> None:
    ref = accepted(lark)
    lark.post(CHAT, ANN, text, mentions=(("@_user_1", "ou_bot", "Helper"),))
    assert bool(source.newer(ref).messages) is counts


def test_every_page_is_read(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    ref = accepted(lark)
    later = []
    for _ in range(2 * PAGE + 3):
        clock.pass_(1)
        later.append(lark.post(CHAT, ANN, "more"))
    assert list(source.newer(ref).messages) == later
    assert lark.calls["list"] == 3


def test_a_page_that_comes_twice_is_not_the_whole_list(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    for _ in range(PAGE + 1):
        lark.post(CHAT, ANN, "more")
    lark.faults.read.extend([None, "same-page", "same-page"])
    with pytest.raises(Unreadable, match="twice"):
        source.newer(ref)


@pytest.mark.parametrize("fault", ["no-answer", "slow", "5xx", "limited", "garbled"])
def test_a_list_that_breaks_off_says_nothing(lark: FakeLark, source: Feishu, fault: ReadFault) -> None:
    ref = accepted(lark)
    for _ in range(PAGE + 1):
        lark.post(CHAT, ANN, "more")
    lark.faults.read.extend([None, None, fault])
    with pytest.raises(Unreadable):
        source.newer(ref)


def test_a_list_without_the_message_itself_is_not_the_whole_list(
    lark: FakeLark, source: Feishu, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, first = accepted(lark), lark.listed

    def without(query: dict[str, str], again: bool) -> tuple[int, dict[str, object]]:
        status, answer = first(query, again)
        answer["data"]["items"] = []
        return status, answer

    monkeypatch.setattr(lark, "listed", without)
    with pytest.raises(Unreadable, match="does not hold"):
        source.newer(ref)


@pytest.mark.parametrize("lost", ["has_more", "page_token"])
def test_a_list_that_does_not_say_how_it_goes_on_is_unreadable(
    lark: FakeLark, source: Feishu, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    ref = accepted(lark)
    for _ in range(PAGE + 1):
        lark.post(CHAT, ANN, "more")
    whole = lark.listed

    def without(query: dict[str, str], again: bool) -> tuple[int, dict[str, object]]:
        status, answer = whole(query, again)
        answer["data"].pop(lost, None)
        return status, answer

    monkeypatch.setattr(lark, "listed", without)
    with pytest.raises(Unreadable):
        source.newer(ref)


@pytest.mark.parametrize("sender_type", ["anonymous", "unknown", ""])
def test_somebody_of_an_unknown_kind_makes_the_list_unreadable(
    lark: FakeLark, source: Feishu, sender_type: str
) -> None:
    ref = accepted(lark)
    lark.post(CHAT, "x", "boo", sender_type=sender_type)
    with pytest.raises(Unreadable, match="kind"):
        source.newer(ref)


def test_a_topic_is_read_beside_its_chat(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    lark.post(CHAT, ANN, "topic", thread="omt_1")
    ref = accepted(lark, thread="omt_1")
    clock.pass_(5)
    inside = lark.post(CHAT, ANN, "and more", thread="omt_1")
    clock.pass_(5)
    beside = lark.post(CHAT, ANN, "stop it")
    assert source.newer(ref).messages == (inside, beside)


def test_after_a_recalled_message_the_later_ones_still_show(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.recall(ref.message)
    later = lark.post(CHAT, ANN, "instead of that")
    assert source.newer(ref).messages == (later,)


def test_after_a_message_that_is_not_there_nothing_can_be_said(lark: FakeLark, source: Feishu) -> None:
    with pytest.raises(Unreadable, match="missing"):
        source.newer(SourceRef("lark", "om_none", ANN, json.dumps({})))
