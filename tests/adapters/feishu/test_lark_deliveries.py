"""An answer is delivered to the message that asked, once: the engine's deliveries over a Lark that loses things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.adapters.feishu.conftest import CHAT, Clock, accepted
from tests.adapters.feishu.fake import HOUR, FakeLark, ReplyFault

from oncemore.adapters.feishu import Feishu
from oncemore.adapters.grants import ConfiguredGrants
from oncemore.engine import deliveries, intake, texts
from oncemore.engine.context import Context
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.journal import Journal
from oncemore.engine.ports import Ports
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Delivery, DeliveryIntent, Request, Turn

MINUTE = 60_000


class Crash(BaseException):
    """The process ends here."""


class Conversation:
    """One message of Ann's in Lark, whose Turn is completed with an answer that is not delivered yet."""

    def __init__(self, folder: Path, lark: FakeLark, source: Feishu, clock: Clock, answer: str = "done") -> None:
        self.lark, self.clock = lark, clock
        self.ref = accepted(lark)
        self._file = folder / "oncemore.yaml"
        workspace = folder / "notes"
        workspace.mkdir()
        self._write(f"workspaces:\n  notes: {{path: {workspace}, owner: ann, level: workspace_read, revision: 1}}\n")
        self.journal = Journal(folder / "data" / "oncemore.db", clock=clock)
        grants = ConfiguredGrants(self._file, clock=clock)
        session = intake.open_session(
            self.journal, grants.grant("notes"), runtime="codex", home="/h", source="lark", conversation=CHAT
        )
        arrival = intake.Arrival(message=self.ref.message, sender=self.ref.sender, text="write two parts")
        self.request = intake.accept(self.journal, session, arrival)
        with self.journal.transaction():
            now = self.journal.advance_clock().ms
            stored = texts.store(answer, now)
            Turn.update(
                status="completed", ended_at=now, has_reply=True, reply_digest=stored.digest, reply_length=stored.length
            ).where(Turn.request == self.request).execute()
        self._crash_at: CrashPoint | None = None
        self.context = Context(
            journal=self.journal,
            ports=Ports(sources={"lark": source}, grants=grants),
            rules=cast(Rulebook, None),  # deliveries decide nothing
            checkpoint=self._checkpoint,
        )
        assert deliveries.freeze(self.context, self.request)

    def revoke(self) -> None:
        self._write("workspaces: {}\n")

    def step(self, crash_at: CrashPoint | None = None) -> str:
        """One step of the delivery; its state afterwards."""
        self._crash_at = crash_at
        delivery = deliveries.unsettled(self.request)
        if delivery is not None:
            try:
                deliveries.deliver(self.context, delivery)
            except Crash:
                assert crash_at is not None
        row = Delivery.get()
        assert isinstance(row, Delivery)
        return str(row.state)

    def steps(self, count: int, wait: int = MINUTE) -> list[str]:
        states = []
        for _ in range(count):
            self.clock.pass_(wait)
            states.append(self.step())
        return states

    def held(self) -> str | None:
        found = Request.get_by_id(self.request).held
        return None if found is None else str(found)

    def replies(self) -> list[str]:
        return [reply.text for reply in self.lark.replies(self.ref.message)]

    def _write(self, workspaces: str) -> None:
        self._file.write_text("journal: data/oncemore.db\n" + workspaces)
        self._file.chmod(0o600)

    def _checkpoint(self, point: CrashPoint, subject: str) -> None:
        if point is self._crash_at:
            raise Crash


@pytest.fixture
def talk(tmp_path: Path, lark: FakeLark, source: Feishu, clock: Clock) -> Iterator[Conversation]:
    made = Conversation(tmp_path, lark, source, clock)
    yield made
    made.journal.close()


def test_an_answer_is_sent_read_back_and_verified(talk: Conversation) -> None:
    assert talk.steps(2) == ["sent", "verified"]
    assert talk.replies() == ["done"]


def test_a_reply_that_does_not_show_yet_is_not_delivered_and_not_sent_again(talk: Conversation) -> None:
    talk.lark.faults.lag = 2
    assert talk.steps(4) == ["sent", "sent", "sent", "verified"]
    assert (talk.lark.calls["reply"], talk.replies()) == (1, ["done"])


@pytest.mark.parametrize("fault", ["applied-no-answer", "applied-slow", "applied-5xx", "lost", "5xx"])
@pytest.mark.parametrize("lag", [0, 3])
def test_within_the_window_a_lost_answer_ends_in_one_message(talk: Conversation, fault: ReplyFault, lag: int) -> None:
    talk.lark.faults.lag = lag
    talk.lark.faults.reply.append(fault)
    states = talk.steps(10)
    assert states[-1] == "verified" and talk.replies() == ["done"]


