"""How do many writers share one commit?

A commit costs a write to the disk however little it holds. What waits is done in one transaction, each part behind a
savepoint of its own, and only when that is on the disk is anybody told.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from oncemore.engine.errors import JournalInterrupted, JournalRefused
from oncemore.engine.journal import Journal

Result = TypeVar("Result")

LIMIT = 256
"""Most parts in one commit."""


class _Part(Generic[Result]):
    """One piece of work and the promise of what it gives."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self.work = work
        self.done: Future[Result] = Future()


class GroupCommit:
    """A thread that does what others submit, and answers after the commit.

    Args:
        journal: stays open until this is closed.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._parts: queue.SimpleQueue[_Part[Any] | None] = queue.SimpleQueue()
        self._closed = self._broken = False
        self._closing = threading.Lock()
        self.commits = 0
        """How many commits there were."""
        self._thread = threading.Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Have `work` done in a transaction; it may open transactions of its own, which become part of it.

        The future's result is there once it is committed; its exception is what `work` raised, which undid its own part
        alone, or a `JournalRefused`: then nothing of the whole group was kept.

        Raises:
            JournalRefused: this is closed.
        """
        part = _Part(work)
        with self._closing:
            if self._closed:
                raise JournalRefused("nothing is written any more, the service stops")
            self._parts.put(part)
        return part.done

    def close(self) -> None:
        """Do what waits, then stop."""
        with self._closing:
            self._closed = True
            self._parts.put(None)
        self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            group, last = self._group()
            try:
                with self._journal.connected():
                    last = self._serve(group, last)
            except JournalRefused as refused:
                # It could not be opened; whoever comes next tries again.
                for part in group:
                    if part.done.set_running_or_notify_cancel():
                        part.done.set_exception(refused)

    def _serve(self, group: list[_Part[Any]], last: bool) -> bool:
        """Commit this group and all further ones, on one connection; whether that was the last."""
        while True:
            self._commit(group)
            if self._broken:
                with suppress(JournalRefused):
                    self._journal.reconnect()
                    self._broken = False
            if last:
                return last
            group, last = self._group()

    def _group(self) -> tuple[list[_Part[Any]], bool]:
        """What waits, at least one part of it; whether it is the last there is."""
        group: list[_Part[Any]] = []
        part = self._parts.get()
        while part is not None:
            group.append(part)
            if len(group) == LIMIT:
                return group, False
            try:
                part = self._parts.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _commit(self, group: list[_Part[Any]]) -> None:
        asked = [part for part in group if part.done.set_running_or_notify_cancel()]
        if not asked:
            return
        outcomes: list[tuple[_Part[Any], Any, BaseException | None]] = []
        try:
            with self._journal.transaction():
                for part in asked:
                    outcomes.append((part, *self._outcome(part)))
        except BaseException as refused:
            outcomes = [(part, None, refused) for part in asked]
            self._broken = isinstance(refused, JournalInterrupted)
        else:
            self.commits += 1
        for part, result, failure in outcomes:
            if isinstance(failure, JournalInterrupted) and failure.undone:
                # Two groups may wait for each other's Sessions, and one gives way; alone nobody waits so.
                result, failure = self._alone(part)
            if failure is None:
                part.done.set_result(result)
            else:
                part.done.set_exception(failure)

    def _alone(self, part: _Part[Any]) -> tuple[Any, BaseException | None]:
        return self._outcome(part)

    def _outcome(self, part: _Part[Any]) -> tuple[Any, BaseException | None]:
        try:
            with self._journal.transaction():
                return part.work(), None
        except Exception as error:
            return None, error
