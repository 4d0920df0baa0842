"""A journal of an earlier release is opened, migrated, and everything in it is there and means what it meant."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import peewee as pw
import pytest
from playhouse.migrations import Runner

from oncemore.adapters.standing import standings
from oncemore.adapters.timeline import timeline
from oncemore.engine import events, explanation, journal, journal_records, texts
from oncemore.engine.errors import JournalRefused
from oncemore.engine.journal import Journal
from oncemore.engine.tables import DecisionPass, Request, Text

KEPT = Path(__file__).parent / "kept"
MIGRATIONS = Path(journal.__file__).parent / "migrations"
RELEASES = sorted(KEPT.glob("*.db"))


def schema(file: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return sorted(database.execute("select type, name, tbl_name, coalesce(sql, '') from sqlite_master").fetchall())


def rows(file: Path, columns: dict[str, list[str]] | None = None) -> dict[str, tuple[list[str], list[Any]]]:
    """Every row of every table, or of these columns."""
    with closing(sqlite3.connect(file)) as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        if columns is None:
            columns = {
                table: [column[1] for column in database.execute(f"pragma table_info({table})")] for table in tables
            }
        return {
            table: (names, sorted(database.execute(f"select {', '.join(names)} from {table}").fetchall(), key=repr))
            for table, names in columns.items()
        }


@pytest.fixture(params=RELEASES, ids=[file.stem for file in RELEASES])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A copy, as it lies in a data folder."""
    path = tmp_path / "data" / "oncemore.db"
    path.parent.mkdir(mode=0o700)
    shutil.copyfile(request.param, path)
    path.chmod(0o600)
    yield path


def test_every_table_of_the_first_release_has_records() -> None:
    empty = [table for table, (_, found) in rows(KEPT / "0001.db").items() if not found]
    assert empty == []


def test_the_first_migration_makes_what_it_made_then_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "fresh.db"
    database = pw.SqliteDatabase(path)
    Runner(database, directory=str(MIGRATIONS)).up("0001_first")
    database.close()
    assert schema(path) == schema(KEPT / "0001.db")


def test_everything_is_there_afterwards_and_verifies_and_renders(older: Path) -> None:
    before = rows(older)
    opened = Journal(older)
    try:
        for table, (names, found) in before.items():
            if table not in ("schema_migration", "sqlite_sequence"):
                assert rows(older, {table: names})[table] == (names, found), table
        applied = {row[1] for row in rows(older)["schema_migration"][1]}
        assert applied == {file.stem for file in MIGRATIONS.glob("0*.py")}
        requests = [row.id for row in Request.select()]
        assert [events.verify(request) for request in requests] == [None] * len(requests)
        for one in DecisionPass.select():
            records = journal_records.of_pass(one.id)
            assert records
            for record in records:
                assert explanation.explain(record, "en", "operator") and explanation.explain(record, "zh", "user")
        for request in requests:
            assert timeline(request)["timeline"]
        assert {one.request for one in standings("all", "", opened.now().ms)} == set(requests)
        for text in Text.select():
            assert texts.digest(texts.fetch(text.digest)) == text.digest
    finally:
        opened.close()


def test_an_upgrade_that_breaks_off_leaves_the_journal_as_it_was(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = schema(older)

    def breaks(self: Runner, name: str, *more: Any, **others: Any) -> None:
        whole(self, name, *more, **others)
        raise OSError("the power is gone")

    whole = Runner._run
    monkeypatch.setattr(Runner, "_run", breaks)
    with pytest.raises(JournalRefused, match="the power is gone"):
        Journal(older)
    monkeypatch.undo()
    assert schema(older) == before
    Journal(older).close()
    assert schema(older) != before


def test_a_journal_of_a_newer_release_is_refused(older: Path) -> None:
    Journal(older).close()
    with closing(sqlite3.connect(older)) as database:
        database.execute("insert into schema_migration (name, applied) values ('9999_later', '2030-01-01')")
        database.commit()
    with pytest.raises(JournalRefused, match="newer Oncemore, which knows 9999_later"):
        Journal(older)
