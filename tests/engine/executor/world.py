"""A folder with a workspace, a real Codex home, a scripted model and a journal: everything but the worker.

Workers are processes of their own, so that they can be killed; what the outside holds is counted without them: Codex's
turns by a further process, replies straight from the database file, model calls in the model's own book.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any, cast

import psycopg
from psycopg.rows import dict_row
from tests.adapters.folders import opened
from tests.engine.executor.worker_process import WorkerProcess

from oncemore.adapters import wiring
from oncemore.adapters.codex import count
from oncemore.adapters.codex.home import write_config
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.model import Hang, ModelRequest, Say, Script, ScriptedModel, Shell
from oncemore.adapters.inbox import Inbox
from oncemore.engine.crashpoints import Checkpoint, unobserved
from oncemore.engine.ports import Profile, SessionView, Source, Thread
from oncemore.engine.postgres import is_url
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.worker import Worker
from oncemore.rules.case import Evidence, Reading
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = [policy.name for policy in load_policies([shipped_policies()]).policies]
KEY = "ONCEMORE_TEST_KEY"
BACKOFF = 61_000
"""How far the clock is put forward for the continuation's backoff of a minute to be over."""

ASK = "Write one.md and two.md."
CONTINUES = "one continuation"
"""Words of the continuation's fixed input."""


def reported(request: ModelRequest, remaining: str = "two.md") -> str:
    """The envelope of a report under the word that this request names."""
    match = re.search(r"<oncemore-(\w+)>", request.last_user)
    assert match is not None
    content = {"report": {"completed": "one.md", "remaining": remaining, "effects_settled": True}}
    return f"<oncemore-{match[1]}>{json.dumps(content)}</oncemore-{match[1]}>"


@dataclass
class Plot:
    """What the model does; parts are replaced by the tests."""

    first: Callable[[ModelRequest], Script] = lambda r: [
        Shell("printf one > one.md"),
        Say(f"Part one is written. {reported(r)}"),
    ]
    second: Callable[[ModelRequest], Script] = lambda r: [Shell("printf two > two.md"), Say("Part two is written.")]
    other: Callable[[ModelRequest], Script] = lambda r: Say(f"You said: {r.last_user.splitlines()[0]}")

    def __call__(self, request: ModelRequest) -> Script:
        if CONTINUES in request.last_user:
            return self.second(request)
        return self.first(request) if request.last_user.startswith(ASK) else self.other(request)


