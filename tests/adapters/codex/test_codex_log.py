"""Does a log that lost anything, or holds anything unknown, still pass for one in which nothing was done?"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.logs import BEGIN, END, THREAD, TURN, Lines, edit, first, records, response, write
from tests.adapters.codex.stage import READ, Stage, values

from oncemore.adapters.codex.log import Logged, read_log
from oncemore.adapters.codex.projection import Place, look_up
from oncemore.adapters.demo.model import Fail, Plan, Say, Shell
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import NativeTurn
from oncemore.rules.case import MISSING


def denied(stage: Stage, last: Say | Fail = Say("done")) -> NativeTurn:  # noqa: B008
    """A turn whose only trace of a denied write is in the log; its process has ended."""
    stage.script = lambda request: [Shell("echo x > denied"), last]
    native, _ = stage.run("request-1", "hello", READ)
    stage.runtime.close()
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "failed"}
    return native


def before_the_call(lines: Lines) -> Lines:
    return lines[: first(lines, "function_call")]


def without_the_call(lines: Lines) -> Lines:
    at = first(lines, "function_call")
    return lines[:at] + lines[at + 1 :]


def without_the_call_and_its_output(lines: Lines) -> Lines:
    at, output = first(lines, "function_call"), first(lines, "function_call_output")
    return lines[:at] + lines[at + 1 : output] + lines[output + 1 :]


def without_the_end(lines: Lines) -> Lines:
    return lines[: first(lines, "task_complete")]


def without_the_first_half(lines: Lines) -> Lines:
    return lines[len(lines) // 2 :]


def without_the_first_line(lines: Lines) -> Lines:
    return lines[1:]


def without_the_middle(lines: Lines) -> Lines:
    return lines[:3] + lines[-3:]


def without_the_second_half(lines: Lines) -> Lines:
    return lines[: len(lines) // 2]


def renumbered_without_the_call(lines: Lines) -> Lines:
    kept = [json.loads(line) for line in without_the_call_and_its_output(lines)]
    return [json.dumps({**record, "ordinal": at}).encode() + b"\n" for at, record in enumerate(kept)]


def empty(lines: Lines) -> Lines:
    return []


@pytest.mark.parametrize(
    "cut",
    [
        before_the_call,
        without_the_call,
        without_the_call_and_its_output,
        without_the_end,
        without_the_first_half,
        without_the_first_line,
        without_the_middle,
        without_the_second_half,
        renumbered_without_the_call,
        empty,
    ],
)
def test_a_log_that_lost_records_never_says_that_nothing_was_done(stage: Stage, cut: Callable[[Lines], Lines]) -> None:
    native = denied(stage)
    edit(stage.home, cut)
    inventory = stage.inventory("request-1", native)
    effects, alone = (inventory.readings.get(f"native.{name}", MISSING) for name in ("effects", "user_only"))
    assert effects.status != "known" or effects.value == "failed"
    assert alone.status != "known" or alone.value is False


def test_a_usage_limit_whose_denied_write_was_cut_off_is_not_the_user_message_alone(stage: Stage) -> None:
    native = denied(stage, Fail("usage_limit"))
    edit(stage.home, before_the_call)
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "effects", "user_only") == {"effects": "reported", "user_only": "reported"}
    evidence = inventory.readings["native.effects"].evidence
    assert evidence is not None and "does not hold the end" in evidence.details["why"]


def test_a_cut_log_is_not_healed_by_the_turn_after_it(stage: Stage) -> None:
    native = denied(stage)
    edit(stage.home, before_the_call)
    stage.run("request-2", "more", READ)
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "reported"}


def test_a_log_that_ends_in_the_middle_of_a_line_leaves_the_effects_unknown(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.runtime.close()
    edit(stage.home, lambda lines: [*lines, b'{"type":"response_it'])
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "reported"}


def test_a_second_log_of_the_thread_leaves_the_effects_unknown(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.runtime.close()
    (log,) = (stage.home / "sessions").rglob("*.jsonl")
    log.with_suffix(".old.jsonl").write_bytes(log.read_bytes())
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "reported"}


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("response_item", {"type": "teleportation"}),
        ("event_msg", {"type": "teleported"}),
        ("teleport_record", {"to": "there"}),
    ],
)
def test_a_kind_of_record_that_is_not_known_leaves_the_effects_unknown(
    stage: Stage, kind: str, payload: dict[str, Any]
) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.run("request-2", "more")
    stage.runtime.close()
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "none"}

    def replace_a_harmless_one(lines: Lines) -> Lines:
        at = first(lines, "token_count")
        record = {**json.loads(lines[at]), "type": kind, "payload": payload}
        text = json.dumps(record).encode()
        return [*lines[:at], text.ljust(len(lines[at]) - 1) + b"\n", *lines[at + 1 :]]

    edit(stage.home, replace_a_harmless_one)
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "effects") == {"effects": "reported"}
    evidence = inventory.readings["native.effects"].evidence
    assert evidence is not None and "teleport" in evidence.details["why"]


@pytest.mark.parametrize("last", [Say("done"), Fail("usage_limit"), Fail("http500"), Fail("incomplete")])
def test_whatever_a_turn_ends_with_its_log_is_whole(stage: Stage, last: Say | Fail) -> None:
    stage.script = lambda request: [Plan(), last]
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "effects") == {"effects": "none"}


def test_an_interrupted_turn_has_a_whole_log_and_one_whose_process_was_killed_has_none(stage: Stage) -> None:
    interrupted = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    stage.runtime.cancel(interrupted)
    killed = stage.start("request-2", "hang")
    assert stage.model.wait_for_calls(2)
    stage.kill(stage.runtime)
    stage.load()
    assert values(stage.inventory("request-1", interrupted), "effects", "user_only") == {
        "effects": "none",
        "user_only": True,
    }
    assert values(stage.inventory("request-2", killed), "effects", "user_only") == {
        "effects": "reported",
        "user_only": "reported",
    }


def test_the_index_of_codex_says_where_a_turn_begins_and_ends(stage: Stage) -> None:
    stage.run("request-1", "hello")
    native, _ = stage.run("request-2", "more")
    stage.runtime.close()
    (log,) = (stage.home / "sessions").rglob("*.jsonl")
    place = look_up(stage.home, native.thread_id, native.turn_id)
    assert place is not None and place.begin is not None and place.end == log.stat().st_size
    assert log.read_bytes()[place.begin :].startswith(b"{")
    assert look_up(stage.home, native.thread_id, "another") is None


def test_an_index_that_cannot_be_read_is_unreadable_and_one_of_another_form_says_nothing(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "thread_history_9.sqlite") as index:
        index.execute("create table thread_turns (thread_id text, turn_id text)")
    index.close()
    assert look_up(tmp_path, THREAD, "t1") is None
    (tmp_path / "thread_history_2.sqlite").write_bytes(
        b"this is no database, and long enough to be told from an empty one"
    )
    with pytest.raises(Unreadable, match="thread_history_2"):
        look_up(tmp_path, THREAD, "t1")


def said(folder: Path, log: list[dict[str, Any]], place: Place | None = None, **turn: Any) -> str | None:
    return read_log(write(folder, log), THREAD, {**TURN, **turn}, place).problem


def completed(kind: str, name: str) -> dict[str, Any]:
    return {
        "type": "event_msg",
        "payload": {"type": "item_completed", "turn_id": "t1", "item": {"type": kind, "id": name}},
    }


def test_a_whole_log_has_no_problem(tmp_path: Path) -> None:
    log = records(
        completed("CommandExecution", "i"), response({"type": "function_call", "name": "shell", "call_id": "i"})
    )
    assert said(tmp_path, log, items=[{"type": "commandExecution", "id": "i"}]) is None


OUTPUT = response({"type": "function_call_output", "call_id": "c"})
OTHER = {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t2"}}


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        (records()[1:], "does not begin"),
        ([{"type": "session_meta", "payload": {"id": "0190-other"}}, BEGIN, END], "does not begin"),
        (records()[:-1], "the end"),
        ([records()[0], END], "wrong place"),
        ([records()[0], OTHER], "the beginning"),
        (records(BEGIN), "twice"),
        (records(END), "wrong place"),
        (records({"ordinal": 7, **response({"type": "message"})}), "lacks the record 2"),
        (records({"ordinal": None, **response({"type": "message"})}), "lacks the record 2"),
        (records(OUTPUT), "but not the call"),
        (records(completed("CommandExecution", "i")), "does not list"),
        (records({"type": "event_msg", "payload": {"type": "item_completed", "item": "none"}}), "that is none"),
        (records({"type": "event_msg"}), "no record"),
        ([*records(), {"type": "new_record", "payload": {"turn_id": "t1"}}], "new_record"),
        ([*records(), {"type": "new_record", "payload": {}}], "new_record"),
        (records({"type": "new_record", "payload": {"turn_id": "t2"}}), "new_record"),
        ([*records(), OTHER, {"type": "new_record", "payload": {}}], None),
    ],
)
def test_what_is_missing_or_not_known_is_named(tmp_path: Path, log: list[dict[str, Any]], problem: str | None) -> None:
    found = said(tmp_path, log)
    assert found is None if problem is None else problem in str(found)


def test_an_item_that_is_listed_must_be_in_the_log(tmp_path: Path) -> None:
    assert "lacks an item" in str(said(tmp_path, records(), items=[{"type": "agentMessage", "id": "m"}]))


def test_the_turn_must_stand_where_the_index_says(tmp_path: Path) -> None:
    size = write(tmp_path, records()).stat().st_size
    begin = len(json.dumps({"ordinal": 0, **records()[0]})) + 1
    assert said(tmp_path, records(), Place(begin, size)) is None
    assert said(tmp_path, records(), Place(None, None)) is None
    assert "elsewhere" in str(said(tmp_path, records(), Place(begin, size + 1)))
    assert "elsewhere" in str(said(tmp_path, records(), Place(begin + 1, size)))


def test_calls_of_other_turns_do_not_count_wherever_they_stand(tmp_path: Path) -> None:
    named = {"internal_chat_message_metadata_passthrough": {"turn_id": "t1"}}
    call = {"type": "function_call", "name": "shell", "call_id": "c"}
    log = write(tmp_path, [*records(), OTHER, response(call), response({**call, "call_id": "d", **named})])
    assert [call.call_id for call in read_log(log, THREAD, TURN).calls] == ["d"]


def test_calls_are_kept_though_the_log_is_cut(tmp_path: Path) -> None:
    log = records(response({"type": "function_call", "name": "shell", "call_id": "c"}))[:-1]
    read = read_log(write(tmp_path, log), THREAD, TURN)
    assert [call.name for call in read.calls] == ["shell"]
    assert read.problem is not None


def test_a_missing_log_is_a_problem(tmp_path: Path) -> None:
    read = read_log(tmp_path / "nowhere.jsonl", THREAD, TURN)
    assert read == Logged((), "the thread's log cannot be read: No such file or directory")
