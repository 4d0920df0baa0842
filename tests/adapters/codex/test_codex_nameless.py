"""A turn may be stored before its user message: is it listed without a name, and never before all of it was read?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from tests.adapters.codex.logs import Lines, edit, first
from tests.adapters.codex.stage import Stage, values

from oncemore.engine.ports import NativeTurn


def killed(stage: Stage, keep: Callable[[Lines], Lines], index: bool) -> NativeTurn:
    """A turn whose process was killed while it ran, and what was stored of it by then.

    Args:
        index: whether Codex's index still knows what the log once held.
    """
    other = stage.another()
    native = stage.start("request-1", "hang", runtime=other)
    assert stage.model.wait_for_calls(1)
    stage.kill(other)
    edit(stage.home, keep)
    if not index:
        with sqlite3.connect(stage.home / "thread_history_1.sqlite") as database:
            for table in ("thread_turns", "thread_items", "thread_history_projection_state"):
                database.execute(f"delete from {table}")
        database.close()
    return native


def up_to_the_beginning(lines: Lines) -> Lines:
    return lines[: first(lines, "task_started") + 1]


def everything(lines: Lines) -> Lines:
    return lines


def test_a_turn_that_was_stored_before_its_message_has_no_name_and_ended_once_the_thread_is_ours(stage: Stage) -> None:
    native = killed(stage, up_to_the_beginning, index=False)
    stage.load()
    inventory = stage.inventory("request-1")
    assert inventory.complete
    (record,) = inventory.turns
    assert (record.native, record.client_ids, record.status, record.ended_at) == (native, (), "interrupted", None)
    assert inventory.under("request-1") == ()
    seen = stage.inventory("request-1", native)
    assert seen.observation is not None and (seen.observation.status, seen.observation.ended) == ("interrupted", True)
    wanted = {"turn_bound": False, "effects": "reported", "user_only": False, "foreign_input": False}
    assert values(seen, *wanted) == wanted


@pytest.mark.parametrize("keep", [up_to_the_beginning, everything])
def test_a_turn_that_only_the_log_holds_is_not_proven_absent(stage: Stage, keep: Callable[[Lines], Lines]) -> None:
    native = killed(stage, keep, index=False)
    before = stage.inventory("request-1")
    assert not before.complete
    assert values(before, "coverage", "read") == {"coverage": "partial", "read": "unreadable"}
    evidence = before.readings["native.read"].evidence
    assert evidence is not None and "does not list yet" in evidence.details["why"]
    stage.load()
    after = stage.inventory("request-1")
    assert after.complete
    assert [record.native for record in after.turns] == [native]


def test_a_message_that_only_the_log_holds_is_read_once_the_thread_is_ours(stage: Stage) -> None:
    native = killed(stage, everything, index=True)
    with sqlite3.connect(stage.home / "thread_history_1.sqlite") as database:
        database.execute("delete from thread_items")
    database.close()
    inventory = stage.inventory("request-1", native)
    assert [record.client_ids for record in inventory.turns] == [()]
    assert not inventory.complete
    assert values(inventory, "read") == {"read": "unreadable"}


def test_killed_at_any_moment_a_turn_is_listed_at_most_once_and_absent_only_where_no_log_holds_it(stage: Stage) -> None:
    stage.run("request-0", "hello")
    stage.runtime.close()
    for number in range(1, 7):
        other, client_id = stage.another(), f"request-{number}"
        native = stage.start(client_id, "hang", runtime=other)
        stage.kill(other)
        assert not stage.load()
        inventory = stage.inventory(client_id, native)
        listed = [record.client_ids for record in inventory.turns if record.native == native]
        assert inventory.complete
        assert listed in ([], [()], [(client_id,)])
        (log,) = (stage.home / "sessions").rglob("*.jsonl")
        assert bool(listed) == (native.turn_id in log.read_text())
        assert stage.runtime.release(stage.session)


def test_a_turn_without_a_message_in_another_process_may_still_grow(stage: Stage) -> None:
    other = stage.another()
    native = stage.start("request-1", "hang", runtime=other)
    assert stage.model.wait_for_calls(1)
    with sqlite3.connect(stage.home / "thread_history_1.sqlite") as database:
        database.execute("delete from thread_items")
    database.close()
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "live_owner", "status") == {"live_owner": "other", "status": "reported"}
    assert [(record.client_ids, record.status) for record in inventory.turns] == [((), "in_progress")]
    assert not inventory.complete
    assert inventory.observation is None
