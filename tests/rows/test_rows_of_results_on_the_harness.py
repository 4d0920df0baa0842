"""Rows V on the real Antigravity harness: what its tools gave back before its model failed is reviewed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import FakeLanguageServer
from tests.engine.executor.world import KEY, world
from tests.rows.antigravity_world import Desk
from tests.rows.interrupted_world import ANSWER, HOUR, MATERIAL, MINUTE, RESULTS, REVIEW, handed, reviewed
from tests.rows.removals import guard, without_policy
from tests.rows.row import row

from oncemore.adapters.antigravity.harness import HarnessRuntime
from oncemore.adapters.demo.chat import ChatModel
from oncemore.adapters.demo.model import Call, Fail, ModelRequest, Say, Script
from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.ports import Runtime

pytest.importorskip("websockets")

ON = "real Antigravity harness, real Codex"
NOTES = "one.md\ntwo.md\n"


@dataclass
class Bench(Desk):
    """A steward's conversation with the harness, over a scripted chat model.

    Attributes:
        says: what that model says to whatever it is asked.
    """

    chat: ChatModel | None = None
    says: list[Any] = field(default_factory=list)

    @contextmanager
    def runtime(self) -> Iterator[Runtime]:
        assert self.chat is not None
        made = HarnessRuntime("scripted", self.chat.base_url, clock=self.w.now)
        try:
            yield made
        finally:
            made.close()

    @property
    def store(self) -> Path:
        (path,) = Path(self.home, "save").glob("*.db")
        return path

    def steps(self, kind: int) -> list[Any]:
        """The steps of a kind in the harness's own store, read by nobody's code but sqlite's."""
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as store:
            asked = "select idx, status, step_payload from steps where step_type = ? order by idx"
            return store.execute(asked, (kind,)).fetchall()


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Bench]:
    monkeypatch.setenv(KEY, "none")
    with world(tmp_path) as w, FakeLanguageServer(w.workspace) as nobody:
        w.configure(policies=(REVIEW, RESULTS), level="portfolio_read", role="steward")
        w.model.capacity = "available"
        made = Bench(w, nobody, role="steward", home=str(tmp_path / "antigravity"), hurried=False)

        def script(request: ModelRequest) -> Script:
            return [*made.says]

        with ChatModel(script) as chat:
            made.chat = chat
            (w.workspace / "notes.md").write_text(NOTES)
            reviewed(made, Say(ANSWER))
            taken_out(w)
            yield made


def view(d: Bench, name: str = "notes.md") -> Call:
    about = {"toolAction": "Looking", "toolSummary": "A look"}
    return Call("view_file", {"AbsolutePath": str(d.w.workspace / name), **about})


def failed(d: Bench, *says: Any) -> str:
    """A question at which the harness's model does this, and is then broken."""
    d.says = [*says, Fail("http500")]
    request = d.ask()
    d.work(0)
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"], turn["has_reply"]) == ("failed", "runtime_error", 0)
    return request


def held(d: Bench, request: str) -> None:
    """No review, and nothing more said into the harness, whatever time goes by."""
    before = d.w.first_turn(request)
    d.work(2 * MINUTE, HOUR)
    assert d.w.model.calls == 0
    assert d.w.replies() == [prompts.FAILED["en"]]
    assert d.w.first_turn(request) == before
    assert len(d.steps(14)) == 1


@row(
    "V1",
    "What a real harness's tools gave back before its model failed is reviewed once, beside the failed Turn.",
    on=ON,
    removed=without_policy(RESULTS),
)
def test_V01_results_of_the_real_harness_are_reviewed_once(d: Bench) -> None:
    request = failed(d, view(d))
    before, files, steps = d.w.first_turn(request), sorted(d.w.workspace.iterdir()), d.steps(8)
    d.work(2 * MINUTE, HOUR)
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    about = {"file": (d.w.workspace / "notes.md").as_uri(), "from_line": 0, "to_line": 2}
    assert [json.loads(left) for left in handed(d)] == [{"tool": "view_file", **about, "result": NOTES}]
    assert d.w.first_turn(request) == before
    assert (d.steps(8), len(d.steps(14)), sorted(d.w.workspace.iterdir())) == (steps, 1, files)
    assert d.w.row("select state from request") == {"state": "answered"}
    assert d.w.row("select kind, state from attempt") == {"kind": "review", "state": "answered"}
    assert len(d.w.rows("select * from turn")) == 2


@row(
    "V7",
    "Results of a real harness beside a file that could not be viewed are mixed, and are not reviewed.",
    on=ON,
    removed=guard(f"{MATERIAL}.segment", lambda one, terms: "closed", "asking whether the segment is closed"),
)
def test_V07_results_beside_a_view_that_failed_are_not_reviewed(d: Bench) -> None:
    held(d, failed(d, view(d), view(d, "missing.md")))
    assert d.w.row("select held from request")["held"] == f"{RESULTS}: segment-closed"


@row(
    "V16",
    "When a result in a real harness's store changes behind the reservation, no model is started.",
    on=ON,
    removed=guard(
        "oncemore.engine.inputs.material_stands",
        lambda context, request, text: True,
        "comparing what the review was handed with what the runtime holds",
    ),
)
def test_V16_a_result_that_changes_in_the_store_starts_no_model(d: Bench) -> None:
    request = failed(d, view(d))

    def change(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_ENQUEUE:
            ((index, _, payload),) = d.steps(8)
            with closing(sqlite3.connect(d.store)) as store, store:
                changed = payload.replace(b"two.md", b"six.md")
                store.execute("update steps set step_payload = ? where idx = ?", (changed, index))

    d.on = change
    held(d, request)
    assert d.passed[CrashPoint.AFTER_ENQUEUE] == 1
    assert d.w.row("select state from attempt")["state"] == "withdrawn"
