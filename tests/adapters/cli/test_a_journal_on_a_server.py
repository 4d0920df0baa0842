"""What commands say of a journal on PostgreSQL: that it works, or what keeps it from working and what mends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests import postgres
from tests.adapters.cli.conftest import Run

from oncemore.engine.process import Process

At = Callable[[str], Path]


@pytest.fixture
def url() -> Iterator[str]:
    made = postgres.server().fresh()
    yield made
    postgres.drop(made)


@pytest.fixture
def at(run: Run, tmp_path: Path) -> At:
    """A home whose journal stands at a URL."""

    def home(url: str) -> Path:
        assert run("init", tmp_path / "home").exit_code == 0
        file = tmp_path / "home" / "oncemore.yaml"
        file.write_text(file.read_text().replace("journal: data/oncemore.db", f"journal: {url}"))
        return tmp_path / "home"

    return home


def database(url: str) -> str:
    return url.split("/@/" if "/@/" in url else "@/")[1].split("?")[0]


def journal_line(told: str) -> list[str]:
    lines = told.splitlines()
    [number] = [number for number, line in enumerate(lines) if "journal:" in line]
    return lines[number : number + 2]


def test_commands_work_on_it_as_on_a_file(run: Run, at: At, url: str) -> None:
    home = at(url)
    told = run("doctor", "--home", home).stdout
    assert journal_line(told)[0].startswith(f"ok       journal: {url} on PostgreSQL 18")
    assert "its tables are made at the first start" in told and "ok       grants: no conversation yet" in told
    request = run("ask", "first", "hello", "--home", home).stdout.strip()
    assert request in run("requests", "--home", home).stdout
    assert run("stop", request, "--why", "enough", "--home", home).exit_code == 0
    assert "stopped" in run("show", request, "--home", home).stdout
    assert run("verify", "--home", home).exit_code == 0
    assert run("levels", "--home", home).exit_code == 0
    told = run("doctor", "--home", home).stdout
    assert "with 0 workers at work" in told and "ok       grant of first: intact" in told


def test_workers_that_are_there_are_counted(run: Run, at: At, url: str) -> None:
    home = at(url)
    run("requests", "--home", home)
    me = Process.current()
    postgres.server().said(
        "insert into worker (name, host, boot, pid, pid_started, started_at, until)"
        f" select 'w', '{me.host}', '', 1, 1, 0, 32503680000000 from generate_series(1, 2)",
        database(url),
    )
    assert "with 2 workers at work" in run("doctor", "--home", home).stdout


def test_a_server_that_is_not_there(run: Run, at: At, tmp_path: Path) -> None:
    home = at(f"postgresql://postgres@/d?host={tmp_path}")
    for command in (("requests",), ("work", "--once"), ("ask", "first", "x")):
        answer = run(*command, "--home", home)
        assert (answer.exit_code, "error[E201]" in answer.stderr, "pg_isready" in answer.stderr) == (2, True, True)
    found, mends = journal_line(run("doctor", "--home", home).stdout)
    assert found.startswith("missing  journal:") and "pg_isready -d" in mends


def test_a_database_that_is_not_there(run: Run, at: At, url: str) -> None:
    home = at(postgres.server().url("nobody_made_it"))
    answer = run("requests", "--home", home)
    assert answer.exit_code == 2
    assert "createdb --encoding=UTF8 nobody_made_it" in answer.stderr
    assert "createdb --encoding=UTF8 nobody_made_it" in journal_line(run("doctor", "--home", home).stdout)[1]


def test_a_user_that_is_not_there(run: Run, at: At, url: str) -> None:
    home = at(url.replace("postgres@", "nobody_made_him@"))
    assert "make that user" in run("requests", "--home", home).stderr


@pytest.fixture
def guest() -> Iterator[str]:
    postgres.server().said("create role guest login")
    yield "guest"
    postgres.server().said("drop role guest")


def test_a_user_who_may_make_no_tables(run: Run, at: At, url: str, guest: str) -> None:
    home = at(url.replace("postgres@", f"{guest}@"))
    answer = run("requests", "--home", home)
    assert answer.exit_code == 2
    assert f"alter database {database(url)} owner to guest" in answer.stderr
    assert "owner to guest" in journal_line(run("doctor", "--home", home).stdout)[1]


def test_a_user_who_may_not_read_what_another_one_made(run: Run, at: At, url: str, guest: str) -> None:
    run("requests", "--home", at(url))
    file = Path("home/oncemore.yaml")
    file.write_text(file.read_text().replace("postgres@", f"{guest}@"))
    answer = run("requests", "--home", "home")
    assert (answer.exit_code, "work as the user who made the tables" in answer.stderr) == (2, True)
    assert "work as the user who made the tables" in journal_line(run("doctor", "--home", "home").stdout)[1]


def test_a_user_who_may_only_read(run: Run, at: At, url: str, guest: str) -> None:
    run("requests", "--home", at(url))
    file = Path("home/oncemore.yaml")
    file.write_text(file.read_text().replace("postgres@", f"{guest}@"))
    postgres.server().said("grant select on all tables in schema public to guest", database(url))
    try:
        assert run("requests", "--home", "home").exit_code == 0
        answer = run("ask", "first", "hello", "--home", "home")
        assert (answer.exit_code, "work as the user who made the tables" in answer.stderr) == (2, True)
        assert "permission denied" in journal_line(run("doctor", "--home", "home").stdout)[0]
    finally:
        postgres.server().said("drop owned by guest", database(url))


def test_a_worker_that_has_ended_leaves_no_trace_of_itself(run: Run, at: At, url: str) -> None:
    home = at(url)
    assert run("work", "--once", "--home", home).exit_code == 0
    with psycopg.connect(url) as server:
        assert server.execute("select (select count(*) from worker), (select count(*) from lease)").fetchone() == (0, 0)


def test_a_database_that_holds_something_else(run: Run, at: At, url: str) -> None:
    postgres.server().said("create table request (id int)", database(url))
    home = at(url)
    answer = run("requests", "--home", home)
    assert (answer.exit_code, "a database of its own" in answer.stderr) == (2, True)
    assert "a database of its own" in journal_line(run("doctor", "--home", home).stdout)[1]


def test_a_database_with_another_encoding(run: Run, at: At) -> None:
    server = postgres.server()
    server.said("create database narrow encoding 'SQL_ASCII' template template0")
    try:
        home = at(server.url("narrow"))
        assert "SQL_ASCII" in run("requests", "--home", home).stderr
        found, mends = journal_line(run("doctor", "--home", home).stdout)
        assert "SQL_ASCII" in found and "--encoding=UTF8" in mends
    finally:
        server.said("drop database narrow with (force)")


def test_psycopg_that_is_not_installed(run: Run, at: At, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home = at(url)
    monkeypatch.setitem(sys.modules, "psycopg.conninfo", None)
    answer = run("requests", "--home", home)
    assert (answer.exit_code, "pip install 'oncemore[postgres]'" in answer.stderr) == (2, True)
    assert "pip install 'oncemore[postgres]'" in "".join(journal_line(run("doctor", "--home", home).stdout))


def test_a_password_is_taken_from_the_environment_and_never_shown(
    run: Run, at: At, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "a-secret-that-nobody-must-see")
    home = at(url)
    shown = [run(*command, "--home", home).output for command in (("doctor",), ("requests",), ("work", "--once"))]
    assert not any(os.environ["PGPASSWORD"] in told for told in shown)
