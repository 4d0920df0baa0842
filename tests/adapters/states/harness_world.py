"""What is one conversation with Antigravity's real harness, among many in one home, for the states to act on?"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tests.adapters.antigravity.workbench import Workbench
from tests.adapters.states.measured import LOOPS, Measured
from tests.adapters.states.states import Book
from tests.adapters.states.truth import Read, Report, Truth, until

from oncemore.adapters.antigravity import store
from oncemore.adapters.demo.chat import ChatModel
from oncemore.adapters.demo.model import Hang, ModelRequest, Say, Script, Shell
from oncemore.engine.ports import NativeTurn


class HarnessWorld:
    """One home and one model for many conversations."""

    def __init__(self, folder: Path, cleanup: ExitStack, book: Book) -> None:
        self.folder = folder
        self.book = book
        self.home = folder / "home"
        self.seats: dict[str, Seat] = {}
        self.model = cleanup.enter_context(ChatModel(self._answer))

    def _answer(self, request: ModelRequest) -> Script:
        # The harness asks again in its own words when a background command ends: the newest input of a person counts.
        named = (text.partition(":")[0] for text in reversed(request.inputs))
        seat = next(self.seats[name] for name in named if name in self.seats)
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


class Seat(Measured, Workbench):
    """One conversation in the world."""

    def __init__(self, world: HarnessWorld, name: str, cleanup: ExitStack) -> None:
        self.name = name
        self.home = world.home
        self.model = world.model
        self.folder = world.folder / name
        self.folder.mkdir()
        self.cleanup = cleanup
        self.release = threading.Event()
        self.asked = threading.Semaphore(0)
        self.threads = ()
        self.ids = frozenset()
        self.says: Callable[[ModelRequest], Script] = lambda request: Say("an answer")
        self.lived: bool | None = None
        cleanup.callback((self.folder / "stop").touch)
        cleanup.callback(self.release.set)
        self.workspace = self.opened(self.folder)
        self.runtime = self.another()
        world.seats[name] = self

    def script(self, request: ModelRequest) -> Script:
        return Hang(self.release) if request.last_user.endswith(": hang") else self.says(request)

    def begin(self, text: str = "do", **options: object) -> NativeTurn:
        return self.start("request-1", f"{self.name}: {text}", **options)  # type: ignore[arg-type]

    def finish(self, text: str = "do", **options: object) -> NativeTurn:
        native = self.begin(text, **options)
        assert self.runtime.observe(native, 30).ended
        return native

    def hang(self) -> NativeTurn:
        """Begin a turn in which the model says nothing."""
        native = self.begin("hang")
        assert self.asked.acquire(timeout=30)
        return native

    def in_a_command(self, yield_ms: int = 10_000, *, leaves: bool = False) -> NativeTurn:
        """Begin a turn in which a command runs until it is told to stop; it has written by then.

        Args:
            leaves: what runs has left the shell that began it; the shell waits for a file `answer`.
        """
        runs = f"cd {self.folder}; {LOOPS}"
        waits = "while [ ! -e answer ] && [ ! -e stop ]; do sleep 0.05; done"
        left = f"setsid sh -c '{runs}' < /dev/null > /dev/null 2>&1 & {waits}"
        self.says = lambda request: [Shell(left if leaves else runs, yield_ms), Say("an answer")]
        native = self.begin()
        until((self.folder / "begun").exists)
        return native

    def say(self, text: str) -> None:
        """Say something into the conversation past Oncemore, as its person would."""
        process = self.runtime._process(self.threads[-1].thread_id)
        assert process is not None
        process.say(f"{self.name}: {text}")

    @property
    def path(self) -> Path:
        return store.path_of(self.home, self.threads[-1].thread_id)

    def edit(self, statement: str) -> None:
        """Change the conversation's store."""
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(statement)
