"""Rows Q: what was taken in runs in its own place, and is neither lost, done twice nor ended by another stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.executor.world import World
from tests.rows.antigravity_world import FINAL, WORKING, Desk, Killed, desk
from tests.rows.removals import begun_anew, guard
from tests.rows.row import Removal, row

from oncemore.adapters.codex import failure
from oncemore.adapters.demo.model import Fail, Say
from oncemore.adapters.grants import ConfiguredGrants
from oncemore.adapters.inbox import Inbox
from oncemore.engine import deliveries, dispatch, intake, prompts
from oncemore.engine.context import Context
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantReading, GrantRef, Search, SourceRef
from oncemore.engine.tables import Request, Session, Turn

LANGUAGE_SERVER = "fake language server"
HOUR = 3_600_000


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with desk(tmp_path, monkeypatch, "retry-route") as made:
        taken_out(made.w)
        yield made


@row(
    "Q3",
    "A message that waited for its turn for an hour is never executed, and its person is told so once.",
    on=LANGUAGE_SERVER,
    removed=guard("oncemore.engine.queueing.expire", lambda *_: [], "the end of a message's time in the queue"),
)
def test_Q03_a_message_that_waited_for_an_hour_is_never_executed_and_told_once(d: Desk) -> None:
    d.server.after_send(WORKING, FINAL)
    late = d.ask("How many parts?")
    d.w.offset = HOUR - 60_000
    in_time = d.ask("And now?")
    d.work(HOUR, 2 * HOUR, 30 * HOUR)
    turn = d.w.first_turn(late)
    assert (turn["status"], turn["error"], turn["started_at"]) == ("timed_out", "session_queue_expired", None)
    assert d.w.first_turn(in_time)["status"] == "completed"
    assert [sent["items"][0]["text"].splitlines()[0] for sent in d.server.sends] == ["And now?"]
    assert sorted(d.w.replies()) == sorted([prompts.EXPIRED["en"], "Two parts."])


def _claim_the_next(context: Context, session: str, request: str) -> Turn | None:
    with context.journal.transaction():
        turn = dispatch._next(session, request, context.journal.advance_clock().ms)
        if turn is not None:
            Session.update(active_turn=turn.id).where(Session.id == session).execute()
    return turn


@row(
    "Q4",
    "While a Turn runs, no other Turn of the conversation is claimed.",
    on=LANGUAGE_SERVER,
    removed=guard("oncemore.engine.dispatch.claim", _claim_the_next, "the look at the Turn that runs"),
)
def test_Q04_while_a_turn_runs_no_other_is_claimed(d: Desk) -> None:
    d.server.after_send(WORKING, WORKING, FINAL)
    d.server.after_send(WORKING, FINAL)
    first, second = d.ask("How many parts?"), d.ask("And then?")
    claimed: list[Turn | None] = []

    def claim(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.WHILE_RUNNING and not claimed:
            session = Request.get_by_id(first).session
            assert d.context is not None
            claimed.append(dispatch.claim(d.context, session, second))

    d.on = claim
    d.work()
    assert claimed == [None]
    assert [d.w.first_turn(one)["status"] for one in (first, second)] == ["completed", "completed"]
    assert d.books() == (2, 0)


@row(
    "Q10",
    "A Turn whose worker died between the runtime's end and its own is completed at the next start, with one reply.",
    on=LANGUAGE_SERVER,
    removed=guard(
        "oncemore.engine.reconciliation._settle_run",
        begun_anew,
        "going on with a Turn that was left running, instead of beginning it anew",
    ),
)
def test_Q10_a_turn_whose_worker_died_at_its_end_is_completed_with_one_reply(d: Desk) -> None:
    d.server.after_send(WORKING, FINAL)
    request = d.ask()

    def kill(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_NATIVE_END:
            raise Killed

    d.on = kill
    with pytest.raises(Killed):
        d.work()
    assert (d.w.first_turn(request)["status"], d.w.replies()) == ("running", [])
    d.on = lambda point, about: None
    d.work(0, HOUR)
    assert (d.w.first_turn(request)["status"], d.w.replies()) == ("completed", ["Two parts."])
    assert d.books() == (1, 0)


def _late_answers_too(monkeypatch: pytest.MonkeyPatch, _: object) -> None:
    owed = deliveries._owed

    def anyway(context: Context, row: Request) -> Any:
        row.state = "open"
        return owed(context, row)

    monkeypatch.setattr(deliveries, "_owed", anyway)
    monkeypatch.setattr(deliveries, "_wanted", lambda delivery: True)


@row(
    "Q11",
    "An answer that comes after the stop is dropped: the stop is the only reply.",
    on=LANGUAGE_SERVER,
    removed=Removal("keeping an answer of a stopped message back", _late_answers_too),
)
def test_Q11_an_answer_that_comes_after_the_stop_is_dropped(d: Desk) -> None:
    d.server.faults.cancel_ignored = 1
    d.server.after_send(WORKING, WORKING, FINAL)
    request = d.ask()

    def stop(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.WHILE_RUNNING:
            with d.w.house() as house:
                intake.stop(house.journal, request, "user")

    d.on = stop
    d.work(0, HOUR)
    assert d.w.replies() == [prompts.STOPPED["en"]]
    assert len(d.server.sends) == 1


def _overload_is_a_limit(monkeypatch: pytest.MonkeyPatch, _: object) -> None:
    monkeypatch.setattr(failure, "WORDS", {**failure.WORDS, "serverOverloaded": "usage_limit"})
    monkeypatch.setattr(failure, "STATUSES", {**failure.STATUSES, 503: "usage_limit"})


@row(
    "Q12",
    "An overloaded provider is told in one notice and never retried; the next message goes on in the same thread.",
    on="real Codex",
    removed=Removal("telling an overload from a used up limit", _overload_is_a_limit),
)
def test_Q12_an_overload_is_told_once_and_not_retried_and_the_thread_goes_on(w: World) -> None:
    w.configure(policies=("retry-quota", "retry-route"))
    w.model.capacity = "available"
    w.plot.other = lambda request: Fail("http503")
    first = w.ask("How many parts?")
    for offset in (0, HOUR, 12 * HOUR):
        w.offset = offset
        with w.worker() as worker:
            worker.run_due()
    assert w.replies() == [prompts.FAILED["en"]]
    calls = w.model.calls
    assert len(w.native_turns()) == 1
    w.plot.other = lambda request: Say("Two.")
    second = w.ask("And now?")
    with w.worker() as worker:
        worker.run_due()
    assert w.replies() == [prompts.FAILED["en"], "Two."]
    assert w.model.calls == calls + 1
    assert w.first_turn(second)["native_thread"] == w.first_turn(first)["native_thread"]


def _gone_when_unreadable(monkeypatch: pytest.MonkeyPatch, _: object) -> None:
    read = ConfiguredGrants.read

    def told(grants: ConfiguredGrants, ref: GrantRef) -> GrantReading:
        found = read(grants, ref)
        unknown = found.readings["grant.state"].status != "known"
        return grants._reading("revoked", None, "not readable") if unknown else found

    monkeypatch.setattr(ConfiguredGrants, "read", told)


@row(
    "Q15",
    "A configuration that cannot be read takes no grant away: it is waited for, and the message answered then.",
    on=LANGUAGE_SERVER,
    removed=Removal("telling an unreadable grant from one that was taken back", _gone_when_unreadable),
)
def test_Q15_a_configuration_that_cannot_be_read_takes_no_grant_away(d: Desk) -> None:
    d.server.after_send(WORKING, FINAL)
    d.ask()
    text = d.w.configuration.read_text()

    def spoil(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_CLAIM and not d.w.row("select held from request")["held"]:
            d.w.configuration.write_text("nothing: [that can be read\n")

    d.on = spoil
    d.work()
    row = d.w.row("select held, due_at, state from request")
    assert (row["held"], row["state"], row["due_at"] is None) == (None, "open", False)
    assert d.books() == (0, 0)
    d.w.configuration.write_text(text)
    d.on = lambda point, about: None
    d.work(60_000)
    assert d.w.replies() == ["Two parts."]


class Blind:
    """The Inbox, which does not show one Request's reply."""

    def __init__(self, inbox: Inbox, hidden: str, now: Callable[[], int]) -> None:
        self._inbox, self._hidden, self._now = inbox, hidden, now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inbox, name)

    def find(self, ref: SourceRef, text: str, key: str, receipt: Any) -> Search:
        if key.startswith(self._hidden):
            return Search(None, False, self._now())
        return self._inbox.find(ref, text, key, receipt)


