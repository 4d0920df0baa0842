"""What has ended stays as it was, whatever is tried on the database."""

from __future__ import annotations

from pathlib import Path

import peewee as pw
import pytest
from tests import postgres
from tests.every_table import ROWS, columns

from oncemore.engine import events, intake
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Workspace
from oncemore.engine.tables import Attempt, Clock, Delivery, Event, Request, Session, StartIntent, Text, Turn, database

pytestmark = postgres.both

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))


@pytest.fixture
def journal(place: Path | str) -> Journal:
    opened = Journal(place, clock=lambda: 1_000_000)
    yield opened
    opened.close()


@pytest.fixture
def request_id(journal: Journal) -> str:
    session = intake.open_session(journal, GRANT, runtime="codex", home="/h", source="inbox", conversation="c")
    return intake.accept(journal, session, intake.Arrival(message="m-1", sender="ann", text="write two parts"))


@pytest.fixture
def ended(journal: Journal, request_id: str) -> str:
    turn = f"{request_id}-business-1"
    Turn.update(status="completed", ended_at=5).where(Turn.id == turn).execute()
    return turn


def said(statement: str, *parameters: object) -> None:
    database.execute_sql(statement.replace("?", database.param), parameters)


def refused(statement: str, *parameters: object) -> str:
    with pytest.raises(pw.IntegrityError) as error:
        said(statement, *parameters)
    return str(error.value)


def on_sqlite() -> bool:
    return isinstance(database.obj, pw.SqliteDatabase)


def not_said_here(statement: str) -> None:
    """Skip what the other database alone has words for."""
    if ("or replace" in statement) != on_sqlite() and ("or replace" in statement or "truncate" in statement):
        pytest.skip("the other database's words")


def test_the_schema_is_what_the_tables_say(journal: Journal) -> None:
    for row in ROWS:
        found = {column.name: column.null for column in database.get_columns(row._meta.table_name)}
        assert set(found) == set(columns(row)), row
    if not on_sqlite():
        return
    sql = [r[0] for r in database.execute_sql("select sql from sqlite_master where type = 'table'").fetchall()]
    ours = [s for s in sql if s and "schema_migration" not in s and "sqlite_" not in s]
    assert all(s.rstrip().endswith("strict") for s in ours)
    assert len(ours) == len(ROWS)


@pytest.mark.parametrize(
    "statement",
    [
        "update turn set status = 'failed' where id = ?",
        "update turn set status = status where id = ?",
        "update turn set ended_at = null where id = ?",
        "delete from turn where id = ?",
        "insert or replace into turn select * from turn where id = ?",
        "insert into turn select * from turn where id = ? on conflict (id) do update set status = 'failed'",
    ],
)
def test_an_ended_turn_refuses(statement: str, ended: str) -> None:
    not_said_here(statement)
    assert "never changes" in refused(statement, ended)


def test_an_open_turn_changes_its_state_but_never_its_input(journal: Journal, request_id: str) -> None:
    Turn.update(status="starting").where(Turn.request == request_id).execute()
    assert "keeps its identity" in refused("update turn set word = 'other'")


@pytest.mark.parametrize(
    "statement",
    [
        "update event set body = '{}'",
        "delete from event",
        "insert or replace into event select * from event where seq = 1",
        "truncate event",
        "truncate request, turn, attempt, event, delivery, decision, decision_pass cascade",
    ],
)
def test_events_are_only_appended(statement: str, request_id: str) -> None:
    not_said_here(statement)
    if "cascade" in statement:
        assert "never changes" in refused(statement) or "only a" in refused(statement)
        return
    assert "only appended" in refused(statement)


def test_a_used_attempt_stays_used(journal: Journal, request_id: str) -> None:
    reserve(request_id, "work", 1)
    Attempt.update(state="withdrawn", open=False, settled_at=9).execute()
    true = "1" if on_sqlite() else "true"
    assert "never changes" in refused(f"update attempt set state = 'reserved', open = {true}, settled_at = null")
    assert "never" in refused("delete from attempt")
    refused("insert or replace into attempt select * from attempt" if on_sqlite() else "truncate attempt")


