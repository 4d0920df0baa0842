"""What becomes of an answer that was cut off by a local error? It is material for one review, and nothing more.

A steward's question goes to Antigravity's language server, whose Turn fails in the middle of a sentence. The person is
told so. What was to be seen of the answer is handed to a real Codex that can do nothing but read, and it answers.
"""

from __future__ import annotations

import re
import secrets
import shlex
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.adapters.codex import binary
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo import proof
from oncemore.adapters.demo.desk import Desk, Look, planned
from oncemore.adapters.demo.model import ModelRequest, Say, Script, ScriptedModel, Shell
from oncemore.adapters.demo.place import WORKSPACE, Place, antigravity_runtime, capacity, codex_runtime, lay_out
from oncemore.adapters.demo.stage import Stage
from oncemore.adapters.demo.telling import Say as Tell
from oncemore.adapters.demo.telling import Teller, clock
from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.journal import system_clock
from oncemore.engine.tables import Attempt, Request, Turn
from oncemore.engine.worker import Worker

POLICY = "review-interrupted-answer"
MESSAGE = "Which harbours do the notes name?"
HARBOURS = ("Lisbon", "Genoa", "Antwerp")
NOTES = {"harbours.md": "".join(f"{harbour}\n" for harbour in HARBOURS)}

LEFT = "The notes name three harbours: Lisbon, Genoa and"
THOUGHT = "The last line is the third harbour."
CUT_OFF = Look([planned(LEFT, stop="CLIENT_STREAM_ERROR", thinking=THOUGHT)], executors=[("ERROR", 0)])

_REVIEWING = prompts.REVIEW.partition("{")[0]
_MATERIAL = re.compile(r"^=====material-(\w+)=====\n(.*)\n=====material-\1=====$", re.DOTALL | re.MULTILINE)


def answer(request: ModelRequest) -> Script:
    """What the scripted model says to a review: it looks into the notes, and says what the material lacks of them."""
    left = material(request.last_user)
    if left is None:
        return Say("I was handed nothing that an earlier try has left.")
    if not request.tool_results_since_user:
        return Shell("cat harbours.md")
    found = request.tool_results_since_user[0].rpartition("Output:\n")[2].split()
    missing = [harbour for harbour in found if harbour not in left]
    return Say(f"The notes name {', '.join(found)}. The earlier try had not come to {', '.join(missing)}.")


def material(text: str) -> str | None:
    """What stands between the two marker lines of a review's input; None when it has none."""
    found = _MATERIAL.findall(text) if text.startswith(_REVIEWING) else []
    return str(found[0][1]) if len(found) == 1 else None


def play(place: Place, say: Tell, program: Path | None) -> int:
    """Play it; see `story.run`."""
    with ScriptedModel(answer) as model, Desk(place.workspace, secrets.token_urlsafe(), system_clock) as desk:
        antigravity = antigravity_runtime(place, desk.base_url, desk.token)
        runtimes = {
            "antigravity": {**antigravity, "capacity": capacity(model.url)},
            "codex": codex_runtime(place, model.base_url, program),
        }
        workspace = {"level": "portfolio_read", "role": "steward", "runtime": "antigravity"}
        lay_out(place, [POLICY], runtimes, workspace, reviews="codex")
        for name, text in NOTES.items():
            (place.workspace / name).write_text(text, encoding="utf-8")
        say(f"The demo of Oncemore, in {place.folder}")
        say(f"Antigravity's language server: a small one of the demo's own on {desk.base_url}")
        say(f"Codex, a real one, for the review: {binary.find(program)}")
        say(f"Its model: a script on {model.url}; no account and no network is used.")
        return _Story(place, desk, model, say, program).play()