def _everything(journal: Journal, request: str, origin: Any, why: str = "") -> None:
    session = Request.get_by_id(request).session
    for one in list(Request.select().where(Request.session == session, Request.state == "open")):
        STOP(journal, one.id, origin, why)


STOP = intake.stop


@row(
    "Q16",
    "A stop hits what it was meant for and nothing else, and waits for no reply that does not show yet.",
    on=LANGUAGE_SERVER,
    removed=guard("oncemore.engine.intake.stop", _everything, "the one target of a stop"),
)
def test_Q16_a_stop_hits_its_target_alone_while_an_earlier_reply_does_not_show(d: Desk) -> None:
    for looks in ((WORKING, FINAL), (WORKING, WORKING), (WORKING, FINAL)):
        d.server.after_send(*looks)
    hidden, stopped, last = d.ask("One?"), d.ask("Two?"), d.ask("Three?")
    d.source = lambda inbox: Blind(inbox, hidden, d.w.now)

    def stop(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.WHILE_RUNNING and about.startswith(stopped):
            with d.w.house() as house:
                intake.stop(house.journal, stopped, "user")

    d.on = stop
    d.work(0, 60_000)
    states = {
        one: d.w.row("select state from delivery where request = ?", one)["state"] for one in (hidden, stopped, last)
    }
    assert states == {hidden: "sent", stopped: "verified", last: "verified"}
    assert sorted(d.w.replies()) == sorted(["Two parts.", prompts.STOPPED["en"], "Two parts."])
    assert d.books() == (3, 1)
