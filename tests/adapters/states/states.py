"""Which states are provoked, on which runtime, and how is each one held against what the adapter reports?

A state is a function that brings it about at a seat (one conversation, its folder and its script) and tells the truth
of it. What can be measured is measured and not taken on trust: whether the folder changed, and whether a command lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.adapters.states.truth import Read, Truth

RUNTIMES = ("codex", "antigravity harness", "antigravity server (fake)")


class World(Protocol):
    """Where the states of one runtime are provoked."""

    def provoked(self, name: str) -> AbstractContextManager[tuple[Truth, Read]]:
        """A state brought about, until it is left: what is true of it, and how it is read."""


FAILURES = (
    ("usage limit", "usage_limit"),
    ("quota", "quota"),
    ("quota, inside the stream", "sse_quota"),
    ("rate limit", "rate429"),
    ("rate limit, inside the stream", "sse_rate"),
    ("error 500", "http500"),
    ("overload 503", "http503"),
    ("error inside the stream", "server_error"),
    ("wrong key", "http401"),
    ("bad request", "http400"),
    ("context full", "ctx"),
    ("answer cut by its length", "incomplete"),
)
"""Failures of a provider: in words, and as the scripted model knows them."""

NAMES: tuple[str, ...] = (
    "finished",
    "finished after a command",
    "finished after a patch",
    "finished after a plan only",
    "finished, read only",
    "finished with commentary alone",
    "finished with two answers",
    "command failed",
    "command denied",
    "unknown tool called",
    *(f"failed: {words}" for words, _ in FAILURES),
    "failed: connection reset",
    "failed: stream closed early",
    "failed: silence",
    "nobody listens",
    "failed after a denied command",
    "failed after a command that wrote",
    "failed: an error step that is done",
    "failed: call limit",
    "only just started",
    "running here, the model is asked",
    "running here, in a command",
    "running elsewhere, the model is asked",
    "running elsewhere, in a command",
    "running elsewhere, its lock file removed",
    "idle before the model is asked",
    "idle between two steps",
    "an answer is being written",
    "waiting for approval here",
    "waiting for approval elsewhere",
    "waiting for an answer",
    "interrupted by a person, the model was asked",
    "interrupted by a person, in a command",
    "halted, its command lives on",
    "finished, a command of it lives on",
    "cancelled, settled",
    "cancelled, a step still open",
    "message queued before the interrupt, done after it",
    "message queued before the interrupt, running after it",
    "owner closed, the model was asked",
    "owner closed, in a command",
    "killed, the model was asked",
    "killed, in a command",
    "killed, its command lives on",
    "killed, its command ended later",
    "killed after a command, then loaded here",
    "background command alive",
    "background command alive elsewhere",
    "background command ended by itself",
    "background command ended with its owner",
    "background command, owner killed",
    "another turn of ours after it",
    "somebody's turn after it",
    "step appended after its end",
    "two inputs in it",
    "somebody's input in it",
    "loaded, no turn yet",
    "let go, never a turn",
    "steps cleared",
    "unknown step type",
    "unknown run status",
    "read was cut short",
    "two readings differ",
    "store removed",
    "store removed, thread loaded",
    "home replaced",
    "index emptied",
    "log removed",
    "log lost its end",
    "log lost a call",
    "store lost its last step",
    "store is no database",
    "nobody answers",
)
"""Every state, in the order of the table."""

Provoke = Callable[[Any], tuple[Truth, Read]]


class Book:
    """The states that one runtime can be brought into, by name."""

    def __init__(self) -> None:
        self.provoked: dict[str, Provoke] = {}

    def state(self, name: str) -> Callable[[Provoke], Provoke]:
        """Enter a function under a name of the list."""

        def enter(function: Provoke) -> Provoke:
            self.enter(name, function)
            return function

        return enter

    def enter(self, name: str, function: Provoke) -> None:
        """The same for a function that is made."""
        if name not in NAMES or name in self.provoked:
            raise ValueError(f"{name!r} is no state of the list, or is there already")
        self.provoked[name] = function


@contextmanager
def world(runtime: str, folder: Path) -> Iterator[World]:
    """The world of a runtime, made in an empty folder."""
    from tests.adapters.states import codex_world, harness_world, server_states

    made: Callable[[Path, ExitStack, Book], World] = {
        RUNTIMES[0]: codex_world.CodexWorld,
        RUNTIMES[1]: harness_world.HarnessWorld,
        RUNTIMES[2]: server_states.ServerWorld,
    }[runtime]
    with ExitStack() as cleanup:
        yield made(folder, cleanup, book(runtime))


def book(runtime: str) -> Book:
    """The states of a runtime."""
    from tests.adapters.states import codex_states, harness_states, server_states

    return {
        RUNTIMES[0]: codex_states.BOOK,
        RUNTIMES[1]: harness_states.BOOK,
        RUNTIMES[2]: server_states.BOOK,
    }[runtime]
