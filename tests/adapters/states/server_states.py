"""How does each state read at the desktop language server? Scripted on the fake, so its truth is what is scripted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import Look, asked, command, planned, step
from tests.adapters.antigravity.stand import Stand
from tests.adapters.states.states import Book
from tests.adapters.states.truth import Read, Truth, report

from oncemore.engine.ports import NativeTurn

BOOK = Book()
state = BOOK.state

ASKED = asked("please", "request-1")
CALLS = planned("", calls=["call-1"])
DONE = planned("done")
ENDED, CANCELED, ERROR, LIMIT = "NO_TOOL_CALL", "USER_CANCELED", "ERROR", "MAX_INVOCATIONS"
ACTED = Truth(acted="something", answered=True)
GOING = Truth(ended=False)
WORKING = Truth(ended=False, acted="something", runs=True)
Steps = Sequence[Mapping[str, Any]]


class ServerWorld:
    """A server of its own for each state."""

    def __init__(self, folder: Path, cleanup: ExitStack, book: Book) -> None:
        self.folder = folder
        self.book = book
        self._patch = cleanup.enter_context(pytest.MonkeyPatch.context())
        self._number = 0

    @contextmanager
    def provoked(self, name: str) -> Iterator[tuple[Truth, Read]]:
        """See `World.provoked`."""
        self._number += 1
        folder = self.folder / f"seat-{self._number}"
        folder.mkdir()
        with ExitStack() as cleanup:
            stand = Stand(folder, cleanup)
            self._patch.setenv("LANGUAGE_SERVER_TOKEN", stand.server.token)
            yield self.book.provoked[name](stand)


def reading(stand: Stand, native: NativeTurn | None) -> Read:
    """What is reported whenever it is asked for."""
    watched = native or NativeTurn("none", "none")
    return lambda: report(stand.inventory(native), native, lambda: stand.runtime.observe(watched, 0.0))


def _reads(name: str, truth: Truth, steps: Steps, end: str = "", run: str = "IDLE", **options: Any) -> None:
    """A conversation that reads like this: its steps, and why its executor ended, if it did."""

    def provoke(stand: Stand) -> tuple[Truth, Read]:
        executors = [(end, len(steps) - 1)] if end else []
        return truth, reading(stand, stand.reads(Look(steps, run=run, executors=executors, **options)))

    BOOK.enter(name, provoke)


def _failure(prose: str) -> dict[str, Any]:
    return step("ERROR_MESSAGE", errorMessage={"error": {"userErrorMessage": prose}})


PATCHED = step("CODE_ACTION", metadata={"toolCall": {"id": "call-1", "name": "write_to_file"}})
LOOKED = step("VIEW_FILE", metadata={"toolCall": {"id": "call-1", "name": "view_file"}})
REFUSED = step("ERROR_MESSAGE", metadata={"toolCall": {"id": "call-1", "name": "teleport"}})
PERMISSION = command(state="WAITING", requestedInteraction={"permission": {}})
LATER = asked("and then this", execution="later")

_reads("finished", Truth(answered=True), [ASKED, DONE], ENDED)
_reads("finished after a command", ACTED, [ASKED, CALLS, command(), DONE], ENDED)
_reads("finished after a patch", ACTED, [ASKED, CALLS, PATCHED, DONE], ENDED)
_reads("finished after a plan only", Truth(answered=True), [ASKED, step("TASK_BOUNDARY"), DONE], ENDED)
_reads("finished, read only", Truth(answered=True), [ASKED, CALLS, LOOKED, DONE], ENDED)
_reads("command failed", ACTED, [ASKED, CALLS, command(exit_code=7), DONE], ENDED)
TRIED = Truth(acted="tried", answered=True)
_reads("command denied", TRIED, [ASKED, CALLS, command(state="ERROR"), DONE], ENDED)
_reads("unknown tool called", TRIED, [ASKED, CALLS, REFUSED, DONE], ENDED)
_reads("failed: connection reset", Truth(), [ASKED, planned("half", stop="CLIENT_STREAM_ERROR")])
_reads("failed: an error step that is done", Truth(), [ASKED, _failure("usage limit reached")], ERROR)
_reads("failed: call limit", Truth(acted="something"), [ASKED, CALLS, command()], LIMIT)
DENIED_AND_FAILED = [ASKED, CALLS, command(state="ERROR"), _failure("quota")]
_reads("failed after a denied command", Truth(acted="tried"), DENIED_AND_FAILED, ERROR)
WROTE_AND_FAILED = [ASKED, CALLS, command(), _failure("quota")]
_reads("failed after a command that wrote", Truth(acted="something"), WROTE_AND_FAILED, ERROR)
_reads("running here, the model is asked", GOING, [ASKED], run="RUNNING")
_reads("running here, in a command", WORKING, [ASKED, CALLS, command(state="RUNNING")], run="RUNNING")
_reads("idle before the model is asked", GOING, [ASKED])
_reads("idle between two steps", Truth(ended=False, acted="something"), [ASKED, CALLS, command()])
_reads("an answer is being written", GOING, [ASKED, planned("half an", "GENERATING", stop="")])
WAITS = Truth(ended=False, acted="tried", waits=True)
_reads("waiting for approval here", WAITS, [ASKED, CALLS, PERMISSION])
QUESTION = step("ASK_QUESTION", "WAITING", requestedInteraction={"askQuestion": {}})
_reads("waiting for an answer", Truth(ended=False, waits=True), [ASKED, QUESTION])
CANCELLED = [ASKED, CALLS, command(state="CANCELED")]
_reads("cancelled, settled", Truth(acted="something"), CANCELLED, CANCELED)
OPEN = [ASKED, planned("", "GENERATING", stop=""), command(state="CANCELED")]
_reads("cancelled, a step still open", Truth(ended=False, acted="something"), OPEN)
QUEUED = Truth(acted="something", foreign=True)
ANSWERED_LATER = [*CANCELLED, LATER, planned("ok", execution="later")]
_reads("message queued before the interrupt, done after it", QUEUED, ANSWERED_LATER)
_reads("message queued before the interrupt, running after it", QUEUED, [*CANCELLED, LATER], run="RUNNING")
ALIVE = Truth(ended=False, acted="something", runs=True, answered=True)
_reads("background command alive", ALIVE, [ASKED, CALLS, command(state="RUNNING"), DONE])
GROWN = [ASKED, CALLS, command(), DONE, step("SYSTEM_MESSAGE"), planned("and it ended well")]
_reads("background command ended by itself", ACTED, GROWN, ENDED)
_reads("step appended after its end", GOING, [ASKED, DONE, step("SYSTEM_MESSAGE"), planned("and", "GENERATING")])
AFTER = [ASKED, DONE, LATER, planned("yours", execution="later")]
_reads("somebody's turn after it", Truth(answered=True, foreign=True), AFTER)
_reads("somebody's input in it", Truth(answered=True, foreign=True), [ASKED, asked("and this"), DONE], ENDED)
_reads("steps cleared", Truth(acted="something"), [ASKED, CALLS, command(state="CLEARED")], ERROR)
STRANGE = step("TIME_TRAVEL", metadata={"toolCall": {"id": "call-1", "name": "travel"}})
_reads("unknown step type", ACTED, [ASKED, CALLS, STRANGE, DONE], ENDED)
_reads("unknown run status", Truth(ended=False, answered=True), [ASKED, DONE], run="UNLOADED")
PART = Truth(acted="something", answered=True, lost="part")
_reads("read was cut short", PART, [ASKED, CALLS, command(), DONE], total=4, page=2, refuses_pages=True)
_reads("log lost a call", PART, [ASKED, CALLS, {**DONE, "metadata": {**DONE["metadata"], "place": 3}}], ENDED)


@state("only just started")
def just_started(stand: Stand) -> tuple[Truth, Read]:
    return GOING, reading(stand, stand.start())


@state("interrupted by a person, the model was asked")
def interrupted(stand: Stand) -> tuple[Truth, Read]:
    native = stand.reads(Look([ASKED, planned("half", "GENERATING", stop="")], run="RUNNING"))
    stand.runtime.cancel(native)
    return Truth(), reading(stand, native)


@state("interrupted by a person, in a command")
def command_interrupted(stand: Stand) -> tuple[Truth, Read]:
    native = stand.reads(Look([ASKED, CALLS, command(state="RUNNING")], run="RUNNING"))
    stand.runtime.cancel(native)
    return Truth(acted="something"), reading(stand, native)


@state("another turn of ours after it")
def grown(stand: Stand) -> tuple[Truth, Read]:
    stand.ids |= {"request-2"}
    later = [asked("more", "request-2", execution="later"), planned("again", execution="later")]
    return Truth(answered=True), reading(stand, stand.reads(Look([ASKED, DONE, *later])))


@state("two inputs in it")
def two_inputs(stand: Stand) -> tuple[Truth, Read]:
    stand.ids |= {"request-2"}
    return Truth(answered=True), reading(stand, stand.reads(Look([ASKED, asked("more", "request-2"), DONE])))


@state("loaded, no turn yet")
def loaded(stand: Stand) -> tuple[Truth, Read]:
    stand.load()
    return Truth(), reading(stand, None)


@state("two readings differ")
def changing(stand: Stand) -> tuple[Truth, Read]:
    native = stand.reads(Look([ASKED], run="RUNNING"))
    stand.server.script(*(Look([ASKED, *[command(f"call-{one}") for one in range(at)]]) for at in range(9)))
    return Truth(ended=False, acted="something"), reading(stand, native)


@state("store removed")
def store_removed(stand: Stand) -> tuple[Truth, Read]:
    native = stand.reads(Look([ASKED, CALLS, command(), DONE]))
    stand.server._cascades.clear()
    return Truth(acted="something", answered=True, lost="all"), reading(stand, native)


@state("nobody answers")
def silent(stand: Stand) -> tuple[Truth, Read]:
    native = stand.reads(Look([ASKED, CALLS, command(), DONE]))
    stand.server.faults.broken = 1_000
    return Truth(acted="something", answered=True, lost="all"), reading(stand, native)
