"""What becomes of a question that met a usage limit four times? It is answered once, by reading only.

A steward's question goes to a model without room. Three more tries meet the limit as well, and the person is told so.
When there is room again the question is reviewed in a thread of its own, by a Codex that can do nothing but read.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.adapters.codex import binary
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo import planted, proof
from oncemore.adapters.demo.model import Fail, ModelRequest, Say, Script, ScriptedModel, Shell
from oncemore.adapters.demo.place import WORKSPACE, Place, capacity, codex_runtime, lay_out
from oncemore.adapters.demo.stage import Stage
from oncemore.adapters.demo.telling import Say as Tell
from oncemore.adapters.demo.telling import Teller, clock
from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.journal import system_clock
from oncemore.engine.tables import Attempt, Request, Turn
from oncemore.engine.worker import Worker

RETRY, REVIEW = "retry-quota", "review-exhausted-answer"
MESSAGE = "How many notes are there, and what does the newest say?"
NOTES = {
    "1-spring.md": "The harbour wall is sound.\n",
    "2-summer.md": "The crane was painted.\n",
    "3-autumn.md": "The lamp on the pier is out.\n",
}
TRIES = 3

_REVIEWING = prompts.REVIEW.partition("{")[0]


def answer(request: ModelRequest) -> Script:
    """What the scripted model says: nothing but its limit, until it is asked to review; then it reads, and answers."""
    if not is_review(request.last_user):
        return Fail("usage_limit")
    read = [result.rpartition("Output:\n")[2].split("\n") for result in request.tool_results_since_user]
    if not read:
        return Shell("ls")
    notes = sorted(line.strip() for line in read[0] if line.strip().endswith(".md"))
    if not notes:
        return Say(f"I see no notes. My command said: {' '.join(read[0])}")
    if len(read) == 1:
        return Shell(f"cat {notes[-1]}")
    return Say(f'There are {len(notes)} notes. The newest, {notes[-1]}, says: "{" ".join(read[1]).strip()}"')


def is_review(text: str) -> bool:
    """Whether an input is that of a restricted review."""
    return text.startswith(_REVIEWING)


def play(place: Place, say: Tell, program: Path | None) -> int:
    """Play it; see `story.run`."""
    with ScriptedModel(answer) as model:
        codex = codex_runtime(place, model.base_url, program)
        workspace = {"level": "portfolio_read", "role": "steward"}
        lay_out(
            place, [RETRY, REVIEW], {"codex": {**codex, "capacity": capacity(model.url)}}, workspace, reviews="codex"
        )
        for name, text in NOTES.items():
            (place.workspace / name).write_text(text, encoding="utf-8")
        say(f"The demo of Oncemore, in {place.folder}")
        say(f"Codex, a real one: {binary.find(program)}")
        say(f"Its model: a script on {model.url}, which tells its capacity too; no account and no network is used.")
        planted.plant(place.home, place.folder / "planted", program)
        say(
            f"Put into Codex's home: an MCP server and a trusted hook, in {place.folder / 'planted'}; "
            "each writes a file when it is started."
        )
        return _Story(place, model, say, program).play()


class _Story:
    def __init__(self, place: Place, model: ScriptedModel, say: Tell, program: Path | None) -> None:
        self._place = place
        self._model = model
        self._say = say
        self._program = program
        self._stage = Stage(place, say, model)
        self._threads: list[str] = []

    def play(self) -> int:
        stage = self._stage
        with wiring.opened(self._place.file, worker=True) as house:
            stage.title("A steward asks, and the model's usage limit is reached")
            runtime = house.ports.runtimes["codex"]
            assert isinstance(runtime, CodexRuntime)
            request = house.ask(WORKSPACE, MESSAGE)
            teller = Teller(request, runtime, self._say)

            def watch(point: CrashPoint, subject: str) -> None:
                teller.checkpoint(point, subject)
                if point == CrashPoint.AFTER_SETTLE and subject == proof.turn(request, "quota", TRIES):
                    self._model.capacity = "exhausted"

            worker = Worker(wiring.context(house, wiring.rulebook(house.configuration), watch))
            stage.work(worker, teller.tell, until=lambda: self._waits_for_room(request))
            before = self._refused(request)
            if before is not None:
                stage.title("There is room again")
                self._model.capacity = "available"
                self._say(f"  {clock(system_clock())}  the model tells so where it is asked for its capacity.")
                stage.work(worker, teller.tell)
                self._reviewed(request, before)
        if before is not None:
            stage.again(request, lambda: len(proof.book(self._model.url)), naming="no call")
            self._readback(request)
        commands = [proof.count_command(self._place.home, thread, None) for thread in self._threads]
        return stage.end(
            request,
            lambda: (
                Attempt.select(Attempt.decision).where(Attempt.request == request, Attempt.kind == "review").scalar()
            ),
            [shlex.join(command) for command in commands] if self._program is None else [],
        )

    def _waits_for_room(self, request: str) -> bool:
        return proof.waits(request, REVIEW, "route-available") and "notice" in proof.delivered(request)

    def _kept(self, request: str) -> dict[str, str]:
        """A digest over every column of each failed Turn, and of the notice."""
        turns = [proof.turn(request, "business"), *(proof.turn(request, "quota", one + 1) for one in range(TRIES))]
        return {
            **{turn: proof.turn_digest(turn) for turn in turns},
            "notice": proof.delivery_digest(request, "notice"),
        }

    def _refused(self, request: str) -> dict[str, str] | None:
        """What is kept of the failed tries, if the story came so far."""
        check = self._stage.check
        turns = list(Turn.select().where(Turn.request == request).order_by(Turn.position))
        check(
            [(turn.phase, turn.status, turn.error) for turn in turns]
            == [(phase, "failed", "usage_limit_exceeded") for phase in ("business", *["quota"] * TRIES)],
            f"the question and {TRIES} more tries met the usage limit; the model was called {self._model.calls} times",
        )
        check(proof.said(request) == [prompts.FAILED["en"]], "the person was told so, once")
        check(self._waits_for_room(request), f"{REVIEW} waits at its gate route-available")
        return None if self._stage.failed else self._kept(request)

    def _reviewed(self, request: str, before: dict[str, str]) -> None:
        check = self._stage.check
        self._stage.title("What is true afterwards")
        in_time = proof.fired_in_time(request, REVIEW)
        check(in_time, "the review fired, and not before its time was over")
        check(
            proof.only_reads(request, "review"),
            "it ran in the restricted profile: reading only, no network",
        )
        attempts = [
            (one.kind, one.state)
            for one in Attempt.select().where(Attempt.request == request).order_by(Attempt.ordinal)
        ]
        check(attempts.count(("review", "answered")) == 1 and len(attempts) == TRIES + 1, "one review, and it answered")
        newest = max(NOTES)
        said = proof.said(request)
        check(
            len(said) == 2 and str(len(NOTES)) in said[1] and NOTES[newest].strip() in said[1],
            f"the answer says what {newest} says",
        )
        check(Request.get_by_id(request).state == "answered", "the Request is answered")
        check(
            self._kept(request) == before,
            "the failed Turns and the notice are the same in every column: "
            + ", ".join(f"{kept[7:15]}…" for kept in before.values()),
        )
        there = {file.name: file.read_text(encoding="utf-8") for file in self._place.workspace.iterdir()}
        check(there == NOTES, "in the workspace stand the notes, unchanged, and nothing else")

    def _readback(self, request: str) -> None:
        """What Codex's own store, the model's book and the planted scripts say."""
        check = self._stage.check
        with wiring.opened(self._place.file):
            turns = list(Turn.select().where(Turn.request == request).order_by(Turn.position))
        self._threads = list(dict.fromkeys(str(turn.native_thread) for turn in turns))
        counts = [proof.native_turns(self._place.home, thread, self._program) for thread in self._threads]
        check(
            counts == [TRIES + 1, 1],
            f"Codex's own store holds {' and '.join(map(str, counts))} turns in two threads, as another process counts",
        )
        calls = proof.book(self._model.url)
        own = sum(is_review(call["last_user"]) for call in calls)
        check(
            (len(calls) - own, own) == (TRIES + 1, 3),
            f"the model was called {len(calls)} times: {len(calls) - own} without an answer, {own} for the review",
        )
        check(planted.armed(self._place.home, self._program), "an ordinary Codex in this home would run the hook")
        check(not planted.started(self._place.folder / "planted"), "the MCP server and the hook were never started")
