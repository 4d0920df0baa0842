"""Which of the engine's sessions has a thread opened, and which of them is it to close?"""

from __future__ import annotations

import os
import threading

from oncemore.engine.engine_session import Session


class Use:
    """Whether an evaluator is still in use.

    Attributes:
        ended: how many evaluators of this process are no longer.
    """

    ended = 0

    def __init__(self) -> None:
        self.on = True

    def over(self) -> None:
        """It was dropped, by whichever thread."""
        self.on = False
        Use.ended += 1


class _Opened(threading.local):
    """The sessions that this thread has opened, of every evaluator: only it may close them."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.seen = 0
        self.kept: list[tuple[Use, dict[str, Session]]] = []

    def keep(self, use: Use, sessions: dict[str, Session]) -> None:
        """An evaluator is asked by this thread for the first time."""
        if self.pid != os.getpid():
            # What was opened before a fork is the parent's.
            self.pid, self.kept = os.getpid(), []
        self.kept.append((use, sessions))

    def give_back(self) -> None:
        """Close the sessions of evaluators that are no longer in use, where some have gone since the last time."""
        if self.seen == Use.ended or self.pid != os.getpid():
            return
        self.seen = Use.ended
        over = [sessions for use, sessions in self.kept if not use.on]
        self.kept = [one for one in self.kept if one[0].on]
        for sessions in over:
            while sessions:
                sessions.popitem()[1].close()


opened = _Opened()
"""Of the thread that asks."""
