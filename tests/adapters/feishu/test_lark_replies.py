"""What is certain after a reply was sent, or was not."""

from __future__ import annotations

import pytest
from tests.adapters.feishu.conftest import ANN, CHAT, Clock, accepted
from tests.adapters.feishu.fake import HOUR, FakeLark, ReplyFault

from oncemore.adapters.feishu import Feishu
from oncemore.adapters.feishu.source import KEY_WINDOW, uuid_of
from oncemore.adapters.wire import Wire
from oncemore.engine.errors import Busy, Refused, Uncertain, Unreadable
from oncemore.engine.ports import Receipt, SourceRef

KEY = "r-0123456789ab/recovery:work-1"


def test_a_reply_stands_under_the_message_and_is_found(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    ref = accepted(lark)
    clock.pass_(1000)
    receipt = source.reply(ref, "done", KEY)
    assert [reply.text for reply in lark.replies(ref.message)] == ["done"]
    search = source.find(ref, "done", KEY, receipt)
    assert search.receipt == Receipt(receipt.reply, clock.now)
    assert not search.absence_proven


def test_a_uuid_comes_from_the_key_alone_and_fits() -> None:
    keys = [KEY, KEY + "x", "r/" + "long" * 100, "r/\u4e00"]
    assert [uuid_of(key) for key in keys] == [uuid_of(key) for key in keys]
    assert len({uuid_of(key) for key in keys}) == len(keys)
    assert all(len(uuid_of(key)) <= 50 for key in keys)


@pytest.mark.parametrize(
    "fault", ["applied-no-answer", "applied-slow", "applied-5xx", "applied-garbled", "lost", "5xx"]
)
def test_a_reply_without_an_answer_is_uncertain_and_one_stands_after_a_second_try(
    lark: FakeLark, source: Feishu, fault: ReplyFault
) -> None:
    ref = accepted(lark)
    lark.faults.reply.append(fault)
    with pytest.raises(Uncertain):
        source.reply(ref, "done", KEY)
    source.reply(ref, "done", KEY)
    assert [reply.text for reply in lark.replies(ref.message)] == ["done"]


def test_a_reply_whose_answer_was_lost_is_found_by_its_text(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.faults.reply.append("applied-no-answer")
    with pytest.raises(Uncertain):
        source.reply(ref, "done", KEY)
    found = source.find(ref, "done", KEY, None).receipt
    assert found is not None and found.reply == lark.replies(ref.message)[0].id
    assert lark.calls["reply"] == 1


@pytest.mark.parametrize("receipt", [None, Receipt(None, 5)])
def test_a_reply_taken_without_a_name_is_found_by_its_text(
    lark: FakeLark, source: Feishu, receipt: Receipt | None
) -> None:
    ref = accepted(lark)
    lark.faults.reply.append("applied-no-id")
    assert source.reply(ref, "done", KEY).reply is None
    found = source.find(ref, "done", KEY, receipt).receipt
    assert found is not None and found.reply == lark.replies(ref.message)[0].id


def test_a_reply_that_lark_does_not_show_yet_is_neither_found_nor_absent(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.faults.lag = 2
    receipt = source.reply(ref, "done", KEY)
    searches = [source.find(ref, "done", KEY, receipt) for _ in range(3)]
    assert [search.receipt is not None for search in searches] == [False, False, True]
    assert not any(search.absence_proven for search in searches)
    assert lark.calls["reply"] == 1


def test_absence_is_never_proven(lark: FakeLark, source: Feishu) -> None:
    search = source.find(accepted(lark), "done", KEY, None)
    assert (search.receipt, search.absence_proven) == (None, False)


def test_within_the_window_of_the_key_two_tries_are_one_reply(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    ref = accepted(lark)
    source.reply(ref, "done", KEY)
    clock.pass_(source.key_window - 1)
    assert source.reply(ref, "done", KEY).reply is None
    assert len(lark.replies(ref.message)) == 1


def test_an_hour_later_the_uuid_protects_nobody(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    ref = accepted(lark)
    source.reply(ref, "done", KEY)
    clock.pass_(HOUR)
    source.reply(ref, "done", KEY)
    assert len(lark.replies(ref.message)) == 2
    assert KEY_WINDOW == 50 * 60_000 < HOUR


def test_another_text_under_a_used_key_is_not_taken_for_the_reply(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    receipt = source.reply(ref, "done", KEY)
    assert source.find(ref, "done differently", KEY, receipt).receipt is None
    assert source.find(ref, "done differently", KEY, None).receipt is None


def test_a_reply_of_somebody_else_is_not_ours(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    receipt = source.reply(ref, "done", KEY)
    lark.book[-1].sender = "cli_other"
    assert source.find(ref, "done", KEY, receipt).receipt is None
    assert source.find(ref, "done", KEY, None).receipt is None
    lark.book[-1].sender, lark.book[-1].sender_type = lark.app_id, "user"
    assert source.find(ref, "done", KEY, receipt).receipt is None


def test_a_reply_under_another_message_is_not_the_one(lark: FakeLark, source: Feishu) -> None:
    ref, other = accepted(lark), accepted(lark, "something else")
    receipt = source.reply(other, "done", KEY)
    assert source.find(ref, "done", KEY, receipt).receipt is None
    assert source.find(ref, "done", KEY, None).receipt is None


def test_a_reply_that_was_taken_back_is_not_there(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    receipt = source.reply(ref, "done", KEY)
    lark.book[-1].deleted = True
    assert source.find(ref, "done", KEY, receipt).receipt is None
    assert source.find(ref, "done", KEY, None).receipt is None


def test_a_reply_under_an_id_that_lark_does_not_know_is_not_found(lark: FakeLark, source: Feishu) -> None:
    assert source.find(accepted(lark), "done", KEY, Receipt("om_none", 5)).receipt is None


def test_in_a_topic_a_reply_is_found_by_its_id_and_not_by_its_text(lark: FakeLark, source: Feishu) -> None:
    lark.post(CHAT, ANN, "topic", thread="omt_1")
    ref, beside = accepted(lark, thread="omt_1"), accepted(lark, "elsewhere")
    receipt = source.reply(ref, "done", KEY)
    assert lark.replies(ref.message) == []  # it names the topic's first message
    assert source.find(ref, "done", KEY, receipt).receipt is not None
    assert source.find(beside, "done", KEY, receipt).receipt is None
    assert source.find(ref, "done", KEY, None).receipt is None


def test_a_reply_to_a_message_that_is_gone_is_refused(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.recall(ref.message)
    with pytest.raises(Refused, match="230011"):
        source.reply(ref, "done", KEY)
    with pytest.raises(Refused, match="231003"):
        source.reply(SourceRef("lark", "om_none", ANN, "d"), "done", KEY)
    assert all(entry.sender_type == "user" for entry in lark.book)


def test_a_reply_that_is_too_long_or_empty_is_refused_before_anything_is_sent(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    for text in ("\u4e00" * 60_000, " \n", "\ud800"):
        with pytest.raises(Refused, match="nothing was sent"):
            source.reply(ref, text, KEY)
    assert lark.seen == []


def test_the_longest_reply_that_is_sent_is_taken(lark: FakeLark, source: Feishu) -> None:
    text = '"' * 37_000 + "\u4e00\n" * 300
    receipt = source.reply(accepted(lark), text, KEY)
    assert receipt.reply == lark.book[-1].id


@pytest.mark.parametrize("text", ['<at user_id="all"></at> done', "<AT user_id='ou_bob'>Bob</AT> done", "</at>"])
def test_a_reply_calls_nobody(lark: FakeLark, source: Feishu, text: str) -> None:
    ref = accepted(lark)
    receipt = source.reply(ref, text, KEY)
    assert "<at" not in lark.book[-1].text.lower() and "</at" not in lark.book[-1].text.lower()
    assert source.find(ref, text, KEY, receipt).receipt is not None


def test_a_rate_limit_posts_nothing_and_is_kept_to(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    ref = accepted(lark)
    lark.faults.reply.append("limited")
    for _ in range(2):
        with pytest.raises(Busy):
            source.reply(ref, "done", KEY)
    assert lark.calls["reply"] == 1
    assert source.read(ref)["source.state"].value == "unchanged"  # a limit of one kind of call stops no other
    clock.pass_(7000)
    source.reply(ref, "done", KEY)
    assert len(lark.replies(ref.message)) == 1


@pytest.mark.parametrize(("reset", "wait"), [(None, 1000), ("soon", 1000), ("999999999", 600_000)])
def test_a_rate_limit_of_an_odd_length_ends(
    lark: FakeLark, source: Feishu, clock: Clock, reset: str | None, wait: int
) -> None:
    ref = accepted(lark)
    lark.faults.reset = reset
    lark.faults.reply.append("limited")
    with pytest.raises(Busy):
        source.reply(ref, "done", KEY)
    clock.pass_(wait)
    assert source.reply(ref, "done", KEY).reply is not None


def test_a_reply_that_reached_nobody_is_busy_and_a_read_unreadable(lark: FakeLark, clock: Clock) -> None:
    with FakeLark(clock) as other:
        gone = other.base_url
    with Wire([gone]) as wire:
        source = Feishu("lark", wire, app_id="cli_1", secret=lambda: "s", clock=clock, base=gone)
        with pytest.raises(Busy):
            source.reply(accepted(lark), "done", KEY)
        with pytest.raises(Unreadable):
            source.read(accepted(lark))


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, 230002, Refused),
        (400, 230049, Uncertain),  # being sent, perhaps by an earlier try
        (400, 230020, Busy),
        (400, 239999, Uncertain),
        (200, 239999, Uncertain),
        (200, None, Uncertain),
        (200, True, Uncertain),
        (500, 230011, Uncertain),
    ],
)
def test_only_a_documented_refusal_proves_that_nothing_was_posted(
    lark: FakeLark,
    source: Feishu,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: object,
    expected: type[Exception],
) -> None:
    monkeypatch.setattr(lark, "reply", lambda *_: (status, {"code": code, "msg": "?"}))
    with pytest.raises(expected):
        source.reply(accepted(lark), "done", KEY)
