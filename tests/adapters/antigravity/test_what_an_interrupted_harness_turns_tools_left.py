"""What the real harness stored of a turn's tools is read back, and is material where the turn broke off behind them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.stand import values
from tests.adapters.antigravity.workbench import READ, SHELL, WRITE, Workbench

from oncemore.adapters.antigravity import store
from oncemore.adapters.demo.model import Call, Fail, Hang, ModelRequest, Say, Script, Shell
from oncemore.engine import canonical
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import Inventory, NativeTurn, Profile, TurnView

pytest.importorskip("websockets")

ASKED = "Which harbours do the notes name?"
KINDS = ("material.kind", "material.segment", "material.identity")
CLOSED = dict(zip(KINDS, ("visible_results", "closed", "matched"), strict=True))


class Interrupted(Workbench):
    """A bench with notes in its folder, whose turns ask for tools and then get no further."""

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        super().__init__(folder, cleanup)
        (self.folder / "notes.md").write_text("Lisbon\nGenoa\n")
        (self.folder / "more").mkdir()
        (self.folder / "more" / "notes.txt").write_text("Antwerp\n")
        self.says: list[Call | Shell | Fail | Say] = []
        self.began = 0

    def script(self, request: ModelRequest) -> Script:
        return [*self.says]

    def turn(self, *says: Call | Shell | Fail | Say, profile: Profile = READ) -> NativeTurn:
        """A turn that does this; it has ended."""
        self.says = list(says)
        self.began = _now()
        native, seen = self.run("request-1", ASKED, profile)
        assert seen.ended
        return native

    def view(self, native: NativeTurn) -> TurnView:
        digest = canonical.digest(ASKED.encode())
        return TurnView("request-1", native, digest, started_at=self.began, ended_at=_now())

    def read(self, native: NativeTurn) -> Inventory:
        return self.runtime.inventory(self.session, self.view(native))

    def handed(self, native: NativeTurn) -> list[dict[str, Any]]:
        left = self.runtime.material(self.session, self.view(native))
        assert set(left) == {"visible_results"}
        return [json.loads(line) for line in left["visible_results"].split("\n")]

    def edit(self, native: NativeTurn, statement: str, *parameters: object) -> None:
        with closing(sqlite3.connect(store.path_of(self.home, native.thread_id))) as database, database:
            database.execute(statement, parameters)


def _now() -> int:
    return time.time_ns() // 1_000_000


def call(name: str, **asked: object) -> Call:
    return Call(name, {**asked, "toolAction": "Looking", "toolSummary": "A look"})


def view(path: Path, **lines: int) -> Call:
    return call("view_file", AbsolutePath=str(path), **lines)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Interrupted]:
    with ExitStack() as cleanup:
        yield Interrupted(tmp_path, cleanup)


def test_what_each_reading_tool_gave_is_left_of_a_turn_that_its_model_failed(bench: Interrupted) -> None:
    folder = str(bench.folder)
    native = bench.turn(
        view(bench.folder / "notes.md"),
        view(bench.folder / "notes.md", StartLine=2, EndLine=2),
        call("list_dir", DirectoryPath=folder),
        call("grep_search", SearchPath=folder, Query="Antwerp", IsRegex=False, MatchPerLine=True),
        call("find_by_name", SearchDirectory=folder, Pattern="*.txt"),
        Fail("http500"),
    )
    told = bench.read(native)
    assert values(told.readings, *CLOSED) == CLOSED
    assert values(told.readings, "material.tool_calls", "native.normal_final") == {
        "material.tool_calls": 5,
        "native.normal_final": False,
    }
    notes, uri = (bench.folder / "notes.md").as_uri(), bench.folder.as_uri()
    assert bench.handed(native) == [
        {"tool": "view_file", "file": notes, "from_line": 0, "to_line": 2, "result": "Lisbon\nGenoa\n"},
        {"tool": "view_file", "file": notes, "from_line": 1, "to_line": 1, "result": "Genoa"},
        {"tool": "list_directory", "folder": uri, "result": "more/\nnotes.md"},
        {"tool": "grep_search", "words": "Antwerp", "folder": uri, "result": "./more/notes.txt:1:Antwerp\n"},
        {"tool": "find", "pattern": "*.txt", "folder": folder, "result": "more/notes.txt"},
    ]


def test_what_a_command_put_out_is_left_with_its_exit_code(bench: Interrupted) -> None:
    native = bench.turn(Shell("echo said; exit 3"), Fail("http500"), profile=SHELL)
    assert values(bench.read(native).readings, *CLOSED) == CLOSED
    (line,) = bench.handed(native)
    assert (line["tool"], line["exit_code"], line["result"]) == ("run_command", 3, "said\r\n")
    assert line["command"] == "echo said; exit 3"


def test_a_file_that_was_written_is_a_call_and_no_result(bench: Interrupted) -> None:
    about = {"TargetFile": str(bench.folder / "new.md"), "CodeContent": "kept\n", "Overwrite": False}
    native = bench.turn(
        view(bench.folder / "notes.md"),
        call("write_to_file", **about, Description="a note"),
        Fail("http500"),
        profile=WRITE,
    )
    assert bench.read(native).readings["material.tool_calls"].value == 2
    assert [line["tool"] for line in bench.handed(native)] == ["view_file"]


@pytest.mark.parametrize(
    "second",
    [
        lambda folder: view(folder / "missing.md"),
        lambda folder: Shell("echo x > written"),
        lambda folder: Call("teleport", {"to": "there"}),
    ],
    ids=["a-file-that-is-not-there", "a-command-not-allowed", "a-tool-that-is-none"],
)
def test_results_beside_a_call_that_failed_are_mixed(
    bench: Interrupted, second: Callable[[Path], Call | Shell]
) -> None:
    native = bench.turn(view(bench.folder / "notes.md"), second(bench.folder), Fail("http500"))
    told = bench.read(native)
    assert values(told.readings, *KINDS) == CLOSED | {"material.segment": "mixed"}
    with pytest.raises(Unreadable, match="not closed"):
        bench.runtime.material(bench.session, bench.view(native))


def test_a_finished_answer_comes_last_and_leaves_no_results(bench: Interrupted) -> None:
    native = bench.turn(view(bench.folder / "notes.md"), Say("Lisbon and Genoa."))
    told = bench.read(native)
    assert values(told.readings, "material.kind", "native.normal_final") == {
        "material.kind": "visible_response",
        "native.normal_final": True,
    }
    with pytest.raises(Unreadable, match="tool calls"):
        bench.runtime.material(bench.session, bench.view(native))


def test_a_turn_that_failed_before_any_tool_leaves_nothing(bench: Interrupted) -> None:
    assert bench.read(bench.turn(Fail("http500"))).readings["material.kind"].value == "none"


def test_results_of_a_turn_that_was_stopped_while_the_model_was_asked_are_left(bench: Interrupted) -> None:
    bench.began = _now()
    asked = [view(bench.folder / "notes.md")]

    def answer(request: ModelRequest) -> Script:
        return Hang(bench.release) if request.tool_results_since_user else asked

    bench.script = answer  # type: ignore[method-assign]
    native = bench.start("request-1", ASKED, READ)
    while not any(step.result for step in store.read(bench.home, native.thread_id)[0]):
        assert not bench.runtime.observe(native, 0.2).ended
    bench.runtime.cancel(native)
    assert bench.runtime.observe(native, 30).status == "interrupted"
    assert values(bench.read(native).readings, *CLOSED) == CLOSED
    assert [line["result"] for line in bench.handed(native)] == ["Lisbon\nGenoa\n"]


def test_a_store_that_lost_a_results_text_leaves_no_result_of_it(bench: Interrupted) -> None:
    native = bench.turn(view(bench.folder / "notes.md"), Fail("http500"))
    bench.runtime.close()
    ((payload,),) = _rows(bench, native, "select step_payload from steps where step_type = 8")
    content = b"\x22\x0dLisbon\nGenoa\n"
    assert payload.count(content) == 1
    # The text's field under a number that nothing reads: as a later version may keep it elsewhere.
    moved = payload.replace(content, b"\x7a\x0dLisbon\nGenoa\n")
    bench.edit(native, "update steps set step_payload = ? where step_type = 8", moved)
    assert bench.read(native).readings["material.kind"].value == "none"


def _rows(bench: Interrupted, native: NativeTurn, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store.path_of(bench.home, native.thread_id))) as database:
        return database.execute(statement).fetchall()