def test_a_crash_before_the_receipt_within_the_window_ends_in_one_message(talk: Conversation) -> None:
    talk.lark.faults.lag = 3
    assert talk.step(crash_at=CrashPoint.AFTER_SEND) == "sending"
    assert talk.steps(6)[-1] == "verified"
    assert (DeliveryIntent.select().count(), talk.replies()) == (2, ["done"])


def test_a_crash_before_the_receipt_outside_the_window_is_shown_and_never_sent_again(talk: Conversation) -> None:
    assert talk.step(crash_at=CrashPoint.AFTER_DELIVERY_INTENT) == "sending"
    assert set(talk.steps(3, wait=HOUR)) == {"ambiguous"}
    assert (talk.replies(), talk.lark.calls["reply"]) == ([], 0)
    assert talk.held() == "the reply answer may have been sent"


def test_an_hour_old_uuid_is_no_protection_and_not_relied_on(talk: Conversation) -> None:
    talk.lark.faults.lag = 1000
    assert talk.step(crash_at=CrashPoint.AFTER_SEND) == "sending"
    assert set(talk.steps(3, wait=HOUR)) == {"ambiguous"}
    assert (talk.lark.calls["reply"], talk.replies()) == (1, ["done"])


def test_a_reply_taken_without_a_name_is_never_sent_again(talk: Conversation) -> None:
    talk.lark.faults.reply.append("applied-no-id")
    assert talk.steps(1) == ["sent"]
    assert Delivery.get().reply is None
    assert talk.steps(1) == ["verified"]
    assert (talk.lark.calls["reply"], Delivery.get().reply) == (1, talk.lark.replies(talk.ref.message)[0].id)


def test_a_reply_taken_without_a_name_and_never_shown_is_unverified_and_not_sent_again(talk: Conversation) -> None:
    talk.lark.faults.lag = 1000
    talk.lark.faults.reply.append("applied-no-id")
    assert talk.steps(4, wait=HOUR) == ["sent", "unverified", "unverified", "unverified"]
    assert talk.lark.calls["reply"] == 1


def test_an_answer_is_frozen_once_and_nothing_else_is_sent(talk: Conversation) -> None:
    assert not deliveries.freeze(talk.context, talk.request)
    talk.lark.faults.reply.append("lost")
    talk.steps(4)
    assert talk.replies() == ["done"]


def test_an_answer_that_is_too_long_for_lark_is_shown_before_anything_is_sent(
    tmp_path: Path, lark: FakeLark, source: Feishu, clock: Clock
) -> None:
    talk = Conversation(tmp_path, lark, source, clock, "\u4e00" * 60_000)
    assert set(talk.steps(3)) == {"frozen"}
    assert lark.calls["reply"] == 0
    assert "takes 153600" in (talk.held() or "")
    talk.journal.close()


def test_a_grant_that_is_gone_after_the_answer_sends_nothing(talk: Conversation) -> None:
    talk.revoke()
    assert set(talk.steps(3)) == {"frozen"}
    assert talk.lark.calls["reply"] == 0
    assert talk.held() == "not delivered: grant.state is revoked"


@pytest.mark.parametrize(("change", "word"), [("edit", "edited"), ("recall", "recalled")])
def test_a_message_that_is_no_longer_the_same_gets_no_reply(talk: Conversation, change: str, word: str) -> None:
    if change == "edit":
        talk.lark.edit(talk.ref.message, "write three parts")
    else:
        talk.lark.recall(talk.ref.message)
    assert set(talk.steps(3)) == {"frozen"}
    assert (talk.lark.calls["reply"], talk.held()) == (0, f"not delivered: source.state is {word}")


def test_while_lark_cannot_be_read_nothing_is_sent_and_it_goes_on_afterwards(talk: Conversation) -> None:
    talk.lark.faults.read.extend(["5xx", "no-answer", "limited"])
    assert talk.steps(3) == ["frozen", "frozen", "frozen"]
    assert talk.lark.calls["reply"] == 0
    assert talk.steps(2) == ["sent", "verified"]


def test_a_rate_limit_is_waited_for_and_one_message_is_sent(talk: Conversation) -> None:
    talk.lark.faults.reply.append("limited")
    assert talk.steps(6)[-1] == "verified"
    assert talk.replies() == ["done"]
