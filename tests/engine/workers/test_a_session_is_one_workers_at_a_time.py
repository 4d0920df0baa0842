"""Sessions with due work are taken by one worker each, and whoever lost one can write nothing for it any more."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from tests import postgres

from oncemore.engine import events, intake, leases
from oncemore.engine.errors import LeaseLost
from oncemore.engine.journal import Journal
from oncemore.engine.leases import OneOfMany, Terms
from oncemore.engine.ports import GrantRef, Workspace
from oncemore.engine.process import Process
from oncemore.engine.tables import Event, Lease, Request, RunningWorker

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
NOW = 1_000_000

Made = Callable[..., OneOfMany]


@pytest.fixture
def journal() -> Iterator[Journal]:
    url = postgres.server().fresh()
    opened = Journal(url, clock=lambda: NOW)
    yield opened
    opened.close()
    postgres.drop(url)


@pytest.fixture
def worker(journal: Journal) -> Iterator[Made]:
    """Makes workers whose heartbeat comes once in a while."""
    made: list[OneOfMany] = []

    def make(batch: int = 8, lease: int = 600_000) -> OneOfMany:
        made.append(OneOfMany(journal, Terms(f"w{len(made) + 1}", lease, batch)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def asked(journal: Journal, conversation: str, due_at: int = NOW) -> str:
    session = intake.open_session(journal, GRANT, runtime="codex", home="/h", source="inbox", conversation=conversation)
    message = f"{conversation}-{Request.select().count()}"
    request = intake.accept(journal, session, intake.Arrival(message=message, sender="ann", text="write"))
    Request.update(due_at=due_at).where(Request.id == request).execute()
    return request


def session_of(request: str) -> str:
    return str(Request.get_by_id(request).session)


def done(request: str) -> None:
    Request.update(due_at=None).where(Request.id == request).execute()


def silent(name: str) -> None:
    """The worker has said nothing for longer than its lease."""
    RunningWorker.update(until=0).where(RunningWorker.name.startswith(name)).execute()


def test_each_takes_its_own_the_longest_due_first(journal: Journal, worker: Made) -> None:
    requests = [asked(journal, f"c{number}", NOW - 10 + number) for number in range(5)]
    asked(journal, "later", NOW + 1)
    first, second = worker(batch=2), worker(batch=2)
    assert first.next(NOW, ()) == requests[0]
    assert second.next(NOW, ()) == requests[2]
    for request in requests[:2]:
        assert first.next(NOW, ()) == request
        done(request)
    assert first.next(NOW, ()) == requests[4]
    assert {row.session for row in Lease.select()} == {session_of(one) for one in requests[2:]}


def test_all_work_of_one_session_is_one_workers(journal: Journal, worker: Made) -> None:
    first, second = asked(journal, "c"), asked(journal, "c")
    assert worker(batch=1).next(NOW, ()) == min(first, second)
    assert worker().next(NOW, ()) is None


def test_work_that_others_have_is_nobodys_next(journal: Journal, worker: Made) -> None:
    request = asked(journal, "c")
    later = asked(journal, "d", NOW + 5)
    one = worker()
    assert one.next_due() == NOW
    assert one.next(NOW, ()) == request
    assert one.next_due() == NOW + 5
    assert worker().next(NOW + 5, ()) == later


def test_many_who_take_at_once_take_everything_once(journal: Journal, worker: Made) -> None:
    requests = {asked(journal, f"c{number}") for number in range(24)}
    taken: list[str] = []

    def take(one: OneOfMany) -> None:
        with journal.connected():
            mine: set[str] = set()
            while (request := one.next(NOW, mine)) is not None:
                mine.add(request)
                taken.append(request)
                with one.session(session_of(request)) as held, journal.transaction():
                    assert held
                    done(request)
            one.close()

    threads = [threading.Thread(target=take, args=(worker(batch=3),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(requests)
    assert Lease.select().count() == 0


def test_a_worker_that_was_silent_for_too_long_loses_its_sessions_and_writes_nothing(
    journal: Journal, worker: Made
) -> None:
    request = asked(journal, "c")
    slow, other = worker(), worker()
    assert slow.next(NOW, ()) == request
    before = [one.digest for one in Event.select()]
    with pytest.raises(LeaseLost), slow.session(session_of(request)) as held:
        assert held
        assert other.next(NOW, ()) is None
        silent("w1")
        assert other.next(NOW, ()) == request
        with journal.transaction():
            events.append(request, "told", NOW)
    assert [one.digest for one in Event.select()] == before
    with other.session(session_of(request)), journal.transaction():
        events.append(request, "told", NOW)
    assert events.verify(request) is None
    assert slow.next(NOW, ()) is None


def test_nobody_takes_a_session_over_in_the_middle_of_a_transaction(journal: Journal, worker: Made) -> None:
    request = asked(journal, "c")
    slow, other = worker(), worker()
    assert slow.next(NOW, ()) == request
    silent("w1")
    found: list[str | None] = []

    def take() -> None:
        with journal.connected():
            found.append(other.next(NOW, ()))

    with slow.session(session_of(request)):
        with journal.transaction():
            thread = threading.Thread(target=take)
            thread.start()
            thread.join()
            events.append(request, "told", NOW)
        assert found == [None]
    assert other.next(NOW, ()) == request


def test_every_write_of_who_lost_it_is_refused_by_whatever_door(journal: Journal, worker: Made) -> None:
    from oncemore.engine import routes

    request = asked(journal, "c")
    slow, other = worker(), worker()
    slow.next(NOW, ())
    silent("w1")
    other.next(NOW, ())
    with slow.session(session_of(request)), pytest.raises(LeaseLost):
        routes.may_look("codex", request)


def test_a_process_that_is_provably_gone_is_not_waited_for(journal: Journal, worker: Made) -> None:
    request = asked(journal, "c")
    dead = worker()
    assert dead.next(NOW, ()) == request
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    RunningWorker.update(pid=ended.pid, pid_started=1).execute()
    assert worker().next(NOW, ()) == request
    assert RunningWorker.select().count() == 1


def test_a_worker_of_another_host_is_waited_for(journal: Journal, worker: Made) -> None:
    request = asked(journal, "c")
    far = worker()
    assert far.next(NOW, ()) == request
    RunningWorker.update(host="elsewhere", pid=2**22 + 1, pid_started=1).execute()
    near = worker()
    assert near.next(NOW, ()) is None
    RunningWorker.update(until=0).where(RunningWorker.host == "elsewhere").execute()
    assert near.next(NOW, ()) == request


def test_who_leaves_gives_everything_back(journal: Journal, worker: Made) -> None:
    requests = [asked(journal, f"c{number}", NOW - 5 + number) for number in range(3)]
    one = worker()
    assert one.next(NOW, ()) == requests[0]
    one.close()
    assert (Lease.select().count(), RunningWorker.select().count()) == (0, 0)
    assert worker().next(NOW, ()) == requests[0]


def test_what_is_not_begun_is_given_back_while_something_long_is_in_hand(
    journal: Journal, worker: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HAND_BACK", 0.02)
    requests = [asked(journal, f"c{number}", NOW - 5 + number) for number in range(3)]
    busy, idle = worker(), worker()
    assert busy.next(NOW, ()) == requests[0]
    while (found := idle.next(NOW, ())) is None:
        pass
    assert found == requests[1]


def test_an_answer_to_a_command_takes_a_session_that_nobody_has(journal: Journal, worker: Made) -> None:
    busy, free = asked(journal, "c", NOW - 1), asked(journal, "d", NOW + 100)
    one, other = worker(), worker()
    assert one.next(NOW, ()) == busy
    with one.session(session_of(busy)), one.session(session_of(free)) as held:
        assert held
        with other.session(session_of(free)) as too:
            assert not too
        with journal.transaction():
            events.append(free, "told", NOW)
    assert [row.session for row in Lease.select()] == [session_of(busy)]


def test_a_worker_is_known_by_its_name_and_process(journal: Journal, worker: Made) -> None:
    asked(journal, "c")
    worker().next(NOW, ())
    row = RunningWorker.get()
    me = Process.current()
    assert (row.name, row.host, row.pid, row.pid_started) == (f"w1-{os.getpid()}", me.host, me.pid, me.started)


def test_who_was_taken_for_gone_and_is_not_goes_on_under_a_new_number(journal: Journal, worker: Made) -> None:
    first = asked(journal, "c")
    slow, other = worker(), worker()
    assert slow.next(NOW, ()) == first
    silent("w1")
    assert other.next(NOW, ()) == first
    assert RunningWorker.select().count() == 1
    with pytest.raises(LeaseLost), slow.session(session_of(first)), journal.transaction():
        events.append(first, "told", NOW)
    second = asked(journal, "d")
    assert slow.next(NOW, ()) == second
    assert RunningWorker.select().count() == 2
