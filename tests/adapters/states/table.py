"""How is the table of provoked states written, and what does the committed one say?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event

from tests.adapters.states.states import NAMES, RUNTIMES, book
from tests.adapters.states.truth import FACTS, Read, Report, Truth

PATH = Path(__file__).resolve().parents[3] / "docs" / "native-states.md"

UNSUPPLIED: Mapping[str, frozenset[str]] = {
    RUNTIMES[0]: frozenset({"last_step", "steps_ended"}),
    RUNTIMES[1]: frozenset({"live_owner"}),
    RUNTIMES[2]: frozenset({"live_owner"}),
}
"""Facts that a runtime never supplies: they have no column in its table."""

VARYING: Mapping[tuple[str, str], frozenset[str]] = {
    (RUNTIMES[0], "only just started"): frozenset(
        {"effects", "user_only", "user_inputs", "foreign_input", "turn_bound", "read"}
    ),
    # A denied command mostly has no item, and has one where its process lived long enough.
    (RUNTIMES[0], "log lost its end"): frozenset({"effects", "user_only"}),
    (RUNTIMES[0], "log lost a call"): frozenset({"effects", "user_only"}),
    # A halt may come before or after the first word of the answer, and the end before or after a command's last state.
    (RUNTIMES[1], "interrupted by a person, the model was asked"): frozenset({"user_only"}),
    (RUNTIMES[1], "owner closed, the model was asked"): frozenset({"user_only"}),
    (RUNTIMES[1], "background command ended with its owner"): frozenset({"steps_ended"}),
}
"""Facts that depend on what the runtime has stored by the moment of reading; any of them may be told."""

INTRODUCTION = """\
# Native states, and what is reported of them

Every state below was brought about on the runtime itself, and read through its adapter: on the Codex program over a
scripted model, on Antigravity's harness over the same, and on a fake of Antigravity's desktop language server, where
the state is scripted. The tests bring all of them about again and compare each row; what is *true* of a state they know
from how it was made, and measure where they can (whether the folder changed, whether a command lives).

No report may say that a turn ended which may go on, that nothing was done when something was done or tried, that an
answer is final when it is none, that nothing is pending while a person is waited for, that no input is foreign when one
is, or that a history is whole when some of it is lost. To say less than is true is allowed, and shows here as `?`.
A row shows what is told once the state has settled; what is told before, on a busy machine, is held to the same.

- `?`: reported as unknown; empty: not supplied; `-`: cannot be brought about on this runtime by these tests.
- `varies`: depends on what the runtime had stored by then; what it must not say is tested all the same.
- *here* and *elsewhere*: the process that runs the turn belongs to the reader, or to somebody else.
- *end proven*: the end was taken for proven, by the inventory or by watching the turn.
- *whole*: a turn that is not listed counts as one that does not exist.

One thing no reader of Codex can know: a writer lock that somebody removed by hand while its process runs reads like an
orderly end, so the thread is told as idle. A turn without a recorded end is not taken for ended even then.

`python -m tests.adapters.states`, in a checkout, writes this page anew.
"""


def columns(runtime: str) -> list[str]:
    """The facts that a runtime's table shows."""
    return [name for name in FACTS if name not in UNSUPPLIED[runtime]]


def line(runtime: str, name: str, truth: Truth, told: Report) -> str:
    """One row."""
    varying = VARYING.get((runtime, name), frozenset())
    facts = ["varies" if fact in varying else told.cell(fact) for fact in columns(runtime)]
    return _row([name, truth.told(), *facts, *told.conclusions()])


READINGS = 60
"""How often a state is read at most until it reads as the page says."""


def settle(key: tuple[str, str], truth: Truth, read: Read, wanted: str | None, held: Callable[[Report], None]) -> str:
    """The row of a state by runtime and name, once it reads as wanted; else as it was read last.

    What a runtime stores comes a little after what it did, later on a busy machine. So the row may take a while to be
    told; but no reading on the way there may tell what is not so: each one is given to `held`.
    """
    tick = Event()
    row = ""
    for _ in range(READINGS):
        told = read()
        held(told)
        row = line(*key, truth, told)
        if row == wanted:
            break
        tick.wait(0.05)
    return row


def document(lines: Mapping[tuple[str, str], str]) -> str:
    """The whole page from its rows; a state without one is listed as not brought about."""
    parts = [INTRODUCTION]
    for runtime in RUNTIMES:
        head = ["state", "truth", *columns(runtime), "end proven", "whole"]
        rows = [lines.get((runtime, name)) or _row([name, *"-" * (len(head) - 1)]) for name in NAMES]
        parts.append(
            "\n".join([f"## {runtime[:1].upper()}{runtime[1:]}", "", _row(head), _row(["---"] * len(head)), *rows, ""])
        )
    return "\n".join(parts)


def committed() -> dict[tuple[str, str], str]:
    """The rows of the committed page, by runtime and state; those of states that are not brought about are left out."""
    found: dict[tuple[str, str], str] = {}
    runtime = ""
    for text in PATH.read_text().splitlines() if PATH.exists() else []:
        if text.startswith("## "):
            runtime = next(one for one in RUNTIMES if one.lower() == text[3:].lower())
        name = text.removeprefix("| ").partition(" |")[0]
        if text.startswith("| ") and name in NAMES and name in book(runtime).provoked:
            found[runtime, name] = text
    return found


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")
