"""What becomes of a Turn that a person cancels at the desktop? It is settled at the first complete look.

Antigravity's language server records no end of such a Turn that anybody could wait for. Nothing is sent again for it,
nothing is cancelled once more, and the conversation takes the next message.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.adapters.demo import proof
from oncemore.adapters.demo.desk import Desk, Look, command, planned
from oncemore.adapters.demo.place import WORKSPACE, Place, antigravity_runtime, lay_out
from oncemore.adapters.demo.stage import Stage
from oncemore.adapters.demo.telling import Say, Teller, clock
from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.journal import system_clock
from oncemore.engine.tables import Attempt, Decision, Session, Turn
from oncemore.engine.worker import Worker

POLICY = "settle-cancelled-turn"
MESSAGE = "Please build the notes, and tell me how many pages they have."
NEXT = "Never mind the build. Are you there?"
ANSWER = "I am. What would you like to do instead?"

AT_WORK = Look([planned("I build them first.", calls=["call-1"]), command(state="RUNNING")], run="RUNNING")
ANSWERED = Look([planned(ANSWER)], executors=[("NO_TOOL_CALL", 0)])


def play(place: Place, say: Say, program: Path | None) -> int:
    """Play it; see `story.run`. Codex has no part in it."""
    with Desk(place.workspace, secrets.token_urlsafe(), system_clock) as desk:
        workspace = {"level": "workspace_write", "runtime": "antigravity"}
        lay_out(place, [POLICY], {"antigravity": antigravity_runtime(place, desk.base_url, desk.token)}, workspace)
        say(f"The demo of Oncemore, in {place.folder}")
        say(f"Antigravity's language server: a small one of the demo's own on {desk.base_url}; no network is used.")
        return _Story(place, desk, say).play()


class _Story:
    def __init__(self, place: Place, desk: Desk, say: Say) -> None:
        self._place = place
        self._desk = desk
        self._say = say
        self._stage = Stage(place, say)
        self._teller: Teller | None = None
        self._stopped: int | None = None

    def play(self) -> int:
        stage, desk = self._stage, self._desk
        with wiring.opened(self._place.file, worker=True) as house:
            stage.title("A person asks, the agent begins, and the person stops it at the desktop")
            context = wiring.context(house, wiring.rulebook(house.configuration), self._watch)
            worker = Worker(context)
            desk.after_send(AT_WORK)
            request = house.ask(WORKSPACE, MESSAGE)
            self._work(worker, Teller(request, None, self._say))
            self._settled(request)
            stage.title("The person writes again")
            desk.after_send(ANSWERED)
            following = house.ask(WORKSPACE, NEXT)
            self._work(worker, Teller(following, None, self._say))
            self._answered(request, following)
        stage.again(request, lambda: (len(desk.sends), len(desk.cancels), desk.starts), naming="no message")
        return stage.end(
            request,
            lambda: (
                Decision.select(Decision.id).where(Decision.request == request, Decision.outcome == "fire").scalar()
            ),
        )

    def _work(self, worker: Worker, teller: Teller) -> None:
        self._teller = teller
        self._stage.work(worker, teller.tell)

    def _watch(self, point: CrashPoint, subject: str) -> None:
        """Tell what happens; once the first Turn is seen at work, the person stops it, on the desktop and not here."""
        assert self._teller is not None
        self._teller.tell()
        if point == CrashPoint.WHILE_RUNNING and self._stopped is None:
            self._stopped = system_clock()
            self._say(f"  {clock(self._stopped)}  the person presses stop at the desktop. Nobody tells Oncemore.")
            self._desk.stop_here()

    def _settled(self, request: str) -> None:
        check = self._stage.check
        self._stage.title("What is true afterwards")
        turn = Turn.get_by_id(proof.turn(request, "business"))
        check(
            (turn.status, turn.error, bool(turn.settled_cancel)) == ("failed", "upstream_transport_failure", True),
            f"the Turn is settled as failed, with the words: {turn.detail}",
        )
        looks = [one for one in proof.looks(request) if self._stopped is not None and one[0] >= self._stopped]
        check(
            [fired for _, fired in looks] == [POLICY],
            f"the first complete look that the rules were shown after the stop settled it: {POLICY} fired",
        )
        check(len(self._desk.sends) == 1, "the language server was sent one message")
        check(not self._desk.calls["CancelCascadeInvocation"], "it was asked for no cancellation")
        check(not Attempt.select().where(Attempt.request == request).exists(), "no try was reserved")
        told = proof.said(request)
        check(told == [prompts.FAILED["en"]], "the person was told, once, that it could not be finished")
        check(Session.get_by_id(turn.session).active_turn is None, "the conversation is free for the next message")

    def _answered(self, request: str, following: str) -> None:
        check = self._stage.check
        self._stage.title("What is true then")
        check(proof.said(following) == [ANSWER], "the next message was answered")
        turns = [Turn.get_by_id(proof.turn(one, "business")) for one in (request, following)]
        check(
            len({turn.native_thread for turn in turns}) == self._desk.starts == 1,
            "in the same conversation, the only one that was begun",
        )
        check(len(self._desk.sends) == 2, "by one more message at the language server, and no other")
        check(not self._desk.calls["CancelCascadeInvocation"], "still without a cancellation")
