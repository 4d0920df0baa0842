"""Rows L: an answer reaches its message in Lark once, whatever is lost on the way and however late it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import peewee as pw
import pytest
from tests.adapters.feishu.fake import HOUR, FakeLark
from tests.adapters.wiring.conftest import SECRET, Chat, chatting
from tests.rows.antigravity_world import Killed, refusal
from tests.rows.removals import guard
from tests.rows.row import Removal, row

from oncemore.engine import deliveries, texts
from oncemore.engine.context import Context
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.ports import Receipt
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Delivery, Request, Turn, database

ON = "fake Lark"
MINUTE = 60_000


@dataclass
class Talk:
    """Messages of Ann's in Lark whose Turns are completed with an answer that is not delivered yet.

    Attributes:
        crash_at: where the process ends, once.
    """

    chat: Chat
    crash_at: CrashPoint | None = None
    context: Context = field(init=False)

    def __post_init__(self) -> None:
        house = self.chat.house
        self.context = Context(
            journal=house.journal, ports=house.ports, rules=cast(Rulebook, None), checkpoint=self._reach
        )

    def answered(self, text: str = "Two parts.") -> str:
        """A Request whose answer is frozen."""
        request = self.chat.say("How many parts?").request
        assert request is not None
        with self.chat.house.journal.transaction():
            now = self.chat.house.journal.advance_clock().ms
            stored = texts.store(text, now)
            Turn.update(
                status="completed", ended_at=now, has_reply=True, reply_digest=stored.digest, reply_length=stored.length
            ).where(Turn.request == request).execute()
        assert deliveries.freeze(self.context, request)
        return request

    def step(self, request: str, crash_at: CrashPoint | None = None) -> str:
        """One step of its delivery; the state afterwards."""
        self.crash_at = crash_at
        delivery = deliveries.unsettled(request)
        if delivery is not None:
            try:
                deliveries.deliver(self.context, delivery)
            except Killed:
                assert crash_at is not None
        return str(Delivery.get(Delivery.request == request).state)

    def steps(self, request: str, count: int, wait: int = MINUTE) -> list[str]:
        states = []
        for _ in range(count):
            self.chat.clock.pass_(wait)
            states.append(self.step(request))
        return states

    def replies(self, request: str) -> list[str]:
        """What stands under the message in Lark's own book."""
        return [reply.text for reply in self.chat.lark.replies(Request.get_by_id(request).message)]

    @property
    def posts(self) -> int:
        """How often Lark was asked to post."""
        return self.chat.lark.calls["reply"]

    def _reach(self, point: CrashPoint, about: str) -> None:
        if point is self.crash_at:
            raise Killed


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Talk]:
    monkeypatch.setenv(SECRET, FakeLark.app_secret)
    tmp_path.chmod(0o755)
    with chatting(tmp_path) as chat:
        made = Talk(chat)
        taken_out(made)
        yield made


def _send_anew_what_does_not_show(context: Context, delivery: Delivery) -> bool:
    search = deliveries._search(context, delivery, Receipt(delivery.reply, delivery.sent_at or 0))
    shown = search is not None and search.receipt is not None
    deliveries._set_state(context, delivery, "verified" if shown else "frozen", "it does not show")
    return True


@row(
    "L1",
    "A reply that was sent and does not show yet is not delivered; it is read again later and not sent again.",
    on=ON,
    removed=guard(
        "oncemore.engine.deliveries._verify",
        _send_anew_what_does_not_show,
        "reading a sent reply back until it shows, instead of sending it anew",
    ),
)
def test_L01_a_reply_that_does_not_show_is_read_again_and_not_sent_again(talk: Talk) -> None:
    talk.chat.lark.faults.lag = 2
    request = talk.answered()
    assert talk.steps(request, 4) == ["sent", "sent", "sent", "verified"]
    assert (talk.posts, talk.replies(request)) == (1, ["Two parts."])


KEY_FOR_EVER = guard(
    "oncemore.engine.deliveries._within_key_window",
    lambda context, delivery: True,
    "the end of the time in which Lark keeps one reply under a key",
)


@row(
    "L2",
    "A crash between intent and receipt: in the key's hour one more try and one message; later none, and it is shown.",
    on=ON,
    removed=KEY_FOR_EVER,
)
def test_L02_a_crash_before_the_receipt_is_tried_again_within_the_keys_hour_only(talk: Talk) -> None:
    early = talk.answered()
    talk.chat.lark.faults.lag = 3
    assert talk.step(early, crash_at=CrashPoint.AFTER_SEND) == "sending"
    assert talk.steps(early, 6)[-1] == "verified"
    assert (talk.posts, talk.replies(early)) == (2, ["Two parts."])

    late = talk.answered("Three parts.")
    assert talk.step(late, crash_at=CrashPoint.AFTER_DELIVERY_INTENT) == "sending"
    assert set(talk.steps(late, 3, wait=HOUR)) == {"ambiguous"}
    assert (talk.posts, talk.replies(late)) == (2, [])
    assert Request.get_by_id(late).held == "the reply answer may have been sent"