def test_an_open_attempt_is_never_taken_back(journal: Journal, request_id: str) -> None:
    reserve(request_id, "work", 1)
    assert "never taken back" in refused("delete from attempt")
    assert "keeps its identity" in refused("update attempt set turn = 'x'")


@pytest.mark.parametrize(("kind", "ordinal"), [("work", 2), ("review", 2), ("route", 2), ("quota", 4), ("other", 1)])
def test_the_ledger_allows_no_more_than_its_number(request_id: str, kind: str, ordinal: int) -> None:
    with pytest.raises(pw.IntegrityError):
        reserve(request_id, kind, ordinal)


def test_two_attempts_are_never_open_at_once(journal: Journal, request_id: str) -> None:
    reserve(request_id, "quota", 1)
    with pytest.raises(pw.IntegrityError):
        reserve(request_id, "route", 1)


@pytest.mark.parametrize("first", ["work", "review"])
def test_nothing_follows_work_or_review(journal: Journal, request_id: str, first: str) -> None:
    reserve(request_id, first, 1)
    Attempt.update(state="failed", open=False, settled_at=9).execute()
    with pytest.raises(pw.IntegrityError, match="nothing follows"):
        reserve(request_id, "quota", 1)


def test_a_frozen_text_never_changes_and_a_verified_reply_not_at_all(journal: Journal, request_id: str) -> None:
    Delivery.insert(
        id="d", request=request_id, stage="answer", text_digest="a", text_length=1, state="frozen", frozen_at=1
    ).execute()
    assert "frozen text" in refused("update delivery set text_digest = 'b'")
    Delivery.update(state="verified", verified_at=2).execute()
    assert "never changes" in refused("update delivery set state = 'sent'")
    assert "never changes" in refused("delete from delivery")


def test_an_intent_is_only_added(journal: Journal, ended: str) -> None:
    StartIntent.insert(turn=ended, ordinal=1, host="h", boot="b", pid=1, pid_started=2, held="[]", at=3).execute()
    assert "only added" in refused("update start_intent set pid = 2")
    assert "only added" in refused("delete from start_intent")
    with pytest.raises(pw.IntegrityError):
        StartIntent.insert(turn=ended, ordinal=3, host="h", boot="b", pid=1, pid_started=2, held="[]", at=3).execute()


def test_the_journals_time_never_runs_backwards(journal: Journal) -> None:
    with journal.transaction():
        journal.advance_clock()
    assert Clock.get().last == 1_000_000
    assert "backwards" in refused("update clock set last = 5")


def test_a_text_may_be_dropped_but_not_changed_and_the_chain_stays_whole(journal: Journal, request_id: str) -> None:
    assert "never changed" in refused("update text set body = 'other'")
    Text.update(body=None).execute()
    assert events.verify(request_id) is None


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ('update event set body = \'{"origin":"x"}\' where seq = 2', "event 2 was changed"),
        ("delete from event where seq = 1", "event 1 is missing"),
        ("delete from event where seq = 2", "the chain ends at event 1, the Request knows 2"),
    ],
)
def test_the_chain_shows_what_somebody_did_with_the_triggers_dropped(
    journal: Journal, request_id: str, damage: str, says: str
) -> None:
    assert Event.select().where(Event.request == request_id).count() == 2
    for trigger in ("event_update", "event_delete"):
        said(f"drop trigger {trigger}" + ("" if on_sqlite() else " on event"))
    said(damage)
    assert says in str(events.verify(request_id))


def test_a_whole_chain_is_whole(request_id: str) -> None:
    assert events.verify(request_id) is None
    assert Request.get_by_id(request_id).events == 2


def test_deleting_the_session_of_a_request_is_refused(request_id: str) -> None:
    with pytest.raises(pw.IntegrityError):
        Session.delete().execute()


def reserve(request: str, kind: str, ordinal: int) -> None:
    Attempt.insert(
        request=request,
        kind=kind,
        ordinal=ordinal,
        turn=f"{request}-{kind}-{ordinal}",
        decision="d",
        state="reserved",
        open=True,
        reserved_at=1,
    ).execute()
