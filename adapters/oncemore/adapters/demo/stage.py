"""What does every story of the demo need to be played, told and checked?

The worker on the real clock, titles, claims that are checked as they are said, and an end that says why it was decided
so and how to look further.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.adapters.codex import binary
from oncemore.adapters.codex.processes import Processes, Settings
from oncemore.adapters.demo import proof
from oncemore.adapters.demo.model import ScriptedModel
from oncemore.adapters.demo.place import KEY, Place
from oncemore.adapters.demo.telling import Say
from oncemore.engine import executor
from oncemore.engine.errors import Unreadable
from oncemore.engine.explanation import explain
from oncemore.engine.journal_records import of_decision
from oncemore.engine.tables import Decision, Request
from oncemore.engine.worker import Worker

LIMIT_SECONDS = 110
"""A demo that has not come to its end by then never will."""


class Stage:
    """Where one story is played.

    Args:
        model: the scripted model, where the story has one.

    Attributes:
        failed: the claims that did not hold.
    """

    def __init__(self, place: Place, say: Say, model: ScriptedModel | None = None) -> None:
        self.place = place
        self.say = say
        self.failed: list[str] = []
        self._model = model
        self._deadline = time.monotonic() + LIMIT_SECONDS

    def title(self, text: str) -> None:
        """Begin a part of the story."""
        self.say(f"\n{text}")

    def check(self, holds: bool, what: str) -> None:
        """Say a claim with whether it holds."""
        self.say(f"  {'yes' if holds else 'NO '}  {what}")
        if not holds:
            self.failed.append(what)

    def work(self, worker: Worker, tell: Callable[[], None], until: Callable[[], bool] = lambda: False) -> None:
        """Let the worker work until then, or until nothing is due by itself any more."""
        while not until() and time.monotonic() < self._deadline:
            worker.run_due()
            tell()
            upcoming = worker.next_due()
            if upcoming is None or until():
                return
            time.sleep(max(0.0, min(upcoming / 1000 - time.time(), self._deadline - time.monotonic())))

    def again(self, request: str, outside: Callable[[], object], *, naming: str) -> None:
        """A further pass, as after a restart of the worker: the journal is opened anew.

        Args:
            outside: what stands outside the journal and must not change either.
            naming: what that is, as it is said: `no call`.
        """
        with wiring.opened(self.place.file, worker=True) as house:
            context = wiring.context(house, wiring.rulebook(house.configuration))
            before = (proof.happened(request), outside())
            due = Worker(context).run_due()
            executor.advance(context, request)
            after = (proof.happened(request), outside())
        self.check(
            due == 0 and before == after,
            f"a further pass after a restart of the worker did nothing: no event, no Turn, {naming}",
        )

    def end(self, request: str, decision: Callable[[], str | None], further: Sequence[str] = ()) -> int:
        """Explain the decision and say how to look further.

        Args:
            decision: reads the id of the decision that is explained; None for the newest one.
            further: commands to look further with, beside Oncemore's own.

        Returns:
            0 when every claim held, else 1; then the last lines say which did not.
        """
        with wiring.opened(self.place.file):
            chosen = decision()
            held = Request.get_by_id(request).held
            newest = (
                Decision.select(Decision.id).where(Decision.request == request).order_by(Decision.at.desc()).scalar()
            )
            chosen = chosen or newest
            if chosen is not None:
                self.title("Why it was decided so")
                self.say(explain(of_decision(chosen)).rstrip("\n"))
        self.title("To look further")
        home = shlex.quote(str(self.place.folder))
        self.say(f"  {called()} show --home {home} {request}")
        if chosen is not None:
            self.say(f"  {called()} explain --home {home} {chosen}")
        for line in further:
            self.say(f"  {line}")
        if not self.failed:
            return 0
        self.title("Not everything was as it should be")
        for what in self.failed:
            self.say(f"  this is not so: {what}")
        if held is not None:
            self.say(f"  the Request is held: {held}")
        calls = proof.book(self._model.url) if self._model is not None else []
        if calls and calls[-1]["tool_results"]:
            self.say(f"  the last command said: {calls[-1]['tool_results'][-1].strip()[:500]}")
        return 1


def try_program(program: Path | None) -> None:
    """Start the Codex program once, apart, before a folder is made.

    Raises:
        Unreadable: it is no Codex; says what to do.
    """
    try:
        with tempfile.TemporaryDirectory() as home, Processes(Settings(binary.find(program))).reader(Path(home)):
            return
    except Unreadable as error:
        said = str(error).removesuffix(binary.ADVICE).strip()
        raise Unreadable(
            f"{said} Run `pip install 'oncemore[codex]'`, which brings the Codex program, or name one of version 0.163 "
            "or later with --codex PATH."
        ) from error


@contextmanager
def key() -> Iterator[None]:
    """The key that Codex wants to have before it asks a provider; the scripted model takes any."""
    before = os.environ.get(KEY)
    os.environ[KEY] = "none"
    try:
        yield
    finally:
        if before is None:
            del os.environ[KEY]
        else:
            os.environ[KEY] = before


def called() -> str:
    """How this very program is called again."""
    on_path = shutil.which("oncemore")
    path = Path(sys.argv[0])
    if path.name != "oncemore":
        path = Path(sys.executable).with_name("oncemore")
    if on_path is not None and (not path.exists() or Path(on_path).samefile(path)):
        return "oncemore"
    return shlex.quote(str(path))
