"""Is any state, brought about for real, reported as what it is not, and does the page say what is reported?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.adapters.states import table
from tests.adapters.states.states import NAMES, RUNTIMES, World, book, world
from tests.adapters.states.truth import Report, Truth, lies, strays, until

pytest.importorskip("websockets")

PROVOKED = [(runtime, name) for runtime in RUNTIMES for name in NAMES if name in book(runtime).provoked]


class Worlds:
    """One world per runtime, made when it is first needed."""

    def __init__(self, cleanup: ExitStack, folders: pytest.TempPathFactory) -> None:
        self._cleanup = cleanup
        self._base = folders
        self._made: dict[str, World] = {}
        self.folders: list[Path] = []

    def of(self, runtime: str) -> World:
        if runtime not in self._made:
            folder = self._base.mktemp("states")
            self.folders.append(folder)
            self._made[runtime] = self._cleanup.enter_context(world(runtime, folder))
        return self._made[runtime]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with ExitStack() as cleanup:
        made = Worlds(cleanup, tmp_path_factory)
        yield made
    until(lambda: not any(strays(folder) for folder in made.folders))


@pytest.mark.parametrize(("runtime", "name"), PROVOKED, ids=[f"{runtime}: {name}" for runtime, name in PROVOKED])
def test_a_state_is_reported_truly_and_as_the_page_says(worlds: Worlds, runtime: str, name: str) -> None:
    wanted = table.committed().get((runtime, name))
    with worlds.of(runtime).provoked(name) as (truth, read):

        def held(told: Report) -> None:
            assert lies(truth, told) == []
            assert not told.facts.keys() & table.UNSUPPLIED[runtime]

        assert table.settle((runtime, name), truth, read, wanted, held) == wanted


def test_the_page_lists_every_state_on_every_runtime_and_nothing_else() -> None:
    assert table.PATH.read_text() == table.document(table.committed())
    assert set(table.committed()) == set(PROVOKED)


def test_every_state_of_the_list_is_brought_about_somewhere() -> None:
    assert {name for _, name in PROVOKED} == set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


TRUE = {
    "run_state": "idle",
    "end_evidence": "recorded",
    "effects": "none",
    "normal_final": True,
    "coverage": "complete",
}


@pytest.mark.parametrize(
    ("truth", "facts", "proven"),
    [
        (Truth(ended=False), {}, True),
        (Truth(ended=False), {"run_state": "idle", "end_evidence": "recorded"}, False),
        (Truth(acted="tried"), {"effects": "none"}, True),
        (Truth(acted="something"), {"user_only": True}, True),
        (Truth(runs=True), {"effects": "settled"}, True),
        (Truth(runs=True), {"background": "none", "run_state": "idle"}, True),
        (Truth(), {"normal_final": True}, True),
        (Truth(ended=False, waits=True), {"pending": "none"}, False),
        (Truth(foreign=True), {"foreign_input": False}, True),
        (Truth(lost="all"), {"coverage": "complete"}, True),
        (Truth(lost="part"), {"coverage": "complete", "effects": "settled"}, True),
        (
            Truth(ended=False),
            {
                "coverage": "complete",
                "foreign_input": False,
                "pending": "none",
                "run_state": "idle",
                "last_step": "canceled",
                "steps_ended": True,
                "normal_final": False,
            },
            False,
        ),
    ],
)
def test_each_kind_of_lie_is_found_alone(truth: Truth, facts: dict[str, object], proven: bool) -> None:
    assert len(lies(truth, Report(facts, proven, complete=False, listed=True))) == 1


def test_a_whole_history_without_a_turn_that_it_holds_is_a_lie() -> None:
    assert lies(Truth(), Report({"status": "completed"}, False, complete=True, listed=False))
    assert lies(Truth(lost="all"), Report({}, False, complete=True, listed=False))


def test_what_is_true_or_unknown_is_no_lie() -> None:
    assert lies(Truth(answered=True), Report(TRUE, True, complete=True, listed=True)) == []
    unknown = dict.fromkeys(("run_state", "end_evidence", "effects", "user_only", "background", "pending"))
    worst = Truth(False, "something", runs=True, waits=True, foreign=True, lost="all")
    assert lies(worst, Report(unknown, False, complete=False, listed=False)) == []
