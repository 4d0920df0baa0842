"""A queued Request is said to need a worker only where none is there."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests import postgres
from tests.adapters.api.conftest import World
from tests.adapters.api.conftest import opened as opened_world

from oncemore.engine.errors import JournalRefused
from oncemore.engine.journal import Journal


@contextmanager
def a_worker(place: Path | str) -> Iterator[None]:
    """Another process works on the journal."""
    if isinstance(place, str):
        with psycopg.connect(place, autocommit=True) as server:
            row = server.execute(
                "insert into worker (name, host, boot, pid, pid_started, started_at, until)"
                " values ('w', 'elsewhere', 'b', 1, 1, 1, extract(epoch from clock_timestamp()) * 1000 + 60000)"
                " returning id"
            ).fetchone()
            assert row is not None
            try:
                yield
            finally:
                server.execute("update worker set until = 0 where id = %s", row)
        return
    with place.with_name(place.name + ".worker").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@postgres.both
def test_it_waits_for_its_turn_where_a_worker_is_there_and_for_one_where_none_is(
    world: World, place: Path | str
) -> None:
    request = world.ask()

    def helps() -> set[str]:
        (line,) = world.get("/v1/requests")["requests"]
        assert line["doing"] == "queued"
        one = world.get(f"/v1/requests/{request}")["standing"]
        (message,) = world.get("/v1/conversations/notes")["messages"]
        return {line["helps"], one["helps"], message["request"]["helps"]}

    assert helps() == {"oncemore work"}
    with a_worker(place):
        assert helps() == {f"oncemore show {request}"}
    assert helps() == {"oncemore work"}


def test_where_it_cannot_be_seen_whether_a_worker_is_there_none_is_asked_for(tmp_path: Path) -> None:
    with opened_world(tmp_path) as world:
        world.ask()
        lock = tmp_path / "data" / "oncemore.db.worker"
        lock.unlink(missing_ok=True)
        lock.symlink_to(lock)  # which nobody can open
        (line,) = world.get("/v1/requests")["requests"]
        assert line["helps"].startswith("oncemore show ")


def test_a_service_that_works_itself_is_the_worker(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "data" / "oncemore.db", worker=True)
    try:
        assert journal.worked()
    finally:
        journal.close()


def test_whoever_only_looks_keeps_no_worker_out(tmp_path: Path) -> None:
    path = tmp_path / "data" / "oncemore.db"
    reader = Journal(path)
    try:
        assert not reader.worked()
        with a_worker(path):
            assert reader.worked()
            with pytest.raises(JournalRefused, match="one worker"):
                Journal(path, worker=True)
        assert not reader.worked()
    finally:
        reader.close()
    Journal(path, worker=True).close()


def test_a_house_without_a_worker_stays_without_one_by_being_asked(tmp_path: Path) -> None:
    with opened_world(tmp_path) as world:
        world.ask()
        world.get("/v1/requests")
        assert not (tmp_path / "data" / "oncemore.db.worker").exists()
