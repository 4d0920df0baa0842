"""How is one turn of the harness stopped, with every command that it started?

The harness is told to halt, and stores the end of the turn. That is no proof: it forgets a command that it was about
to start just then, and stores it as cancelled all the same. So the process is ended, what lives on is ended after it,
and the free lock is the proof. The process is kept where something runs in it that is not this turn's: what somebody
said meanwhile, which runs behind the turn, or a command that an earlier turn left. The kernel's word is the proof then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oncemore.adapters.antigravity import conversation
from oncemore.adapters.antigravity.commands import Command, Commands
from oncemore.adapters.antigravity.conversation import Conversation, Invocation
from oncemore.adapters.antigravity.harness_process import RESTING, HarnessProcess
from oncemore.adapters.antigravity.lock import Lock
from oncemore.engine.errors import Uncertain, Unreadable
from oncemore.engine.ports import NativeTurn

CANCEL_SECONDS = 20.0
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Begun:
    """The turn that we began last in a conversation.

    Attributes:
        commands: of the process that it was begun in.
        earlier: sessions of those that lived before it; None where the kernel did not tell.
    """

    client_id: str
    commands: Commands
    earlier: frozenset[int] | None

    @classmethod
    def now(cls, process: HarnessProcess, client_id: str) -> Begun:
        """To be asked before the text is sent."""
        living = process.living()
        earlier = frozenset(command.session for command in living) if living is not None else None
        return cls(client_id, process.commands, earlier)


class Stopping:
    """The stopping of one turn.

    Args:
        process: that has the conversation loaded; None when it has ended.
        begun: the turn that we began last there. Of that one alone it can be told which commands are its own.
        stored: reads the conversation's store, with whose inputs are ours. Raises `Unreadable`.
    """

    def __init__(
        self,
        home: Path,
        native: NativeTurn,
        process: HarnessProcess | None,
        begun: Begun | None,
        stored: Callable[[], Conversation],
    ) -> None:
        self._home = home
        self._native = native
        self._process = process
        self._stored = stored
        self._begun = begun
        self._mine = False
        self._later = False
        self._kept: HarnessProcess | None = None
        self._seen: set[int] = set()

    def halt(self) -> bool:
        """Have the harness stop the turn, unless it has ended; whether the process is kept.

        Raises:
            Uncertain: it cannot be spoken to.
        """
        process = self._process
        assert process is not None
        self._over(process)
        one, later = self._turn()
        if not later and not _ended(one):  # what runs behind the turn is not the turn's, and is not halted
            process.halt()
        over = process.wait(lambda: not process.alive or self._over(process), CANCEL_SECONDS, PAUSE) and process.alive
        self._later = process.alive and process.state != RESTING and bool(self._turn()[1])
        left = any(not self._is_ours(command) for command in process.living() or ())
        self._kept = process if self._later or (over and left) else None
        return self._kept is not None

    def end_commands(self) -> None:
        """End the turn's commands that live on.

        Raises:
            Uncertain: one still runs, or may.
        """
        self._turn()
        if self._begun is not None:
            self._begun.commands.end(self._is_ours, self._kept.pid if self._kept is not None else None)
        if self._kept is not None:
            self._prove_in(self._kept)
        else:
            self._prove_without()

    def _prove_in(self, process: HarnessProcess) -> None:
        """Every command that lives is known not to be the turn's."""
        living = process.living()
        if living is None:
            raise Uncertain("the kernel does not tell whether a command of the turn still runs")
        if any(map(self._is_ours, living)):
            raise Uncertain("a command of the turn still runs")
        if living and not self._tells_apart():
            raise Uncertain("a command runs of which it is not known whether it is the turn's")

    def _prove_without(self) -> None:
        """Nothing of the conversation lives."""
        thread_id = self._native.thread_id
        if not Lock(self._home, thread_id).free() or Commands(thread_id).living():
            raise Uncertain("something of the conversation still runs, or may")

    def _over(self, process: HarnessProcess) -> bool:
        """Whether the process has gone on from the turn: to something later, or to rest with the turn's end stored.

        What lives before a later turn's first command is stored is not a later turn's: it is kept in mind.
        """
        living = process.living() or ()
        one, later = self._turn()
        if not any(step.kind == "RUN_COMMAND" for other in later for step in other.steps):
            self._seen |= {command.session for command in living}
        return bool(later) or (_ended(one) and process.state == RESTING)

    def _tells_apart(self) -> bool:
        """Whether the turn's commands can be told from others at all."""
        return self._mine and self._begun is not None and self._begun.earlier is not None

    def _is_ours(self, command: Command) -> bool:
        """Whether the command is known to be the turn's: it was not there before, and is none of a later turn."""
        if not self._tells_apart():
            return False
        assert self._begun is not None and self._begun.earlier is not None
        return command.session not in self._begun.earlier and (not self._later or command.session in self._seen)

    def _turn(self) -> tuple[Invocation | None, Sequence[Invocation]]:
        """The turn as it is stored now, and those behind it."""
        try:
            every = conversation.invocations(self._stored())
        except Unreadable:
            return None, ()
        place = next((place for place, one in enumerate(every) if one.native == self._native), None)
        if place is None:
            return None, ()
        self._mine = self._mine or (self._begun is not None and self._begun.client_id in every[place].client_ids)
        return every[place], every[place + 1 :]


def _ended(one: Invocation | None) -> bool:
    return one is not None and one.executor is not None and not one.may_move
