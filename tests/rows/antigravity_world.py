"""What do the rows about Antigravity act on? The executor's world, with a language server on the loopback in it.

The books of the outside are the server's: what was sent to it and what was cancelled at it, and how often it was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import RAW, FakeLanguageServer, Look, planned
from tests.adapters.antigravity.stand import PLANNERS
from tests.engine.executor.world import KEY, Room, World, world
from tests.rows.row import Removal

from oncemore.adapters import wiring
from oncemore.adapters.antigravity import reading
from oncemore.adapters.antigravity.conversation import Conversation
from oncemore.adapters.antigravity.language_server import AntigravityRuntime, Limits
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.antigravity.steps import word
from oncemore.adapters.antigravity.token import Token
from oncemore.adapters.configuration import Configuration
from oncemore.adapters.inbox import Inbox
from oncemore.adapters.wire import Wire
from oncemore.engine import intake
from oncemore.engine.context import Context, due
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.ports import NativeTurn, Source
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Session, Turn
from oncemore.rules import floor
from oncemore.rules.loading import load_policies
from oncemore.rules.policy import Gate
from oncemore.rules.shipped import shipped_policies

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
        hurried: each look is one reading, and time passes by a minute from one to the next; not where a Turn runs on a
            real Codex.
    """

    w: World
    server: FakeLanguageServer
    role: Any = "project"
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
                house.journal, grant, runtime="antigravity", home="", source="inbox", conversation="desk"
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
            Wire([self.server.base_url]) as wire,
        ):
            server = LanguageServer(wire, self.server.base_url, Token(environment="LANGUAGE_SERVER_TOKEN"))
            limits = Limits(pause=0.001, looks=5, cancel_seconds=0.2)
            runtime = AntigravityRuntime(server, EVERY_PLANNER, limits=limits, clock=self.w.now)
            context = self.context = made._context
            context.ports = replace(
                context.ports,
                runtimes={**context.ports.runtimes, "antigravity": runtime},
                capacity={**context.ports.capacity, "antigravity": Room(self.w)},
            )
            try:
                yield made
            finally:
                runtime.close()


@contextmanager
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch, *policies: str, **configured: Any) -> Iterator[Desk]:
    """A conversation in an empty folder, with these policies in force."""
    monkeypatch.setenv(KEY, "none")
    with world(folder) as w:
        w.configure(policies=policies, **configured)
        with FakeLanguageServer(w.workspace, clock=w.now) as server:
            monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", server.token)
            yield Desk(w, server, configured.get("role", "project"))


def without(*ids: str) -> Removal:
    """Gates out of the policies and out of the floor, in a worker of this process."""

    def apply(monkeypatch: pytest.MonkeyPatch, _: object) -> None:
        gates_of = floor.floor_gates

        def kept(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
            return tuple(gate for gate in gates if gate.id not in ids)

        def rulebook(configuration: Configuration) -> Rulebook:
            loaded = load_policies([configuration.policies or shipped_policies()])
            policies = tuple(replace(policy, gates=kept(policy.gates)) for policy in loaded.policies)
            return Rulebook(replace(loaded, policies=policies))

        monkeypatch.setattr(floor, "floor_gates", lambda *asked: kept(gates_of(*asked)))
        monkeypatch.setattr(wiring, "rulebook", rulebook)

    named = ", ".join(f"`{one}`" for one in ids)
    return Removal(f"the gate {named}" if len(ids) == 1 else f"the gates {named}", apply)


def switched_off(policy: str) -> Removal:
    """A policy that is not in force."""

    def apply(_: pytest.MonkeyPatch, world: object) -> None:
        assert isinstance(world, World)
        levels = world.folder / "levels.yaml"
        text = levels.read_text()
        assert f"{policy}: enforce" in text
        levels.write_text(text.replace(f"{policy}: enforce", f"{policy}: off"))

    return Removal(f"the policy `{policy}`", apply)


def replaced(says: str, target: str, replacement: object) -> Removal:
    """One function or value of ours, by its dotted name, and what stands in its place."""
    return Removal(says, lambda monkeypatch, _: monkeypatch.setattr(target, replacement))


def the_first_page(server: LanguageServer, cascade: str) -> Any:
    """A reading that stops at the first page, however many steps there are; it stands in for the real one."""
    answer = server.read("GetCascadeTrajectory", {"cascadeId": cascade})
    trajectory = answer["trajectory"]
    run = word(answer.get("status"), "CASCADE_RUN_STATUS_", {})
    return reading._Whole(run, trajectory, trajectory.get("steps", []))


def begun_anew(context: Context, turn: Turn, native: NativeTurn) -> bool:
    """A Turn that was left running is put back into the queue; it stands in for looking at what became of it."""
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        Turn.update(status="queued", started_at=None).where(Turn.id == turn.id).execute()
        Session.update(active_turn=None).where(Session.id == turn.session).execute()
        due(turn.request, now)
    return True


READ, LOOK = reading._read, reading.look


def read_once(server: LanguageServer, cascade_id: str, known: Collection[str]) -> Conversation:
    """One reading instead of two, which agrees with itself; it stands in for a look."""
    told = READ(server, cascade_id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_read", lambda server, cascade_id: told)
        return LOOK(server, cascade_id, known)


def together(says: str, *removals: Removal) -> Removal:
    """One rule that is kept in several places."""

    def apply(monkeypatch: pytest.MonkeyPatch, world: object) -> None:
        for removal in removals:
            removal.apply(monkeypatch, world)

    return Removal(says, apply)


def refusal(call: Callable[[], object], error: type[Exception]) -> str:
    """What an error of this kind says; empty where there was none, for the test to say so itself."""
    try:
        call()
    except error as told:
        return str(told) or error.__name__
    return ""