class _Story:
    def __init__(self, place: Place, desk: Desk, model: ScriptedModel, say: Tell, program: Path | None) -> None:
        self._place = place
        self._desk = desk
        self._model = model
        self._say = say
        self._program = program
        self._stage = Stage(place, say, model)
        self._thread: str | None = None

    def play(self) -> int:
        stage = self._stage
        with wiring.opened(self._place.file, worker=True) as house:
            stage.title("A steward asks, and the answer is cut off")
            runtime = house.ports.runtimes["codex"]
            assert isinstance(runtime, CodexRuntime)
            self._desk.after_send(CUT_OFF)
            request = house.ask(WORKSPACE, MESSAGE)
            teller = Teller(request, runtime, self._say)

            def watch(point: CrashPoint, subject: str) -> None:
                teller.checkpoint(point, subject)
                if point == CrashPoint.AFTER_SETTLE and subject == proof.turn(request, "business"):
                    self._desk.clear_here()
                    self._say(
                        f'  {clock(system_clock())}  the desktop clears the Turn away; to be seen is still "{LEFT}"'
                    )

            worker = Worker(wiring.context(house, wiring.rulebook(house.configuration), watch))
            stage.work(worker, teller.tell, until=lambda: self._waits(request))
            before = self._failed(request)
            if before is not None:
                stage.title("It waits, and is reviewed once")
                stage.work(worker, teller.tell)
                self._reviewed(request, before)
        if before is not None:
            stage.again(
                request, lambda: (len(proof.book(self._model.url)), len(self._desk.sends)), naming="no call, no message"
            )
            self._readback(request)
        further = [] if self._thread is None else proof.count_command(self._place.home, self._thread, None)
        return stage.end(
            request,
            lambda: Attempt.select(Attempt.decision).where(Attempt.request == request).scalar(),
            [shlex.join(further)] if further and self._program is None else [],
        )

    def _waits(self, request: str) -> bool:
        return proof.waits(request, POLICY, "backoff") and "notice" in proof.delivered(request)

    def _kept(self, request: str) -> tuple[str, str]:
        """Digests over every column of the failed Turn and of the notice."""
        turn = proof.turn(request, "business")
        return proof.turn_digest(turn), proof.delivery_digest(request, "notice")

    def _failed(self, request: str) -> tuple[str, str] | None:
        """What is kept of the failed Turn, if the story came so far."""
        check = self._stage.check
        turn = Turn.get_by_id(proof.turn(request, "business"))
        check((turn.status, turn.error) == ("failed", "runtime_error"), "the Turn failed with an error of the runtime")
        check(not turn.has_reply, "none of its answer was kept as a reply")
        check(proof.said(request) == [prompts.FAILED["en"]], "the person was told so, once")
        check(self._waits(request), f"{POLICY} waits at its gate backoff")
        return None if self._stage.failed else self._kept(request)

    def _reviewed(self, request: str, before: tuple[str, str]) -> None:
        check = self._stage.check
        self._stage.title("What is true afterwards")
        in_time = proof.fired_in_time(request, POLICY)
        check(in_time, "the review fired, and not before its time was over")
        self._thread = Turn.select(Turn.native_thread).where(Turn.id == proof.turn(request, "review")).scalar()
        check(
            proof.only_reads(request, "review"),
            "it ran on Codex in the restricted profile: reading only, no network",
        )
        attempts = [(one.kind, one.state) for one in Attempt.select().where(Attempt.request == request)]
        check(attempts == [("review", "answered")], "one try was reserved and used, and it answered")
        said = proof.said(request)
        check(
            len(said) == 2 and all(harbour in said[1] for harbour in HARBOURS),
            "its answer names all three harbours, the one that was cut off too",
        )
        check(Request.get_by_id(request).state == "answered", "the Request is answered")
        check(
            self._kept(request) == before,
            f"the failed Turn and the notice are the same in every column: {before[0][7:15]}…, {before[1][7:15]}…",
        )

    def _readback(self, request: str) -> None:
        """What the language server, the model's book and Codex's own store say."""
        check = self._stage.check
        check(len(self._desk.sends) == 1, "the language server was sent one message, the person's")
        check(not self._desk.calls["CancelCascadeInvocation"], "it was asked for no cancellation")
        calls = proof.book(self._model.url)
        handed = {call["last_user"] for call in calls}
        check(
            len(calls) == 2 and [material(text) for text in handed] == [LEFT],
            f"the model was called {len(calls)} times, and between the markers stood exactly what was to be seen",
        )
        check(not any(THOUGHT in text for text in handed), "what the cut-off try had thought was not handed on")
        if self._thread is not None:
            count = proof.native_turns(self._place.home, self._thread, self._program)
            check(count == 1, f"Codex's own store holds {count} turn of the review's thread, as another process counts")
