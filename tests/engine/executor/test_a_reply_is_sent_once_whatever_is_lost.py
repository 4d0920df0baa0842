"""Lost answers of the Source, refusals, and what a person found out about them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.executor.world import World

from oncemore.adapters.inbox import Inbox
from oncemore.engine import intake
from oncemore.engine.errors import Uncertain, Unreadable
from oncemore.engine.ports import Receipt, Search, SourceRef


class Lossy:
    """The real inbox; the answer to the first reply is lost, after or before it had its effect."""

    name = "inbox"

    def __init__(self, inbox: Inbox, *, done: bool, readable: bool = True, proves_absence: bool = True) -> None:
        self._inbox, self._done, self._readable, self._proves = inbox, done, readable, proves_absence
        self.lost = 0
        self.key_window = 0
        self.hidden = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inbox, name)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        if self.lost:
            return self._inbox.reply(ref, text, key)
        self.lost = 1
        if self._done:
            self._inbox.reply(ref, text, key)
        raise Uncertain("no answer")

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        if not self._readable:
            raise Unreadable("the source does not answer")
        found = self._inbox.find(ref, text, key, receipt)
        if self.hidden:
            return Search(None, False, found.observed_at)
        return found if self._proves else Search(found.receipt, False, found.observed_at)


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_answer_is_settled_by_reading(w: World, done: bool) -> None:
    w.ask("Hello.")
    with w.worker(source=lambda inbox: Lossy(inbox, done=done)) as worker:  # type: ignore[arg-type, return-value]
        worker.run_due()
        w.offset = 60_000
        worker.run_due()
    assert w.replies() == ["You said: Hello."]
    assert w.row("select state from request")["state"] == "answered"
    assert len(w.rows("select * from delivery_intent")) == (1 if done else 2)


def test_within_the_sources_promise_the_same_key_is_sent_again_and_one_reply_stands(w: World) -> None:
    """As at a Source that never proves an absence, but keeps one reply only under one key for a while."""
    sources: list[Lossy] = []

    def lossy(inbox: Inbox) -> Lossy:
        sources.append(Lossy(inbox, done=True, proves_absence=False))
        sources[0].key_window = 3_000_000
        sources[0].hidden = True
        return sources[0]

    w.ask("Hello.")
    with w.worker(source=lossy) as worker:  # type: ignore[arg-type]
        worker.run_due()
        w.offset = 60_000
        worker.run_due()
        sources[0].hidden = False
        w.offset = 120_000
        worker.run_due()
    assert w.replies() == ["You said: Hello."]
    assert len(w.rows("select * from delivery_intent")) == 2
    assert w.row("select state from request")["state"] == "answered"


def test_after_the_sources_promise_nothing_is_sent_again(w: World) -> None:
    def lossy(inbox: Inbox) -> Lossy:
        made = Lossy(inbox, done=False, proves_absence=False)
        made.key_window = 1
        return made

    w.ask("Hello.")
    with w.worker(source=lossy) as worker:  # type: ignore[arg-type]
        for offset in (0, 60_000, 120_000):
            w.offset = offset
            worker.run_due()
    assert w.replies() == []
    assert w.row("select state from delivery")["state"] == "ambiguous"


def test_without_a_proof_it_is_ambiguous_shown_and_never_sent_again_by_itself(w: World) -> None:
    request = w.ask("Hello.")
    source: list[Lossy] = []

    def lossy(inbox: Inbox) -> Lossy:
        source.append(Lossy(inbox, done=False, proves_absence=False))
        return source[0]

    with w.worker(source=lossy) as worker:  # type: ignore[arg-type]
        for offset in (0, 60_000, 600_000, 86_400_000):
            w.offset = offset
            worker.run_due()
        assert w.replies() == []
        assert w.row("select state from delivery")["state"] == "ambiguous"
        assert w.row("select held from request")["held"] == "the reply answer may have been sent"
        with w.house() as house:
            intake.release(house.journal, request, "I looked: nothing there", saw="not-delivered")
        worker.run_due()
    assert w.replies() == ["You said: Hello."]
    assert w.row("select state from request")["state"] == "answered"


def test_a_person_who_saw_it_settles_it_without_another_send(w: World) -> None:
    request = w.ask("Hello.")
    with w.worker(source=lambda inbox: Lossy(inbox, done=True, readable=False)) as worker:  # type: ignore[arg-type, return-value]
        worker.run_due()
        w.offset = 60_000
        worker.run_due()
        assert w.row("select state from delivery")["state"] == "ambiguous"
        with w.house() as house:
            intake.release(house.journal, request, "it is there", saw="delivered")
        worker.run_due()
    assert w.replies() == ["You said: Hello."]
    assert w.row("select state, verified_at is not null as v from delivery") == {"state": "verified", "v": 1}
    assert w.row("select state from request")["state"] == "answered"


def test_a_message_edited_before_the_answer_is_sent_gets_none_and_is_shown(w: World) -> None:
    request = w.ask("Hello.")

    def edit(point: str, about: str) -> None:
        if point == "after_delivery_intent":
            with w.house() as house:
                house.inbox.edit(w.row("select message from request")["message"], "Hello!!")

    with w.worker(checkpoint=edit) as worker:
        worker.run_due()
        w.offset = 60_000
        worker.run_due()
    assert w.replies() == []
    row = w.row("select held, state from request where id = ?", request)
    assert row == {"held": "not delivered: source.state is edited", "state": "open"}


def test_a_stop_before_the_answer_is_sent_leaves_only_the_stops_own(w: World) -> None:
    request = w.ask("Hello.")

    def stop(point: str, about: str) -> None:
        if point == "after_freeze" and about.endswith("answer"):
            with w.house() as house:
                intake.stop(house.journal, request, "user")

    with w.worker(checkpoint=stop) as worker:
        worker.run_due()
    assert w.replies() == ["Stopped. What was already done stays as it is."]


def test_a_reply_that_the_source_took_and_does_not_show_is_unverified_and_not_sent_again(w: World) -> None:
    class Forgetful(Lossy):
        def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
            return Search(None, False, 0)

    w.ask("Hello.")
    with w.worker(source=lambda inbox: Forgetful(inbox, done=True)) as worker:  # type: ignore[arg-type, return-value]
        source = worker._context.ports.sources["inbox"]
        source.lost = 1  # type: ignore[attr-defined]
        for offset in (0, 60_000, 700_000, 800_000):
            w.offset = offset
            worker.run_due()
    assert w.replies() == ["You said: Hello."]
    assert w.row("select state from delivery")["state"] == "unverified"
    assert w.row("select held from request")["held"] == "the Source took the reply and does not show it"
