"""Which Requests are due, and when is the next one?

Due times are stored and indexed; nothing is ever scanned. A worker takes one Request after the other; where there are
several workers, each works on Sessions of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import peewee as pw

from oncemore.engine import breaker, events, executor
from oncemore.engine.context import Context, due
from oncemore.engine.errors import JournalInterrupted, LeaseLost, PortError
from oncemore.engine.reloading import PolicyWatch
from oncemore.engine.retention import Retention
from oncemore.engine.tables import Request

log = logging.getLogger("oncemore.worker")

UNANSWERED = (JournalInterrupted, pw.OperationalError, pw.InterfaceError)
"""What is raised where a database server breaks off."""

AGAIN = 1.0
"""Seconds between two tries to reach a database server that does not answer."""


class Worker:
    """Takes due Requests one after the other; closed, it gives back what it holds.

    Args:
        context: what the steps share; on SQLite its journal holds the worker's lock.
        poll: the longest sleep between two looks for due work, milliseconds; other processes write to the journal too.
        watch: the folder that the policies come from; None where they stay as they are.
        retention: what drops texts that have had their time; None where all are kept.
    """

    def __init__(
        self,
        context: Context,
        poll: int = 2_000,
        watch: PolicyWatch | None = None,
        retention: Retention | None = None,
    ) -> None:
        self._context = context
        self._poll = poll
        self._watch = watch
        self._retention = retention
        self._stop = threading.Event()
        context.renew = self._renew

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back to the other workers."""
        self._context.leases.close()

    def run_due(self, stop: threading.Event | None = None) -> int:
        """Take everything that is due now, oldest first, each at most once; how many Requests were taken.

        Args:
            stop: when set, the Request in hand is the last one.
        """
        self._stop = stop = stop or threading.Event()
        if self._retention is not None:
            self._retention.look()
        taken: set[str] = set()
        while not stop.is_set():
            if self._watch is not None:
                self._watch.look()
            self._renew()
            request = self._context.leases.next(self._context.journal.now().ms, taken)
            if request is None:
                return len(taken)
            taken.add(request)
            self._take(request)
        return len(taken)

    def next_due(self) -> int | None:
        """When the next Request is due, milliseconds since the epoch; None when none is."""
        return self._context.leases.next_due()

    def run(self, stop: threading.Event, done: Callable[[], None] = lambda: None) -> None:
        """Work until told to stop; a Turn that runs is watched to its end first.

        Args:
            done: called after every round in which something was taken.
        """
        while not stop.is_set():
            try:
                if self.run_due(stop):
                    done()
                    continue
                upcoming = self.next_due()
                wait = self._poll if upcoming is None else upcoming - self._context.journal.now().ms
            except UNANSWERED as error:
                if self._context.journal.server is None:
                    raise
                self._until_it_answers(error, stop)
                continue
            stop.wait(min(self._poll, max(10, wait)) / 1000)

    def _renew(self) -> None:
        """Between two decisions, other policies may come into force; what waits is looked at again under them."""
        if self._watch is None or self._context.rules is self._watch.rules:
            return
        rules = self._watch.rules
        with self._context.journal.transaction():
            # Several workers notice an edit at the same time; who makes many due goes alone.
            breaker.take()
            now = self._context.journal.advance_clock().ms
            Request.update(due_at=now).where(
                Request.state == "open", Request.held.is_null(), Request.due_at > now
            ).execute()
        # Only now: where the server broke that off, it is done at the next look.
        self._context.rules = rules

    def _take(self, request: str) -> None:
        """Take a Request as far as it goes now; where the server breaks off, again once it answers."""
        going_on = True
        while going_on:
            try:
                with self._context.leases.session(Request.get_by_id(request).session) as held:
                    if held:
                        self._advance(request)
                return
            except LeaseLost:
                log.warning("another worker has the Session now", extra={"request": request})
                self._let_everything_go()
                return
            except UNANSWERED as error:
                if self._context.journal.server is None:
                    raise
                # What was on its way is settled from what the journal and the outside say then.
                going_on = self._until_it_answers(error, self._stop)

    def _advance(self, request: str) -> None:
        try:
            with self._context.observer.span("advance", request=request):
                executor.advance(self._context, request)
        except LeaseLost:
            raise
        except Exception as error:
            if isinstance(error, UNANSWERED) and self._context.journal.server is not None:
                raise
            # One Request's fault must not stop the others. It is held, shown, and in the log.
            log.exception("a step failed", extra={"request": request})
            with self._context.journal.transaction():
                now = self._context.journal.advance_clock().ms
                due(request, None, f"a step failed: {type(error).__name__}")
                events.append(request, "fault", now, error=type(error).__name__)

    def _let_everything_go(self) -> None:
        """What runs here runs for nobody any more; whoever has the Session now needs its thread."""
        for runtime in self._context.ports.runtimes.values():
            with suppress(PortError):
                runtime.close()

    def _until_it_answers(self, error: Exception, stop: threading.Event) -> bool:
        """Wait for the server, or for being told to stop; whether it answers."""
        log.warning("the journal does not answer: %s", error)
        while True:
            with suppress(JournalInterrupted):
                self._context.journal.reconnect()
                return True
            if stop.wait(AGAIN):
                return False
