"""How is unfinished work taken up? One continuation, in the same Codex thread, after a wait.

A person asks for two parts. The source of the second comes only after the first Turn, which says so and ends.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.adapters.codex import binary
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo import proof, script
from oncemore.adapters.demo.model import ScriptedModel
from oncemore.adapters.demo.place import POLICY, WORKSPACE, Place, furnish
from oncemore.adapters.demo.stage import Stage
from oncemore.adapters.demo.telling import Say, Teller, clock
from oncemore.engine.tables import Attempt, Decision, Request, Turn
from oncemore.engine.worker import Worker

FIRST, SECOND = script.PARTS


def play(place: Place, say: Say, program: Path | None) -> int:
    """Play it; see `story.run`."""
    with ScriptedModel(script.answer) as model:
        furnish(place, model.base_url, program)
        say(f"The demo of Oncemore, in {place.folder}")
        say(f"Codex, a real one: {binary.find(program)}")
        say(f"Its model: a script on {model.url}; no account and no network is used.")
        return _Story(place, model, say, program).play()


class _Story:
    def __init__(self, place: Place, model: ScriptedModel, say: Say, program: Path | None) -> None:
        self._place = place
        self._model = model
        self._say = say
        self._program = program
        self._stage = Stage(place, say, model)
        self._threads: list[str] = []

    def play(self) -> int:
        with wiring.opened(self._place.file, worker=True) as house:
            self._stage.title("A person asks for two parts; the source of the second is not there")
            request = house.ask(WORKSPACE, script.MESSAGE)
            runtime = house.ports.runtimes["codex"]
            assert isinstance(runtime, CodexRuntime)
            teller = Teller(request, runtime, self._say)
            context = wiring.context(house, wiring.rulebook(house.configuration), teller.checkpoint)
            worker = Worker(context)
            self._stage.work(worker, teller.tell, until=lambda: proof.waits(request, POLICY, "backoff"))
            before = self._first_part(request)
            if before is not None:
                self._wait(request)
                self._stage.work(worker, teller.tell)
                self._second_part(request, teller, before)
        if before is not None:
            self._stage.again(
                request, lambda: (len(proof.book(self._model.url)), self._files()), naming="no call, no file"
            )
            self._readback(request)
        commands = [proof.count_command(self._place.home, thread, None) for thread in self._threads]
        return self._stage.end(
            request,
            lambda: Attempt.select(Attempt.decision).where(Attempt.request == request).scalar(),
            [shlex.join(command) for command in commands] if self._program is None else [],
        )

    def _first_part(self, request: str) -> tuple[proof.Artifact, str] | None:
        """The first part's file and the first Turn's digest, if the story came so far."""
        first = proof.Artifact.read(self._place.part(FIRST))
        self._stage.check(proof.waits(request, POLICY, "backoff"), f"{POLICY} waits at its gate backoff")
        written = first is not None and self._place.is_whole(FIRST) and not self._place.part(SECOND).exists()
        self._stage.check(written, f"{FIRST} is written, {SECOND} is not")
        self._stage.check(proof.delivered(request) == ["answer"], "the partial answer reached the person")
        if first is None or self._stage.failed:
            return None
        self._tell_file(FIRST, first)
        return first, proof.turn_digest(proof.turn(request, "business"))

    def _wait(self, request: str) -> None:
        self._stage.title("It waits")
        until = Decision.select(Decision.until).where(Decision.request == request, Decision.outcome == "wait").scalar()
        self._say(
            f"  gate backoff of {POLICY} holds it back until {clock(until)}; the worker sleeps, on the real clock."
        )
        self._place.bring_source(SECOND)
        self._say(f"  meanwhile the source of {SECOND} comes back. Nobody tells Codex or Oncemore.")
        self._stage.title("It is taken up, once")

    def _second_part(self, request: str, teller: Teller, before: tuple[proof.Artifact, str]) -> None:
        second = proof.Artifact.read(self._place.part(SECOND))
        if second is not None:
            self._tell_file(SECOND, second)
        self._stage.title("What is true afterwards")
        decisions = list(Decision.select().where(Decision.request == request))
        waited = max(one.until or one.at for one in decisions if one.outcome == "wait")
        fired = [one.at for one in decisions if one.outcome == "fire"]
        attempts = list(Attempt.select().where(Attempt.request == request))
        self._stage.check(bool(fired) and min(fired) >= waited, "it fired, and not before the time was over")
        self._stage.check(self._place.is_whole(SECOND), f"{SECOND} is written")
        self._stage.check(
            len(attempts) == 1 and attempts[0].state == "answered", "one try was reserved and used, and it answered"
        )
        self._stage.check(proof.delivered(request) == ["answer", "recovery:work-1"], "both answers reached the person")
        self._stage.check(Request.get_by_id(request).state == "answered", "the Request is answered")
        after = proof.Artifact.read(self._place.part(FIRST))
        self._stage.check(
            after == before[0], f"{FIRST} was not touched: the same bytes, inode {before[0].inode} and time"
        )
        digest = proof.turn_digest(proof.turn(request, "business"))
        self._stage.check(digest == before[1], f"the first Turn's row is the same, {digest[:23]}…")
        pids = teller.processes
        self._stage.check(
            len(set(pids.values())) == 2,
            f"two Codex processes ran it, one after the other: {' and '.join(map(str, pids.values()))}",
        )

    def _readback(self, request: str) -> None:
        """What Codex's own store and the model's book say."""
        with wiring.opened(self._place.file):
            threads = {row.native_thread for row in Turn.select().where(Turn.request == request)}
            turns = Turn.select().where(Turn.request == request).count()
        self._threads = sorted(map(str, threads))
        self._stage.check(len(threads) == 1 and None not in threads, "both Turns ran in one Codex thread")
        for thread in self._threads:
            count = proof.native_turns(self._place.home, thread, self._program)
            what = f"exactly 2 turns stand in Codex's own store of it, as another process counts: {count}"
            self._stage.check(count == turns == 2, what)
        calls = proof.book(self._model.url)
        own = sum(script.is_continuation(call["last_user"]) for call in calls)
        self._stage.check(
            len(calls) == 6 and own == 3,
            f"the model was called 6 times: {len(calls) - own} for the message, {own} for the continuation",
        )

    def _files(self) -> Mapping[str, proof.Artifact | None]:
        return {part: proof.Artifact.read(self._place.part(part)) for part in script.PARTS}

    def _tell_file(self, name: str, file: proof.Artifact) -> None:
        self._say(
            f"  {name}: written {clock(file.modified // 1_000_000)}, {file.size} bytes, inode {file.inode}, "
            f"SHA-256 {file.content[:16]}…"
        )