@dataclass
class World:
    """See the module.

    Attributes:
        program: of Codex; None takes the real one.
        owner: of the workspace.
        journal: where it stands, as the configuration says it.
        entries: what else stands in the configuration: lines at its `top` and of its `runtimes`, and fields of `notes`.
    """

    folder: Path
    model: ScriptedModel
    plot: Plot
    release: Event
    offset: int = 0
    looks: int = 0
    policies: Path | None = None
    inside: wiring.House | None = None
    program: Path | None = None
    owner: str = "ann"
    journal: str = "data/oncemore.db"
    entries: dict[str, str] = field(default_factory=dict)
    running: list[WorkerProcess] = field(default_factory=list)

    @property
    def configuration(self) -> Path:
        return self.folder / "oncemore.yaml"

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def configure(
        self,
        level: str = "workspace_write",
        revision: int = 1,
        policy_level: str = "enforce",
        role: str = "project",
        policies: tuple[str, ...] = ("continue-unfinished-work",),
    ) -> None:
        levels = {name: policy_level if name in policies else "off" for name in SHIPPED}
        (self.folder / "levels.yaml").write_text("".join(f"{name}: {level}\n" for name, level in levels.items()))
        binary = "" if self.program is None else f"    binary: {self.program}\n"
        capacity = f"{{url: '{self.model.url}/capacity', path: state, available: available, exhausted: exhausted}}"
        notes = f"path: {self.workspace}, owner: {self.owner}, level: {level}, revision: {revision}, role: {role}"
        self.configuration.write_text(
            f"journal: {self.journal}\nlevels: levels.yaml\n"
            f"{'' if self.policies is None else f'policies: {self.policies}' + chr(10)}"
            f"{self.entries.get('top', '')}"
            f"runtimes:\n  codex:\n    home: codex\n    environment: [{KEY}]\n{binary}    capacity: {capacity}\n"
            f"{self.entries.get('runtimes', '').format(capacity=capacity)}"
            "reviews: codex\n"
            f"workspaces:\n  notes: {{{notes}{self.entries.get('notes', '')}}}\n"
        )
        self.configuration.chmod(0o600)

    def use(self, policies: Path) -> None:
        """From now on with these policies; everything else stays as it is configured."""
        line = f"policies: {self.policies}\n"
        text = self.configuration.read_text().replace(line, "")
        self.policies = policies
        self.configuration.write_text(f"policies: {policies}\n{text}")

    def revoke(self) -> None:
        text = self.configuration.read_text()
        self.configuration.write_text(text[: text.index("workspaces:")] + "workspaces: {}\n")

    @contextmanager
    def house(self) -> Iterator[wiring.House]:
        """The journal, as a person's face opens it: beside the worker, or in its process where it runs in ours."""
        if self.inside is not None:
            yield self.inside
            return
        with wiring.opened(self.configuration, clock=self.now) as house:
            yield house

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.offset

    def ask(self, text: str = ASK) -> str:
        with self.house() as house:
            return house.ask("notes", text)

    def work(self, *offsets: int) -> None:
        """A worker of its own process until nothing is due, now or at one offset of the clock after the other."""
        process = self._start(offsets)
        told = process.said()
        assert told == "done", told
        process.join()

    @contextmanager
    def worker(
        self,
        checkpoint: Checkpoint = unobserved,
        source: Callable[[Inbox], Source] = lambda inbox: inbox,
        before_deciding: Callable[[], None] = lambda: None,
        ticks: Callable[[], float] | None = None,
        **settings: int,
    ) -> Iterator[Worker]:
        """A worker in this process, with parts that misbehave around the real ones."""
        with wiring.opened(self.configuration, clock=self.now, worker=True) as house:
            book = _Hesitant(wiring.rulebook(house.configuration), before_deciding)
            context = wiring.context(house, cast(Rulebook, book), checkpoint)
            context.ports = replace(
                context.ports,
                sources={"inbox": source(house.inbox)},
                capacity={"codex": Room(self)},
                reviews=("codex", str(self.folder / "codex")),
            )
            context.settings = replace(context.settings, **settings)
            if ticks is not None:
                context.ticks = ticks
            self.inside = house
            try:
                with Worker(context) as worker:
                    yield worker
            finally:
                self.inside = None

    def work_until(self, point: str, subject: str, *offsets: int, again: int | None = None) -> WorkerProcess:
        """A worker that stands at a crash point, at the last of the offsets; kill it.

        Args:
            again: an offset at which another worker looks once more, where the first one found nothing to do: what a
                real program does not tell in time is read at the next look.
        """
        process = self._start(offsets, point, subject)
        told = process.said()
        if told == "done" and again is not None:
            process = self._start((again,), point, subject)
            told = process.said()
        assert told.startswith(f"at {point}"), told
        return process

    def kill(self, process: WorkerProcess) -> None:
        process.kill()

    def _start(self, offsets: tuple[int, ...], *stop: str) -> WorkerProcess:
        if offsets:
            self.offset = offsets[-1]
        process = WorkerProcess(self.configuration, offsets or (self.offset,), *stop)
        self.running.append(process)
        return process

    def rows(self, sql: str, *parameters: object) -> list[dict[str, Any]]:
        """Straight from the database, by nobody's code but its own."""
        if is_url(self.journal):
            with psycopg.connect(self.journal, row_factory=dict_row) as server:
                said = sql.replace("%", "%%").replace("?", "%s")
                return server.execute(said, parameters).fetchall()  # type: ignore[arg-type]
        connection = sqlite3.connect(f"file:{self.folder / 'data' / 'oncemore.db'}?mode=ro", uri=True)
        try:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, parameters)]
        finally:
            connection.close()

    def row(self, sql: str, *parameters: object) -> dict[str, Any]:
        found = self.rows(sql, *parameters)
        assert len(found) == 1, found
        return found[0]

    def native_turns(self) -> list[dict[str, Any]]:
        """What Codex's own store holds of every thread of ours, read by a process of its own."""
        found = []
        for row in self.rows("select thread from session_thread where runtime = 'codex' order by ordinal"):
            found += count.turns(self.folder / "codex", row["thread"], self.program)
        return found

    def replies(self) -> list[str]:
        """The Source's own book: what stands under people's messages."""
        return [r["body"] for r in self.rows("select body from inbox_reply join text using (digest) order by at, id")]

    def artifact(self, name: str = "one.md") -> tuple[bytes, int, int]:
        path = self.workspace / name
        return path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns

    def first_turn(self, request: str) -> dict[str, Any]:
        return self.row("select * from turn where id = ?", f"{request}-business-1")


class Room:
    """The route's capacity as the scripted model tells it; a reading like any other, and counted."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read(self) -> Reading:
        self._world.looks += 1
        return Reading("known", self._world.model.capacity, Evidence("capacity", self._world.now()))


class _Hesitant:
    """The rulebook, and something that happens between observing and deciding."""

    def __init__(self, rulebook: Rulebook, before: Callable[[], None]) -> None:
        self._rulebook, self._before = rulebook, before

    def __getattr__(self, name: str) -> Any:
        if name == "decide":
            self._before()
        return getattr(self._rulebook, name)


@contextmanager
def world(folder: Path, journal: Path | str = "data/oncemore.db") -> Iterator[World]:
    """A world in an empty folder; every process of it is ended afterwards."""
    folder.chmod(0o755)
    plot, release = Plot(), Event()
    with ScriptedModel(plot) as model:
        made = World(folder, model, plot, release, journal=str(journal))
        made.workspace.mkdir()
        write_config(folder / "codex", model.base_url, KEY)
        made.configure()
        try:
            yield made
        finally:
            release.set()
            for process in made.running:
                process.kill()


def hanging(world: World) -> Callable[[ModelRequest], Script]:
    """A reply that never comes while the world lasts."""
    return lambda request: Hang(world.release, Say("Too late."))


def turn_of_another_program(world: World, text: str = "What did you write?") -> None:
    """Another program of the person's runs a turn of its own in the Session's thread."""
    home, thread = str(world.folder / "codex"), world.rows("select thread from session_thread")[0]["thread"]
    folder = opened(world.workspace)
    view, profile = SessionView("elsewhere", "codex", home, (Thread("codex", home, thread),)), Profile("read_only")
    runtime = CodexRuntime(passed_on=[KEY])
    try:
        runtime.load(view, profile, folder)
        native = runtime.start(view, "not-of-oncemore", text, profile)
        while not runtime.observe(native, 5).ended:
            pass
    finally:
        runtime.close()
        folder.close()
