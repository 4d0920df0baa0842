"""What is one conversation with the real Codex, among many in one home, for the states to act on?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.stage import Stage
from tests.adapters.states.measured import LOOPS, Measured
from tests.adapters.states.states import Book
from tests.adapters.states.truth import Read, Report, Truth, until

from oncemore.adapters.codex.home import write_config
from oncemore.adapters.codex.reading import rollouts
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.model import (
    Hang,
    ModelRequest,
    Say,
    Script,
    ScriptedModel,
    Shell,
)
from oncemore.engine.ports import NativeTurn


class CodexWorld:
    """One home and one model for many conversations; a state that harms its home gets one of its own."""

    def __init__(self, folder: Path, cleanup: ExitStack, book: Book) -> None:
        self.folder = folder
        self.book = book
        self.cleanup = cleanup
        self.seats: dict[str, Seat] = {}
        cleanup.enter_context(pytest.MonkeyPatch.context()).setenv("MODEL_KEY", "a key for nobody")
        self.model = cleanup.enter_context(ScriptedModel(self._answer))
        self.home = folder / "home"
        write_config(self.home, self.model.base_url, "MODEL_KEY")

    def _answer(self, request: ModelRequest) -> Script:
        seat = self.seats[request.last_user.partition(":")[0]]
        seat.asked.release()
        return seat.script(request)

    @contextmanager
    def provoked(self, name: str) -> Iterator[tuple[Truth, Read]]:
        """See `World.provoked`."""
        with ExitStack() as cleanup:
            seat = Seat(self, f"seat-{len(self.seats)}", cleanup)
            truth, read = self.book.provoked[name](seat)

            def measured() -> Report:
                told = read()
                seat.measure(truth)
                return told

            yield truth, measured


class Seat(Measured, Stage):
    """One conversation in the world."""

    def __init__(self, world: CodexWorld, name: str, cleanup: ExitStack) -> None:
        self.name = name
        self.world = world
        self.home = world.home
        self.model = world.model
        self.folder = world.folder / name
        self.folder.mkdir()
        self.release = threading.Event()
        self.asked = threading.Semaphore(0)
        self.threads = ()
        self.ids = frozenset()
        self.says: Callable[[ModelRequest], Script] = lambda request: Say("an answer")
        self.cleanup = cleanup
        cleanup.callback((self.folder / "stop").touch)
        cleanup.callback(self.release.set)
        self.workspace = self.opened(self.folder)
        self.runtime = self.another()
        self.lived: bool | None = None
        world.seats[name] = self

    def script(self, request: ModelRequest) -> Script:
        return Hang(self.release) if request.last_user.endswith(": hang") else self.says(request)

    def own_home(self, **settings: Any) -> None:
        """Use a home of its own from now on."""
        self.home = self.world.folder / f"{self.name}-home"
        write_config(self.home, settings.pop("base_url", self.model.base_url), "MODEL_KEY", **settings)

    def begin(self, text: str = "do", **options: Any) -> NativeTurn:
        return self.start("request-1", f"{self.name}: {text}", **options)

    def finish(self, text: str = "do", **options: Any) -> NativeTurn:
        native = self.begin(text, **options)
        assert (options.get("runtime") or self.runtime).observe(native, 30).ended
        return native

    def hang(self, **options: Any) -> NativeTurn:
        """Begin a turn in which the model says nothing."""
        native = self.begin("hang", **options)
        assert self.asked.acquire(timeout=30)
        return native

    def in_a_command(self, yield_ms: int = 30_000, **options: Any) -> NativeTurn:
        """Begin a turn in which a command runs until it is told to stop; it has written by then."""
        self.says = lambda request: [Shell(f"cd {self.folder}; {LOOPS}", yield_ms), Say("an answer")]
        native = self.begin(**options)
        until((self.folder / "begun").exists)
        return native

    def request(self, method: str, runtime: CodexRuntime | None = None, **params: Any) -> dict[str, Any]:
        """Ask the process that has the thread loaded, as its person's client would."""
        thread_id = self.threads[-1].thread_id
        owner = (runtime or self.runtime)._processes.named(thread_id)
        assert owner is not None
        answer = owner.connection.request(method, {"threadId": thread_id, **params})
        return dict(answer)

    def log(self) -> Path:
        (path,) = rollouts(self.home, self.threads[-1].thread_id)
        return path
