"""A database server that ends connections, or is not there for a while, stops no worker and does nothing twice."""

from __future__ import annotations

import threading

import psycopg
import pytest
from tests.engine.executor.world import World

from oncemore.adapters.demo.model import Say
from oncemore.engine import events
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import JournalInterrupted
from oncemore.engine.journal import Journal
from oncemore.engine.tables import Clock


@pytest.fixture
def w(on_a_server: World) -> World:
    on_a_server.plot.first = lambda request: Say("Both are written.")
    return on_a_server


def every_connection_ends(url: str) -> None:
    """Of this database, but for the one that says so."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize(
    "point",
    [
        CrashPoint.AFTER_CLAIM,
        CrashPoint.AFTER_START_INTENT,
        CrashPoint.AFTER_START_CALL,
        CrashPoint.AFTER_NATIVE_END,
        CrashPoint.AFTER_SEND,
    ],
)
def test_a_worker_goes_on_where_it_was(w: World, point: CrashPoint) -> None:
    request = w.ask()
    times: list[CrashPoint] = []

    def reached(at: CrashPoint, about: str) -> None:
        if at is point and not times:
            times.append(at)
            every_connection_ends(w.journal)

    with w.worker(reached, retry_outside=1) as worker:
        for _ in range(200):
            if w.row("select state from request")["state"] == "answered":
                break
            worker.run_due()
    assert times == [point]
    assert w.row("select state, held from request") == {"state": "answered", "held": None}
    assert (len(w.native_turns()), w.model.calls, w.replies()) == (1, 1, ["Both are written."])
    assert w.rows("select kind from event where kind = 'fault'") == []
    with w.house():
        assert events.verify(request) is None


def test_a_unit_of_work_that_is_broken_off_leaves_nothing_and_the_next_one_works(w: World) -> None:
    journal = Journal(w.journal, clock=lambda: 5)
    try:
        with pytest.raises(JournalInterrupted), journal.transaction():
            Clock.update(last=3).execute()
            every_connection_ends(w.journal)
            Clock.update(last=4).execute()
        journal.reconnect()
        assert Clock.get().last == 0
        with journal.transaction():
            journal.advance_clock()
        assert Clock.get().last == 5
    finally:
        journal.close()


def test_who_waits_too_long_for_a_row_is_told_that_nothing_was_written(w: World) -> None:
    journal = Journal(w.journal)
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with psycopg.connect(w.journal) as server:
            server.execute("update clock set last = 7")
            held.set()
            go.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(20)
        with pytest.raises(JournalInterrupted) as told, journal.transaction():
            journal._database.execute_sql("set local lock_timeout = '10ms'")
            Clock.update(last=8).execute()
        assert told.value.undone
    finally:
        go.set()
        thread.join()
        journal.close()


def test_groups_that_wait_for_each_other_are_both_done(w: World) -> None:
    """Two services take the same two conversations in another order; one gives way, and does its own after that."""
    from oncemore.engine import intake
    from oncemore.engine.group_commit import GroupCommit
    from oncemore.engine.ports import GrantRef, Workspace

    grant = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
    journal = Journal(w.journal)
    try:
        sessions = [
            intake.open_session(journal, grant, runtime="codex", home="/h", source="inbox", conversation=name)
            for name in "ab"
        ]
        both_began = threading.Barrier(2)

        def write(to: str, message: str, meet: bool) -> str:
            request = intake.accept(journal, to, intake.Arrival(message=message, sender="ann", text=message))
            if meet:
                both_began.wait(20)
            return request

        groups = [GroupCommit(journal), GroupCommit(journal)]
        done = []
        for number, group in enumerate(groups):
            first, second = sessions if number == 0 else sessions[::-1]
            begun, go = threading.Event(), threading.Event()

            def wait(begun: threading.Event = begun, go: threading.Event = go) -> None:
                begun.set()
                go.wait(20)

            group.submit(wait)
            begun.wait(20)
            met: list[bool] = []

            def once(to: str = first, name: str = f"m{number}-1", met: list[bool] = met) -> str:
                meet, met[:] = not met, [True]
                return write(to, name, meet)

            done.append(group.submit(once))
            done.append(group.submit(lambda to=second, name=f"m{number}-2": write(to, name, False)))
            go.set()
        requests = [one.result(60) for one in done]
        for group in groups:
            group.close()
        assert len(set(requests)) == 4
        assert [events.verify(request) for request in requests] == [None] * 4
    finally:
        journal.close()
