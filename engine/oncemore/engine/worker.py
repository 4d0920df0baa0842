"""Which Requests are due, and when is the next one?

Due times are stored and indexed; nothing is ever scanned. One worker has one file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from oncemore.engine import events, executor
from oncemore.engine.context import Context, due
from oncemore.engine.reloading import PolicyWatch
from oncemore.engine.tables import Request

log = logging.getLogger("oncemore.worker")


class Worker:
    """Takes due Requests one after the other.

    Args:
        context: what the steps share; its journal holds the worker's lock.
        poll: the longest sleep between two looks for due work, milliseconds; other processes write to the journal too.
        watch: the folder that the policies come from; None where they stay as they are.
    """

    def __init__(self, context: Context, poll: int = 2_000, watch: PolicyWatch | None = None) -> None:
        self._context = context
        self._poll = poll
        self._watch = watch

    def run_due(self, stop: threading.Event | None = None) -> int:
        """Take everything that is due now, oldest first, each at most once; how many Requests were taken.

        Args:
            stop: when set, the Request in hand is the last one.
        """
        taken: set[str] = set()
        while stop is None or not stop.is_set():
            self._renew()
            now = self._context.journal.now().ms
            row = (
                Request.select(Request.id)
                .where(Request.due_at <= now, Request.id.not_in(taken))
                .order_by(Request.due_at, Request.id)
                .first()
            )
            if row is None:
                return len(taken)
            taken.add(row.id)
            self._take(row.id)
        return len(taken)

    def next_due(self) -> int | None:
        """When the next Request is due, milliseconds since the epoch; None when none is."""
        found = Request.select(Request.due_at).where(Request.due_at.is_null(False)).order_by(Request.due_at).scalar()
        return None if found is None else int(found)

    def run(self, stop: threading.Event, done: Callable[[], None] = lambda: None) -> None:
        """Work until told to stop; a Turn that runs is watched to its end first.

        Args:
            done: called after every round in which something was taken.
        """
        while not stop.is_set():
            if self.run_due(stop):
                done()
                continue
            upcoming = self.next_due()
            wait = self._poll if upcoming is None else upcoming - self._context.journal.now().ms
            stop.wait(min(self._poll, max(10, wait)) / 1000)

    def _renew(self) -> None:
        """Between two Requests, other policies may come into force; what waits is looked at again under them."""
        if self._watch is None:
            return
        self._watch.look()
        if self._context.rules is self._watch.rules:
            return
        self._context.rules = self._watch.rules
        with self._context.journal.transaction():
            now = self._context.journal.advance_clock().ms
            Request.update(due_at=now).where(
                Request.state == "open", Request.held.is_null(), Request.due_at > now
            ).execute()

    def _take(self, request: str) -> None:
        try:
            with self._context.observer.span("advance", request=request):
                executor.advance(self._context, request)
        except Exception as error:
            # One Request's fault must not stop the others. It is held, shown, and in the log.
            log.exception("a step failed", extra={"request": request})
            with self._context.journal.transaction():
                now = self._context.journal.advance_clock().ms
                due(request, None, f"a step failed: {type(error).__name__}")
                events.append(request, "fault", now, error=type(error).__name__)
