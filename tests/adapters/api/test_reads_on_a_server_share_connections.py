"""Reads of a journal on a server share a bounded number of connections, and go on after the server was restarted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from tests import postgres
from tests.adapters.api.conftest import CONFIGURATION, World, opened, served

from oncemore.adapters.api.service import READERS
from oncemore.engine.errors import JournalInterrupted, JournalRefused
from oncemore.engine.postgres import CONNECTIONS
from oncemore.engine.tables import Clock


@pytest.fixture
def url() -> Iterator[str]:
    found = postgres.server().fresh()
    yield found
    postgres.drop(found)


@pytest.fixture
def world(tmp_path: Path, url: str) -> Iterator[World]:
    with opened(tmp_path, CONFIGURATION.replace("data/oncemore.db", f"'{url}'")) as found:
        yield found


def backends(url: str) -> set[int]:
    """The connections that the service has to its database now."""
    with psycopg.connect(url, autocommit=True) as server:
        found = server.execute(
            "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and backend_type = 'client backend'"
        )
        return {pid for (pid,) in found}


def test_reads_one_after_the_other_make_no_connection(world: World, url: str) -> None:
    with served(world.service) as address, httpx.Client(base_url=address) as client:
        client.headers["authorization"] = f"Bearer {world.tokens['all']}"
        assert client.get("/v1/requests").status_code == 200
        before = backends(url)
        for _ in range(20):
            assert client.get("/v1/requests").status_code == 200
        assert backends(url) == before


def test_reads_at_the_same_moment_wait_for_each_other_rather_than_for_a_connection(world: World, url: str) -> None:
    callers = 5 * READERS
    at_once: list[int] = []
    seen, full = threading.Condition(), threading.Event()

    def held(of: set[int]) -> int:
        """Reads until as many as may be are reading, and says how many connections there were then."""
        with seen:
            of.add(threading.get_ident())
            if len(of) == READERS:
                at_once.append(len(backends(url)))
                full.set()
        assert full.wait(30)
        return len(of)

    async def asked() -> None:
        of: set[int] = set()
        await asyncio.gather(*(world.service.read(lambda: held(of)) for _ in range(callers)))

    asyncio.run(asked())
    assert READERS <= max(at_once) <= CONNECTIONS
    assert len(backends(url)) <= CONNECTIONS


def test_who_gets_no_connection_is_told_so_and_the_next_one_works(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask()  # the thread that commits has its connection from now on
    journal = world.service.house.journal
    monkeypatch.setattr(journal._database, "_wait_timeout", 0.001)
    told, free = threading.Barrier(CONNECTIONS + 1), threading.Event()

    def taken() -> bool:
        """Whether a connection was had."""
        try:
            with journal.connected():
                told.wait(30)
                free.wait(30)
                return True
        except JournalRefused as refused:
            assert f"all {CONNECTIONS} connections of this process were in use" in str(refused)
            told.wait(30)
            return False

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        found = [threads.submit(taken) for _ in range(CONNECTIONS)]
        told.wait(30)
        free.set()
    # One was the thread's that opened the journal, one the thread's that commits.
    assert sum(one.result() for one in found) == CONNECTIONS - 2
    assert len(world.get("/v1/requests")["requests"]) == 1


def test_a_server_that_is_restarted_costs_the_calls_meanwhile_and_no_later_one(tmp_path: Path) -> None:
    server = postgres.Server()
    try:
        url = server.fresh()
        with opened(tmp_path, CONFIGURATION.replace("data/oncemore.db", f"'{url}'")) as world:
            request = world.ask()
            assert world.get("/v1/requests")["requests"][0]["request"] == request
            server.stop()
            refused = world.call("GET", "/v1/requests")
            assert (refused.status_code, refused.json()["code"]) == (503, "E201")
            server.start()
            for _ in range(READERS):
                assert world.get("/v1/requests")["requests"][0]["request"] == request
            # The thread that commits finds out by its first commit, and says so to whoever waits for it.
            assert world.post("/v1/requests", {"workspace": "notes", "text": "Two."}).status_code == 503
            assert world.ask("Please write two.") != request
    finally:
        server.close()


def test_a_connection_that_breaks_in_the_middle_of_a_read_is_not_used_again(world: World, url: str) -> None:
    def broken() -> None:
        [(pid,)] = world.service.house.journal._database.execute_sql("select pg_backend_pid()").fetchall()
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("select pg_terminate_backend(%s)", (pid,))
        Clock.get()

    with pytest.raises(JournalInterrupted):
        asyncio.run(world.service.read(broken))
    assert world.get("/v1/requests")["requests"] == []
