"""Does it really work? The first recovery from the person's message to the second answer, run and checked here.

Everything is real but the model: the Codex app-server, its threads and its sandbox, the journal, the rules, the clock.
The model follows a script on the loopback, so that no account and no network is needed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.adapters.codex import binary
from oncemore.adapters.codex.processes import Processes, Settings
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo import proof, script
from oncemore.adapters.demo.model import ScriptedModel
from oncemore.adapters.demo.place import KEY, POLICY, WORKSPACE, Place, furnish, taken
from oncemore.adapters.demo.telling import Teller, clock
from oncemore.engine import executor
from oncemore.engine.errors import OncemoreError, Unreadable
from oncemore.engine.explanation import explain
from oncemore.engine.journal_records import of_decision
from oncemore.engine.tables import Attempt, Decision, Delivery, Request, Turn
from oncemore.engine.worker import Worker
from oncemore.rules.errors import RulesError

LIMIT_SECONDS = 110
"""A demo that has not come to its end by then never will."""

FIRST, SECOND = script.PARTS


def run(folder: Path, say: Callable[[str], None], *, codex: Path | None = None) -> int:
    """Play the story in a folder and say what happened; the folder stays for looking further.

    Args:
        folder: new, empty, or an earlier demo's, which is emptied.
        say: is given the lines, one or several at a time.
        codex: the Codex program; None for the one that comes with the extra.

    Returns:
        0 when everything was as told, 1 when something was not; then the last lines say what.
    """
    try:
        program = None if codex is None else codex.absolute()
        _try_program(program)
        with taken(folder) as place, _key(), ScriptedModel(script.answer) as model:
            furnish(place, model.base_url, program)
            say(f"The demo of Oncemore, in {place.folder}")
            say(f"Codex, a real one: {binary.find(program)}")
            say(f"Its model: a script on {model.url}; no account and no network is used.")
            return _Story(place, model, say, program).play()
    except (OncemoreError, RulesError) as error:
        say(f"The demo could not be played: {error}")
        return 1


class _Story:
    def __init__(self, place: Place, model: ScriptedModel, say: Callable[[str], None], program: Path | None) -> None:
        self._place = place
        self._model = model
        self._say = say
        self._program = program
        self._deadline = time.monotonic() + LIMIT_SECONDS
        self._failed: list[str] = []
        self._threads: list[str] = []

    def play(self) -> int:
        with wiring.opened(self._place.file, worker=True) as house:
            self._title("A person asks for two parts; the source of the second is not there")
            request = house.ask(WORKSPACE, script.MESSAGE)
            runtime = house.ports.runtimes["codex"]
            assert isinstance(runtime, CodexRuntime)
            teller = Teller(request, runtime, self._say)
            context = wiring.context(house, wiring.rulebook(house.configuration), teller.checkpoint)
            worker = Worker(context)
            self._work(worker, teller, until=lambda: _waits(request))
            before = self._first_part(request)
            if before is not None:
                self._wait(request)
                self._work(worker, teller, until=lambda: False)
                self._second_part(request, teller, before)
        if before is not None:
            self._again(request)
            self._readback(request)
        return self._end(request)

    def _work(self, worker: Worker, teller: Teller, until: Callable[[], bool]) -> None:
        """Let the worker work until then, or until nothing is due by itself any more."""
        while not until() and time.monotonic() < self._deadline:
            worker.run_due()
            teller.tell()
            upcoming = worker.next_due()
            if upcoming is None or until():
                return
            time.sleep(max(0.0, min(upcoming / 1000 - time.time(), self._deadline - time.monotonic())))

    def _first_part(self, request: str) -> tuple[proof.Artifact, str] | None:
        """The first part's file and the first Turn's digest, if the story came so far."""
        first = proof.Artifact.read(self._place.part(FIRST))
        self._check(_waits(request), f"{POLICY} waits at its gate backoff")
        written = first is not None and self._place.is_whole(FIRST) and not self._place.part(SECOND).exists()
        self._check(written, f"{FIRST} is written, {SECOND} is not")
        self._check(_delivered(request) == ["answer"], "the partial answer reached the person")
        if first is None or self._failed:
            return None
        self._tell_file(FIRST, first)
        return first, proof.turn_digest(_turn(request, "business"))

    def _wait(self, request: str) -> None:
        self._title("It waits")
        until = Decision.select(Decision.until).where(Decision.request == request, Decision.outcome == "wait").scalar()
        self._say(
            f"  gate backoff of {POLICY} holds it back until {clock(until)}; the worker sleeps, on the real clock."
        )
        self._place.bring_source(SECOND)
        self._say(f"  meanwhile the source of {SECOND} comes back. Nobody tells Codex or Oncemore.")
        self._title("It is taken up, once")

    def _second_part(self, request: str, teller: Teller, before: tuple[proof.Artifact, str]) -> None:
        second = proof.Artifact.read(self._place.part(SECOND))
        if second is not None:
            self._tell_file(SECOND, second)
        self._title("What is true afterwards")
        decisions = list(Decision.select().where(Decision.request == request))
        waited = max(one.until or one.at for one in decisions if one.outcome == "wait")
        fired = [one.at for one in decisions if one.outcome == "fire"]
        attempts = list(Attempt.select().where(Attempt.request == request))
        self._check(bool(fired) and min(fired) >= waited, "it fired, and not before the time was over")
        self._check(self._place.is_whole(SECOND), f"{SECOND} is written")
        self._check(
            len(attempts) == 1 and attempts[0].state == "answered", "one try was reserved and used, and it answered"
        )
        self._check(_delivered(request) == ["answer", "recovery:work-1"], "both answers reached the person")
        self._check(Request.get_by_id(request).state == "answered", "the Request is answered")
        after = proof.Artifact.read(self._place.part(FIRST))
        self._check(after == before[0], f"{FIRST} was not touched: the same bytes, inode {before[0].inode} and time")
        digest = proof.turn_digest(_turn(request, "business"))
        self._check(digest == before[1], f"the first Turn's row is the same, {digest[:23]}…")
        pids = teller.processes
        self._check(
            len(set(pids.values())) == 2,
            f"two Codex processes ran it, one after the other: {' and '.join(map(str, pids.values()))}",
        )

    def _again(self, request: str) -> None:
        """A further pass, as after a restart of the worker: the journal is opened anew."""
        with wiring.opened(self._place.file, worker=True) as house:
            context = wiring.context(house, wiring.rulebook(house.configuration))
            before = (proof.happened(request), len(proof.book(self._model.url)), self._files())
            due = Worker(context).run_due()
            executor.advance(context, request)
            after = (proof.happened(request), len(proof.book(self._model.url)), self._files())
        self._check(
            due == 0 and before == after,
            "a further pass after a restart of the worker did nothing: no event, no Turn, no call, no file",
        )

    def _readback(self, request: str) -> None:
        """What Codex's own store and the model's book say."""
        with wiring.opened(self._place.file):
            threads = {row.native_thread for row in Turn.select().where(Turn.request == request)}
            turns = Turn.select().where(Turn.request == request).count()
        self._threads = sorted(map(str, threads))
        self._check(len(threads) == 1 and None not in threads, "both Turns ran in one Codex thread")
        for thread in self._threads:
            count = proof.native_turns(self._place.home, thread, self._program)
            what = f"exactly 2 turns stand in Codex's own store of it, as another process counts: {count}"
            self._check(count == turns == 2, what)
        calls = proof.book(self._model.url)
        own = sum(script.is_continuation(call["last_user"]) for call in calls)
        self._check(
            len(calls) == 6 and own == 3,
            f"the model was called 6 times: {len(calls) - own} for the message, {own} for the continuation",
        )

    def _files(self) -> Mapping[str, proof.Artifact | None]:
        return {part: proof.Artifact.read(self._place.part(part)) for part in script.PARTS}

    def _end(self, request: str) -> int:
        with wiring.opened(self._place.file):
            fired = Attempt.select(Attempt.decision).where(Attempt.request == request).scalar()
            held = Request.get_by_id(request).held
            newest = (
                Decision.select(Decision.id).where(Decision.request == request).order_by(Decision.at.desc()).scalar()
            )
            decision = fired or newest
            if decision is not None:
                self._title("Why it was decided so")
                self._say(explain(of_decision(decision)).rstrip("\n"))
        self._title("To look further")
        home = shlex.quote(str(self._place.folder))
        self._say(f"  {_program()} show --home {home} {request}")
        if decision is not None:
            self._say(f"  {_program()} explain --home {home} {decision}")
        if self._program is None:
            for thread in self._threads:
                self._say(f"  {shlex.join(proof.count_command(self._place.home, thread, None))}")
        if not self._failed:
            return 0
        self._title("Not everything was as it should be")
        for what in self._failed:
            self._say(f"  this is not so: {what}")
        if held is not None:
            self._say(f"  the Request is held: {held}")
        calls = proof.book(self._model.url)
        if calls and calls[-1]["tool_results"]:
            self._say(f"  the last command said: {calls[-1]['tool_results'][-1].strip()[:500]}")
        return 1

    def _tell_file(self, name: str, file: proof.Artifact) -> None:
        self._say(
            f"  {name}: written {clock(file.modified // 1_000_000)}, {file.size} bytes, inode {file.inode}, "
            f"SHA-256 {file.content[:16]}…"
        )

    def _check(self, holds: bool, what: str) -> None:
        self._say(f"  {'yes' if holds else 'NO '}  {what}")
        if not holds:
            self._failed.append(what)

    def _title(self, text: str) -> None:
        self._say(f"\n{text}")


def _waits(request: str) -> bool:
    found = Decision.select().where(
        Decision.request == request, Decision.outcome == "wait", Decision.reason_gate == "backoff"
    )
    return bool(found.exists())


def _delivered(request: str) -> list[str]:
    rows = Delivery.select().where(Delivery.request == request, Delivery.state == "verified")
    return [row.stage for row in rows.order_by(Delivery.frozen_at)]


def _turn(request: str, phase: str) -> str:
    return str(Turn.get(Turn.request == request, Turn.phase == phase).id)


def _try_program(program: Path | None) -> None:
    """Start the program once, apart, before a folder is made.

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
def _key() -> Iterator[None]:
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


def _program() -> str:
    """How this very program is called again."""
    on_path = shutil.which("oncemore")
    called = Path(sys.argv[0])
    if called.name != "oncemore":
        called = Path(sys.executable).with_name("oncemore")
    if on_path is not None and (not called.exists() or Path(on_path).samefile(called)):
        return "oncemore"
    return shlex.quote(str(called))
