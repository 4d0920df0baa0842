"""What do the rows about Antigravity act on? The executor's world, with a language server on the loopback in it.

The books of the outside are the server's: what was sent to it and what was cancelled at it, and how often it was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import RAW, FakeLanguageServer, Look, planned
from tests.adapters.antigravity.stand import PLANNERS
from tests.engine.executor.world import KEY, Room, World, world

from oncemore.adapters.antigravity.language_server import AntigravityRuntime, Limits
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.antigravity.token import Token
from oncemore.adapters.inbox import Inbox
from oncemore.adapters.wire import Wire
from oncemore.engine import intake
from oncemore.engine.context import Context
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.ports import Runtime, Source

EVERY_PLANNER = {**PLANNERS, "read_only": PLANNERS["workspace_write"]}

STEP = 60_000.0
"""Milliseconds that pass, for the worker that watches, from one look to the next: a Turn that never ends is interrupted
after some fifteen looks, and no test waits for it."""

WORKING = Look([planned("", "GENERATING", stop="")], run="RUNNING")
"""What the message is found by after it was sent; every later look is one of the worker's."""

FINAL = Look([planned("Two parts.")], executors=[("NO_TOOL_CALL", 0)])
"""A complete answer."""


class Killed(BaseException):
    """The process ends here; nothing of it runs any further."""


@dataclass
class Desk:
    """A person's conversation with Antigravity.

    Attributes:
        at: how often the server was asked for the conversation when each crash point was last reached.
        on: told of every crash point; may end the process.
        source: what stands around the Inbox.
        context: of the worker that works now or worked last.
        home: of the runtime; the language server has none.
        hurried: each look is one reading, and time passes by a minute from one to the next; not where a Turn runs on a
            real Codex.
    """

    w: World
    server: FakeLanguageServer
    role: Any = "project"
    home: str = ""
    at: dict[str, int] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)
    on: Callable[[CrashPoint, str], None] = lambda point, about: None
    source: Callable[[Inbox], Source] = lambda inbox: inbox
    context: Context | None = None
    hurried: bool = True

    def ask(self, text: str = "How many parts?", **more: Any) -> str:
        with self.w.house() as house:
            assert house.ports.grants is not None
            grant = house.ports.grants.grant("notes")
            session = intake.open_session(
                house.journal, grant, runtime="antigravity", home=self.home, source="inbox", conversation="desk"
            )
            message = house.inbox.post("desk", "ann", text)
            arrival = intake.Arrival(message=message, sender="ann", text=text, role=self.role, **more)
            return intake.accept(house.journal, session, arrival)

    def work(self, *offsets: int) -> None:
        """A worker of its own for each time of the clock, until nothing is due."""
        for offset in offsets or (self.w.offset,):
            self.w.offset = offset
            with self._worker() as made:
                for _ in range(20):
                    if not made.run_due():
                        break

    def reads(self) -> Look:
        """How the conversation reads now."""
        now = self.server._cascades[self.server.cascades[-1]].looks[-1]
        return Look(now.steps, now.run, now.executors)

    def change(self, how: Callable[[list[RAW]], list[RAW]], run: str = "IDLE") -> None:
        """From now on the conversation reads otherwise: its steps as they would be read, to those that are."""
        before = self.reads()
        self.server.script(Look(how(list(before.steps)), run, before.executors))

    def books(self) -> tuple[int, int]:
        """How many messages were sent, and how many cancellations."""
        return len(self.server.sends), len(self.server.cancels)

    @contextmanager
    def _worker(self) -> Iterator[Any]:
        ticks = [0.0]

        def tick() -> float:
            ticks[0] += STEP
            return ticks[0]

        def reach(point: CrashPoint, about: str) -> None:
            self.at[point] = self.server.calls["GetCascadeTrajectory"]
            self.passed[point] += 1
            self.on(point, about)

        with (
            self.w.worker(
                reach,
                self.source,
                ticks=tick if self.hurried else None,
                slice=0 if self.hurried else 50,
                hard_timeout=900_000 if self.hurried else 20_000,
                observe_again=1_000,
            ) as made,
            self.runtime() as runtime,
        ):
            context = self.context = made._context
            context.ports = replace(
                context.ports,
                runtimes={**context.ports.runtimes, "antigravity": runtime},
                capacity={**context.ports.capacity, "antigravity": Room(self.w)},
            )
            yield made

    @contextmanager
    def runtime(self) -> Iterator[Runtime]:
        """What the worker runs Antigravity by."""
        with Wire([self.server.base_url]) as wire:
            server = LanguageServer(wire, self.server.base_url, Token(environment="LANGUAGE_SERVER_TOKEN"))
            limits = Limits(pause=0.001, looks=5, cancel_seconds=0.2)
            made = AntigravityRuntime(server, EVERY_PLANNER, limits=limits, clock=self.w.now)
            try:
                yield made
            finally:
                made.close()


@contextmanager
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch, *policies: str, **configured: Any) -> Iterator[Desk]:
    """A conversation in an empty folder, with these policies in force."""
    monkeypatch.setenv(KEY, "none")
    with world(folder) as w:
        w.configure(policies=policies, **configured)
        with FakeLanguageServer(w.workspace, clock=w.now) as server:
            monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", server.token)
            yield Desk(w, server, configured.get("role", "project"))


def refusal(call: Callable[[], object], error: type[Exception]) -> str:
    """What an error of this kind says; empty where there was none, for the test to say so itself."""
    try:
        call()
    except error as told:
        return str(told) or error.__name__
    return ""
