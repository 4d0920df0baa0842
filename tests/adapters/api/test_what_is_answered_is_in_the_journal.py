"""What is answered is in the journal, and what is refused is not: on a full disk, and when the file goes away."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import peewee as pw
import pytest
from tests.adapters.api.lark import Told

from oncemore.adapters.api.problems import as_problem
from oncemore.engine import texts
from oncemore.engine.errors import JournalInterrupted, JournalRefused
from oncemore.engine.group_commit import GroupCommit
from oncemore.engine.journal import Journal
from oncemore.engine.tables import Text, database


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "data" / "oncemore.db")) as found:
        yield found


@contextmanager
def away(file: Path) -> Iterator[None]:
    """The journal's file is somewhere else."""
    kept = sorted(file.parent.glob(f"{file.name}*"))
    other = file.parent.parent / "away"
    other.mkdir(mode=0o700, exist_ok=True)
    for one in kept:
        one.rename(other / one.name)
    yield
    for one in kept:
        (other / one.name).rename(one)


def test_nothing_is_taken_in_while_the_file_is_gone(told: Told, tmp_path: Path) -> None:
    file = tmp_path / "data" / "oncemore.db"
    world, event = told.world, told.event()
    world.call("GET", "/v1/levels")
    with away(file):
        refused = world.post("/v1/requests", {"workspace": "notes", "text": "Please."})
        assert (refused.status_code, refused.json()["code"]) == (503, "E201")
        assert told.tell(event).status_code == 503
        assert world.call("GET", "/v1/requests").status_code == 503
        assert not file.exists()
    assert world.get("/v1/requests")["requests"] == []
    assert told.tell(event).status_code == 200
    assert len(world.get("/v1/requests")["requests"]) == 1


def test_nor_while_another_file_stands_in_its_place(told: Told, tmp_path: Path) -> None:
    file = tmp_path / "data" / "oncemore.db"
    told.world.call("GET", "/v1/levels")
    with away(file):
        file.touch(mode=0o600)
        assert told.tell(told.event()).status_code == 503
        assert told.world.post("/v1/requests", {"workspace": "notes", "text": "Please."}).status_code == 503
        assert file.stat().st_size == 0


def held(commits: GroupCommit) -> threading.Event:
    """What is submitted until this is set is committed together, on a disk with little room."""
    go = threading.Event()

    def little_room() -> None:
        assert go.wait(10)
        ((pages,),) = database.execute_sql("pragma page_count").fetchall()
        database.execute_sql(f"pragma max_page_count = {pages + 3}")

    commits.submit(little_room)
    return go


def test_of_a_group_that_a_full_disk_undid_nothing_is_kept(journal: Journal) -> None:
    with closing(GroupCommit(journal)) as commits:
        go = held(commits)
        parts = [commits.submit(lambda size=size: texts.store("x" * size, 1)) for size in (5, 1_000_000, 6, 7)]
        go.set()
        refused = [part.exception(10) for part in parts]
        assert [type(one) for one in refused] == [JournalRefused] * 4
        assert Text.select().count() == 0
        assert commits.submit(lambda: texts.store("x" * 8, 1)).result(10).length == 8
    assert [row.length for row in Text.select()] == [8]


def test_nothing_is_written_outside_of_the_transaction_that_it_belongs_to(journal: Journal) -> None:
    with pytest.raises(JournalRefused), journal.transaction():
        database.execute_sql("rollback")  # as SQLite does by itself on a full disk
        with pytest.raises(JournalRefused, match="undone"), journal.transaction():
            texts.store("alone", 1)
    assert Text.select().count() == 0


def test_a_journal_that_cannot_be_opened_for_a_moment_is_tried_again_by_whoever_comes_next(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(GroupCommit(journal)) as commits, monkeypatch.context() as patched:

        def refuse() -> None:
            raise pw.OperationalError("too many connections")

        patched.setattr(database.obj, "connect", refuse)
        assert isinstance(commits.submit(lambda: 1).exception(10), JournalRefused)
        patched.undo()
        assert commits.submit(lambda: 2).result(10) == 2


def test_a_server_that_broke_off_is_no_fault_of_ours() -> None:
    told = as_problem(JournalInterrupted("the journal postgresql://user@host/name was interrupted: secret words"))
    assert (told["status"], told["code"]) == (503, "E206")
    assert "secret" not in json.dumps(told)
