"""Do the owner of a Codex thread, a fresh process and the store itself tell one history, and does each change show?

The store is read here without Codex: its index, which must hold all that is listed, and its log, which must have
completed the same items in the same turns. Each reading becomes one digest.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.logs import edit
from tests.adapters.codex.stage import READ, WRITE, Stage, values
from tests.adapters.states.truth import until

from oncemore.adapters.codex.reading import digest, read_history, rollouts
from oncemore.adapters.demo.model import Fail, Patch, Plan, Say, Script, Shell
from oncemore.engine.ports import NativeTurn, Profile

Items = Sequence[Mapping[str, Any]]
PATCH = "*** Begin Patch\n*** Add File: note\n+kept\n*** End Patch"


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("MODEL_KEY", "a key for nobody")
    with ExitStack() as cleanup:
        yield Stage(tmp_path, cleanup)


def worked(stage: Stage) -> NativeTurn:
    """A thread of two turns, the first with a command; the owner stays. The first turn."""
    stage.script = lambda request: [Shell("echo made > made"), Say(f"answer to {request.last_user}")]
    native, _ = stage.run("request-1", "hello")
    stage.run("request-2", "more")
    return native


def listed(turns: Items) -> str:
    """All that Codex tells of turns; the index has no word for how they are listed."""
    names = ("id", "status", "error", "startedAt", "completedAt", "items")
    return digest([turn[name] for name in names] for turn in turns)


def owners(stage: Stage) -> str:
    """As the process reads it that has the thread loaded."""
    owner = stage.runtime._processes.owner(stage.threads[0])
    assert owner is not None
    return listed(read_history(owner.connection, stage.threads[0]).turns)


def fresh(stage: Stage) -> str:
    """As a process reads it that has just been started and loads nothing."""
    with stage.another()._processes.reader(stage.home) as reader:
        history = read_history(reader, stage.threads[0])
    assert history.complete
    return listed(history.turns)


def indexed(stage: Stage) -> str:
    """As the index holds it."""
    return listed(_indexed(stage))


def _indexed(stage: Stage) -> list[dict[str, Any]]:
    (path,) = stage.home.glob("thread_history_*.sqlite")
    columns = "turn_id, status, error_json, started_at, completed_at"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as index:
        turns = index.execute(f"select {columns} from thread_turns order by rollout_ordinal").fetchall()
        items = index.execute("select turn_id, item_json from thread_items order by rollout_ordinal").fetchall()
    return [
        {
            "id": turn_id,
            "status": status,
            "error": json.loads(error) if error else None,
            "startedAt": started,
            "completedAt": completed,
            "items": [json.loads(text) for owner, text in items if owner == turn_id],
        }
        for turn_id, status, error, started, completed in turns
    ]


def spoken(stage: Stage) -> str:
    """The index once more, brought to what the log tells as well: ids, kinds, texts and exit codes."""
    return digest([turn["id"], [_told(item) for item in turn["items"]]] for turn in _indexed(stage))


def logged(stage: Stage) -> str:
    """The same as the log holds it."""
    turns: dict[str, list[object]] = {}
    (path,) = rollouts(stage.home, stage.threads[0].thread_id)
    for line in path.read_text().splitlines():
        event = json.loads(line)["payload"]
        if event.get("type") == "task_started":
            turns[event["turn_id"]] = []
        elif event.get("type") == "item_completed":
            turns[event["turn_id"]].append(_told(event["item"]))
    return digest([turn_id, items] for turn_id, items in turns.items())


def _told(item: Mapping[str, Any]) -> list[object]:
    """An item, whoever tells it: the two spell kinds and names a little differently."""
    kind = str(item["type"])
    said = item.get("text") or "".join(part.get("text", "") for part in item.get("content") or [])
    ours = item.get("clientId", item.get("client_id"))
    return [kind[:1].lower() + kind[1:], item["id"], said, ours, item.get("exitCode", item.get("exit_code"))]


def all_agree(stage: Stage) -> str:
    """The one digest of all that is told, after every reading was held against the others."""
    assert owners(stage) == fresh(stage) == indexed(stage)
    assert spoken(stage) == logged(stage)
    return fresh(stage)


@pytest.mark.parametrize(
    ("script", "profile"),
    [
        (Say("an answer"), WRITE),
        ([Shell("echo made > made"), Say("made")], WRITE),
        ([Patch(PATCH), Say("patched")], WRITE),
        ([Plan(), Say("planned")], WRITE),
        ([Shell("echo x > denied"), Say("denied")], READ),
        ([Shell("exit 7"), Say("failed")], WRITE),
        (Fail("usage_limit"), WRITE),
        ([Shell("echo made > made"), Fail("http500")], WRITE),
    ],
    ids=["answer", "command", "patch", "plan", "denied", "failed", "usage limit", "command and failure"],
)
def test_the_owner_a_fresh_process_and_the_store_tell_the_same(stage: Stage, script: Script, profile: Profile) -> None:
    stage.script = lambda request: script
    stage.run("request-1", "hello", profile)
    assert all_agree(stage) == all_agree(stage)


def test_they_tell_the_same_of_a_turn_that_was_interrupted(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    stage.runtime.cancel(native)
    all_agree(stage)


def test_what_is_told_outlives_its_owner_to_the_last_byte(stage: Stage) -> None:
    native = worked(stage)
    before, told = all_agree(stage), stage.inventory("request-1", native)
    stage.runtime.close()
    assert fresh(stage) == indexed(stage) == before
    assert stage.inventory("request-1", native).digest == told.digest
    stage.load()
    assert all_agree(stage) == before
    assert stage.inventory("request-1", native, stage.runtime).digest == told.digest


def test_a_turn_that_is_added_changes_every_reading(stage: Stage) -> None:
    native = worked(stage)
    before, told = all_agree(stage), stage.inventory("request-1", native)
    stage.run("request-3", "and this")
    assert all_agree(stage) != before
    assert stage.inventory("request-1", native).digest != told.digest


def test_an_item_that_is_appended_to_an_ended_turn_changes_every_reading(stage: Stage) -> None:
    wait = "echo begun > begun; while [ ! -e stop ]; do sleep 0.05; done"
    stage.script = lambda request: [Shell(wait, yield_ms=250), Say("it runs")]
    native, seen = stage.run("request-1", "hello")
    assert seen.ended
    before, told = all_agree(stage), stage.inventory("request-1", native)
    (stage.folder / "stop").touch()
    until(lambda: stage.inventory("request-1", native).readings["native.background"].value == "none")
    until(lambda: len(_indexed(stage)[0]["items"]) == 3)
    after = stage.inventory("request-1", native)
    assert all_agree(stage) != before
    assert after.digest != told.digest
    assert (values(told, "steps"), values(after, "steps")) == ({"steps": 2}, {"steps": 3})


def change(stage: Stage, statement: str, *given: object) -> None:
    """Change one row of the index."""
    (path,) = stage.home.glob("thread_history_*.sqlite")
    with closing(sqlite3.connect(path)) as index, index:
        assert index.execute(statement, given).rowcount == 1


def other_text(stage: Stage, native: NativeTurn) -> None:
    change(
        stage,
        "update thread_items set item_json = replace(item_json, 'answer to hello', 'answer to nobody')"
        " where turn_id = ? and item_type = 'agentMessage'",
        native.turn_id,
    )


def other_question(stage: Stage, native: NativeTurn) -> None:
    change(
        stage,
        "update thread_items set item_json = replace(item_json, 'hello', 'goodbye')"
        " where turn_id = ? and item_type = 'userMessage'",
        native.turn_id,
    )


def one_item_less(stage: Stage, native: NativeTurn) -> None:
    change(stage, "delete from thread_items where turn_id = ? and item_type = 'commandExecution'", native.turn_id)


def one_item_more(stage: Stage, native: NativeTurn) -> None:
    change(
        stage,
        "insert into thread_items (thread_id, turn_id, item_id, rollout_ordinal, created_at_ms, item_json, item_type)"
        " select thread_id, turn_id, 'more', 900, created_at_ms, replace(item_json, item_id, 'more'), item_type"
        " from thread_items where turn_id = ? and item_type = 'agentMessage'",
        native.turn_id,
    )


def other_status(stage: Stage, native: NativeTurn) -> None:
    change(stage, "update thread_turns set status = 'failed' where turn_id = ?", native.turn_id)


def other_end(stage: Stage, native: NativeTurn) -> None:
    change(stage, "update thread_turns set completed_at = completed_at + 60 where turn_id = ?", native.turn_id)


@pytest.mark.parametrize(
    "changed",
    [other_text, other_question, one_item_less, one_item_more, other_status, other_end],
    ids=lambda f: f.__name__,
)
def test_a_change_of_the_index_changes_what_is_told_and_the_log_bears_witness(
    stage: Stage, changed: Callable[[Stage, NativeTurn], None]
) -> None:
    native = worked(stage)
    before, told, log = all_agree(stage), stage.inventory("request-1", native), logged(stage)
    stage.runtime.close()
    changed(stage, native)
    assert fresh(stage) == indexed(stage) != before
    assert stage.inventory("request-1", native).digest != told.digest
    assert logged(stage) == log
    assert (spoken(stage) == log) == (changed in (other_status, other_end))


def test_a_text_that_was_changed_in_the_log_alone_shows_beside_the_index(stage: Stage) -> None:
    worked(stage)
    before = all_agree(stage)
    stage.runtime.close()
    edit(stage.home, lambda lines: [line.replace(b"answer to hello", b"answer to jello") for line in lines])
    assert fresh(stage) == indexed(stage) == before
    assert logged(stage) != spoken(stage)


def test_an_owner_that_reads_otherwise_than_a_fresh_process_makes_the_reading_a_changing_one(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    assert owners(stage) != fresh(stage)
    inventory = stage.inventory("request-1", native)
    assert not inventory.complete
    assert values(inventory, "read") == {"read": "changing"}
