"""What is true of a provoked state, and which reported facts would be a lie about it?

A lie is a fact on which a wrong action could be taken: an end that is none, effects that are said to be none, an answer
that is no answer, a history that is said to be whole. To say less than is true is no lie.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal

from oncemore.engine.errors import PortError
from oncemore.engine.ports import Inventory

FACTS = (
    "status",
    "error",
    "run_state",
    "live_owner",
    "end_evidence",
    "effects",
    "background",
    "pending",
    "user_only",
    "normal_final",
    "last_step",
    "steps_ended",
    "user_inputs",
    "foreign_input",
    "unknown_items",
    "turn_bound",
    "latest",
    "read",
    "coverage",
)
"""The facts that are held against the truth, in the order of the table."""


@dataclass(frozen=True)
class Truth:
    """What is true of the turn at the moment of reading.

    Attributes:
        ended: nothing of it will be asked or said any more, whatever its commands do.
        acted: whether it did anything, or at least tried to and was denied.
        runs: a command of it still runs.
        answered: the last thing in it is an answer that the model said to its end.
        waits: it waits for a person.
        foreign: it, or the conversation after it, holds an input that nobody here sent.
        lost: how much of what was stored of it is gone or cannot be read.
    """

    ended: bool = True
    acted: Literal["nothing", "tried", "something"] = "nothing"
    runs: bool = False
    answered: bool = False
    waits: bool = False
    foreign: bool = False
    lost: Literal["nothing", "part", "all"] = "nothing"

    def told(self) -> str:
        """In words, for the table."""
        words = ["ended" if self.ended else "may go on"]
        words += {"nothing": [], "tried": ["tried to act"], "something": ["acted"]}[self.acted]
        words += ["a command runs"] if self.runs else []
        words += ["answered"] if self.answered else []
        words += ["waits for a person"] if self.waits else []
        words += ["foreign input"] if self.foreign else []
        words += {"nothing": [], "part": ["part of it lost"], "all": ["lost"]}[self.lost]
        return ", ".join(words)


@dataclass(frozen=True)
class Report:
    """What an adapter says of the turn.

    Attributes:
        facts: by short name: a value, None where it is reported as unknown; a fact that is not supplied is absent.
        proven: its end was taken for proven: the inventory carries it, or watching the turn tells it.
        complete: a turn that is not listed is taken not to exist.
        listed: the turn is listed.
    """

    facts: Mapping[str, object]
    proven: bool
    complete: bool
    listed: bool

    def cell(self, name: str) -> str:
        """A fact in the table."""
        if name not in self.facts:
            return ""
        value = self.facts[name]
        return "?" if value is None else _word(value) if isinstance(value, bool) else str(value)

    def conclusions(self) -> tuple[str, str]:
        """Whether the end was taken for proven, and the history for whole."""
        return _word(self.proven), _word(self.complete)


def _word(value: bool) -> str:
    return "yes" if value else "no"


Read = Callable[[], Report]
"""What is reported of a turn, read anew by each call."""


def report(inventory: Inventory, native: object, observe: Callable[[], Any]) -> Report:
    """What an inventory says, and what watching the turn says beside it."""
    facts = {
        name: reading.value if reading.status == "known" else None
        for name in FACTS
        if (reading := inventory.readings.get(f"native.{name}")) is not None and reading.status != "missing"
    }
    proven = inventory.observation is not None and inventory.observation.ended
    with contextlib.suppress(PortError):  # where it cannot be watched from here, the inventory alone speaks
        proven = bool(observe().ended) or proven
    return Report(facts, proven, inventory.complete, any(record.native == native for record in inventory.turns))


SETTLED: Mapping[str, object] = {
    "coverage": "complete",
    "foreign_input": False,
    "pending": "none",
    "run_state": "idle",
    "last_step": "canceled",
    "steps_ended": True,
    "normal_final": False,
}
"""On these facts a policy takes a running turn for cancelled."""


def lies(truth: Truth, told: Report) -> list[str]:
    """What the report says wrongly, in sentences; empty when it holds."""
    fact = told.facts.get
    found: list[str] = []
    if not truth.ended:
        if told.proven:
            found.append("an end was taken for proven, and the turn may go on")
        if fact("run_state") == "idle" and fact("end_evidence") == "recorded":
            found.append("it is told as idle with a recorded end, and the turn may go on")
        if SETTLED.items() <= dict(told.facts).items():
            found.append("it is told as a settled cancellation, and the turn may go on")
    if truth.acted != "nothing":
        if fact("effects") == "none":
            found.append("effects are told as none, and it acted or tried to")
        if fact("user_only") is True:
            found.append("it is told to hold the message alone, and it acted or tried to")
    if truth.runs:
        if fact("background") == "none" and fact("run_state") == "idle":
            found.append("nothing is told to run, and a command runs")
        if fact("effects") in ("none", "settled"):
            found.append("effects are told as settled, and a command runs")
    if fact("normal_final") is True and not truth.answered:
        found.append("an answer is told as final, and there is none")
    if truth.waits and fact("pending") == "none":
        found.append("nothing is told as pending, and it waits for a person")
    if truth.foreign and fact("foreign_input") is False:
        found.append("no input is told as foreign, and one is")
    if truth.lost == "all" and (fact("coverage") == "complete" or (told.complete and not told.listed)):
        found.append("the history is told as complete, and the turn is gone from it")
    if truth.lost == "part" and fact("coverage") == "complete" and fact("effects") in ("none", "settled"):
        found.append("the history is told as complete with known effects, and part of it is gone")
    if truth.lost == "nothing" and told.complete and not told.listed and fact("status") != "absent":
        found.append("the history is told as complete without a turn that it holds")
    return found


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something holds; it is an error when it does not within the seconds given."""
    tick = Event()
    for _ in range(int(seconds / 0.02)):
        if holds():
            return
        tick.wait(0.02)
    raise AssertionError("what was waited for did not come")


def living(folder: Path) -> bool:
    """Whether some process runs whose command names the folder. Asked of the kernel, not of any runtime."""
    return _named(folder, "cmdline")


def strays(folder: Path) -> bool:
    """Whether some process runs whose command or environment names the folder, such as a runtime with a home in it."""
    return _named(folder, "cmdline", "environ")


def _named(folder: Path, *files: str) -> bool:
    wanted = str(folder).encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.name != str(os.getpid()) and any(wanted in (process / file).read_bytes() for file in files):
                return True
        except OSError:
            continue  # it ended meanwhile
    return False
