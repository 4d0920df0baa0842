"""Threads with connections of their own write at the same moment, and it is as if they had come one after the other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import postgres

from oncemore.adapters.inbox import Inbox
from oncemore.engine import events, intake, judging, levels, routes
from oncemore.engine.allowance_tables import LevelChange, Route
from oncemore.engine.errors import Conflict
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Workspace
from oncemore.engine.tables import Clock, Event, InboxMessage, Request, Session, Turn

pytestmark = postgres.both

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
THREADS = 8


@pytest.fixture
def journal(place: Path | str) -> Iterator[Journal]:
    opened = Journal(place, clock=lambda: 1_000_000)
    yield opened
    opened.close()


def at_once(journal: Journal, *works: Callable[[], Any]) -> list[Any]:
    """What each gave or raised; all begin in the same moment, each with its own connection."""
    found: list[Any] = [None] * len(works)
    begin = threading.Barrier(len(works))

    def one(number: int, work: Callable[[], Any]) -> None:
        with journal.connected():
            begin.wait()
            try:
                found[number] = work()
            except Exception as error:
                found[number] = error

    threads = [threading.Thread(target=one, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def session(journal: Journal, conversation: str = "c") -> str:
    return intake.open_session(journal, GRANT, runtime="codex", home="/h", source="inbox", conversation=conversation)


def accept(journal: Journal, to: str, message: str, text: str = "write") -> str:
    return intake.accept(journal, to, intake.Arrival(message=message, sender="ann", text=text))


def test_messages_of_one_conversation_stand_in_one_order(journal: Journal) -> None:
    to = session(journal)
    requests = at_once(journal, *(lambda n=n: accept(journal, to, f"m-{n}") for n in range(THREADS)))
    assert sorted(row.position for row in Request.select()) == list(range(1, THREADS + 1))
    assert sorted(row.position for row in Turn.select()) == list(range(1, THREADS + 1))
    assert [events.verify(request) for request in requests] == [None] * THREADS


def test_the_same_message_told_of_many_times_is_taken_in_once(journal: Journal) -> None:
    to = session(journal)
    found = at_once(journal, *(lambda: accept(journal, to, "m-1") for _ in range(THREADS)))
    assert set(found) == {Request.get().id}
    assert Event.select().count() == 2


def test_first_messages_of_a_conversation_open_one_session(journal: Journal) -> None:
    def first(number: int) -> str:
        with journal.transaction():
            return accept(journal, session(journal), f"m-{number}")

    found = at_once(journal, *(lambda n=n: first(n) for n in range(THREADS)))
    assert len(set(found)) == THREADS
    assert Session.select().count() == 1


def test_a_request_is_stopped_once(journal: Journal) -> None:
    request = accept(journal, session(journal), "m-1")
    found = at_once(journal, *(lambda: intake.stop(journal, request, "user") for _ in range(THREADS)))
    assert found.count(None) == 1
    assert sum(isinstance(one, Conflict) for one in found) == THREADS - 1
    assert [one.kind for one in Event.select().order_by(Event.seq)] == ["accepted", "queued", "stopped"]
    assert events.verify(request) is None


def test_a_closed_session_takes_nothing_in_and_one_with_work_is_not_closed(journal: Journal) -> None:
    for number in range(4):
        to = session(journal, f"c{number}")
        closed, request = at_once(
            journal, lambda to=to: intake.close_session(journal, to), lambda to=to: accept(journal, to, f"m{to}")
        )
        assert isinstance(closed, Conflict) != isinstance(request, Conflict)
        assert (Session.get_by_id(to).state == "closed") == isinstance(request, Conflict)


def test_posts_of_one_conversation_stand_in_one_order(journal: Journal) -> None:
    inbox = Inbox(journal)
    at_once(journal, *(lambda n=n: inbox.post("notes", "ann", f"text {n}") for n in range(THREADS)))
    assert sorted(row.position for row in InboxMessage.select()) == list(range(1, THREADS + 1))


def test_one_request_looks_at_a_route(journal: Journal) -> None:
    found = at_once(journal, *(lambda n=n: routes.may_look("codex", f"r-{n}") for n in range(THREADS)))
    assert Counter(found) == {True: 1, False: THREADS - 1}
    assert Route.get().holder == f"r-{found.index(True)}"


def test_the_levels_of_a_new_journal_are_filled_once(journal: Journal) -> None:
    def fill() -> None:
        with journal.transaction():
            levels.fill({"a": "enforce", "b": "shadow"}, 1)

    assert at_once(journal, *(fill for _ in range(THREADS))) == [None] * THREADS
    assert LevelChange.select().count() == 2


def test_two_that_write_of_one_request_keep_its_chain_whole(journal: Journal) -> None:
    request = accept(journal, session(journal), "m-1")

    def write(number: int) -> None:
        with journal.transaction():
            events.append(request, "told", 1_000_000, number=number)

    at_once(journal, *(lambda n=n: write(n) for n in range(THREADS)))
    assert events.verify(request) is None
    assert Event.select().where(Event.kind == "told").count() == THREADS


def test_a_transaction_that_took_the_time_keeps_nobody_waiting_for_it(journal: Journal) -> None:
    if journal.server is None:
        pytest.skip("one writer at a time")
    taken, go_on = threading.Event(), threading.Event()

    def long() -> None:
        with journal.transaction():
            journal.advance_clock()
            taken.set()
            assert go_on.wait(20)

    def short() -> None:
        assert taken.wait(20)
        try:
            with journal.transaction():
                journal.advance_clock()
        finally:
            go_on.set()

    assert at_once(journal, long, short) == [None, None]
    assert Clock.get().last == 1_000_000


def test_policies_are_kept_once_whoever_decides_first(journal: Journal) -> None:
    assert judging.Bundle.select().count() == 0
    row = {"digest": "sha256:1", "body": "{}"}

    def keep() -> None:
        with journal.transaction():
            if not judging.Bundle.select().where(judging.Bundle.digest == row["digest"]).exists():
                judging.Bundle.insert(**row).on_conflict_ignore().execute()

    assert at_once(journal, *(keep for _ in range(THREADS))) == [None] * THREADS