def _only_with_a_name(context: Context, delivery: Delivery, receipt: Receipt, proof: str) -> None:
    state = "frozen" if receipt.reply is None else "sent"
    with context.journal.transaction():
        Delivery.update(state=state, reply=receipt.reply, sent_at=receipt.at).where(
            Delivery.id == delivery.id
        ).execute()


@row(
    "L3",
    "A reply that Lark took without naming it is a receipt without a name, and is never sent again.",
    on=ON,
    removed=guard(
        "oncemore.engine.deliveries._store_receipt", _only_with_a_name, "taking a receipt without a name for a receipt"
    ),
)
def test_L03_a_reply_that_was_taken_without_a_name_is_never_sent_again(talk: Talk) -> None:
    talk.chat.lark.faults.reply.append("applied-no-id")
    talk.chat.lark.faults.lag = 1_000
    request = talk.answered()
    assert talk.step(request) == "sent"
    assert Delivery.get(Delivery.request == request).reply is None
    talk.steps(request, 3, wait=HOUR)
    assert (talk.posts, talk.replies(request)) == (1, ["Two parts."])


def _changeable(_: pytest.MonkeyPatch, __: object) -> None:
    database.execute_sql("drop trigger delivery_text")


@row(
    "L4",
    "A frozen text cannot become another one: the change is an error, and the frozen text is what arrives.",
    on=ON,
    removed=Removal("the journal's refusal to change a frozen text", _changeable),
)
def test_L04_a_frozen_text_cannot_become_another_one(talk: Talk) -> None:
    request = talk.answered()
    with talk.chat.house.journal.transaction():
        other = texts.store("Five parts.", talk.chat.house.journal.advance_clock().ms)
    change = Delivery.update(text_digest=other.digest).where(Delivery.request == request)
    assert "a frozen text never changes" in refusal(change.execute, pw.IntegrityError)
    assert talk.steps(request, 2) == ["sent", "verified"]
    assert talk.replies(request) == ["Two parts."]


def _as_it_stands(monkeypatch: pytest.MonkeyPatch, _: object) -> None:
    monkeypatch.setattr("oncemore.adapters.feishu.source.REPLY_BYTES", 1 << 30)
    monkeypatch.setattr("oncemore.adapters.feishu.content.as_written", lambda text: text)


@row(
    "L5",
    "A text that Lark would not take whole is shown before anything is posted, and one that calls people calls nobody.",
    on=ON,
    removed=Removal("the measuring of a reply, and the taking apart of calls in it", _as_it_stands),
)
@pytest.mark.parametrize("what", ["too-long", "calls-people"])
def test_L05_what_lark_would_not_take_as_it_stands_is_dealt_with_before_any_post(talk: Talk, what: str) -> None:
    if what == "too-long":
        request = talk.answered("\u4e00" * 60_000)
        assert set(talk.steps(request, 3)) == {"frozen"}
        assert (talk.posts, talk.replies(request)) == (0, [])
        assert "nothing was sent" in (Request.get_by_id(request).held or "")
    else:
        request = talk.answered('<at user_id="all">everybody</at> Two parts.')
        assert talk.steps(request, 2) == ["sent", "verified"]
        (posted,) = talk.replies(request)
        assert "<at" not in posted and posted.endswith(" Two parts.")


MAY_ALWAYS = guard(
    "oncemore.engine.deliveries._may_send",
    lambda context, row, session: None,
    "reading message and grant once more before a post",
)


@row("L6", "A workspace that was taken away after the answer was complete gets nothing.", on=ON, removed=MAY_ALWAYS)
def test_L06_what_was_taken_away_after_the_answer_gets_nothing(talk: Talk) -> None:
    request = talk.answered()
    file = talk.chat.house.configuration.file
    text = file.read_text()
    file.write_text(text[: text.index("workspaces:")] + "workspaces: {}\n")
    assert set(talk.steps(request, 3)) == {"frozen"}
    assert (talk.posts, talk.replies(request)) == (0, [])


@row(
    "L7",
    "After an hour the key protects from nothing, and a reply that may have arrived is not sent under it again.",
    on=ON,
    removed=KEY_FOR_EVER,
)
def test_L07_an_hour_later_the_key_is_not_relied_on(talk: Talk) -> None:
    talk.chat.lark.faults.lag = 1_000
    request = talk.answered()
    assert talk.step(request, crash_at=CrashPoint.AFTER_SEND) == "sending"
    assert set(talk.steps(request, 3, wait=HOUR)) == {"ambiguous"}
    assert (talk.posts, talk.replies(request)) == (1, ["Two parts."])
