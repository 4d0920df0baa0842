"""What is built once, or in one go, is to the letter what peewee builds, and it takes other values each time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import peewee as pw
import pytest

from oncemore.engine import levels
from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.journal import Journal
from oncemore.engine.statements import Prepared, Rendering
from oncemore.engine.tables import Bundle, Request, Session, StartIntent, Turn, database

OLDER = Turn.alias("older")

QUERIES: dict[str, Callable[[], Any]] = {
    "rows of a table": lambda: Turn.select().where(Turn.session == "s", Turn.status.in_(("queued", "running"))),
    "an order": lambda: Turn.select(Turn.id).order_by(Turn.ended_at.desc(), Turn.position).limit(1),
    "two tables": lambda: Turn.select(Turn.id).join(StartIntent, on=(StartIntent.turn == Turn.id)),
    "one table twice": lambda: Turn.select(Turn.id, OLDER.id).join(OLDER, on=(OLDER.position < Turn.position)),
    "a query inside": lambda: Request.select().where(Request.id.in_(Turn.select(Turn.request).where(Turn.word == "w"))),
    "a function": lambda: Turn.select(pw.fn.MAX(Turn.position)).where(Turn.has_reply == True),  # noqa: E712
    "a change": lambda: Session.update(fence=Session.fence + 1).where(Session.id == "s").returning(Session),
    "a change by a query": lambda: Request.update(due_at=1).where(Request.id.in_(Turn.select(Turn.request))),
    "a new row": lambda: Bundle.insert(digest="d", body="b").on_conflict_ignore(),
    "a removal": lambda: Turn.delete().where(Turn.error.is_null(False)),
}


@pytest.mark.parametrize("kind", [pw.SqliteDatabase, pw.PostgresqlDatabase])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_columns_in_one_go_say_what_peewee_says(query: Callable[[], Any], kind: Any) -> None:
    quick: Any = type("Quick", (kind,), {"context_class": Rendering})
    usual, ours = (made("never opened").get_sql_context().sql(query()).query() for made in (kind, quick))
    assert ours == usual


def test_a_prepared_query_takes_other_values_each_time(tmp_path: Path) -> None:
    asked = Prepared(
        database, 2, lambda digest, body: Bundle.select(Bundle.body).where(Bundle.digest == digest, Bundle.body == body)
    )
    kept = Prepared(database, 2, lambda digest, body: Bundle.insert(digest=digest, body=body))
    for name in ("first", "second"):  # the same query on another journal
        journal = Journal(tmp_path / name / "journal.db")
        try:
            with journal.transaction():
                kept("a", "one")
                kept("b", "two")
            assert [asked("a", "one"), asked("b", "two"), asked("a", "two")] == [[("one",)], [("two",)], []]
        finally:
            journal.close()


def test_a_row_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db")
    try:
        with journal.transaction():
            Bundle.insert(digest="a", body="one").execute()
        assert Bundle.get_by_id("a").body == "one"
        with pytest.raises(pw.DoesNotExist):
            Bundle.get_by_id("b")
    finally:
        journal.close()


def test_a_level_is_the_newest_change_that_has_not_run_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db")
    try:
        with journal.transaction():
            LevelChange.insert(policy="p", level="shadow", who="w", why="y", at=1).execute()
            LevelChange.insert(policy="q", level="enforce", who="w", why="y", at=1).execute()
            LevelChange.insert(policy="p", level="off", who="w", why="y", at=5, until=9).execute()
        found = [levels.current(["p", "q"], now) for now in (4, 5, 9)]
        assert found == [{"p": level, "q": "enforce"} for level in ("shadow", "off", "shadow")]
    finally:
        journal.close()
