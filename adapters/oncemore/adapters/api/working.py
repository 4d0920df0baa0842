"""Who does what is due, while this process answers calls? One thread, with a connection of its own."""

from __future__ import annotations

import logging
import threading
from typing import Final

from oncemore.engine.journal import Journal
from oncemore.engine.worker import Worker

log = logging.getLogger("oncemore.worker")

AGAIN_SECONDS: Final = 5.0
"""After how long work is tried again that failed as a whole, such as on a full disk."""


class _Told(threading.Event):
    """Whether to stop; whoever sleeps on it is woken by news as well."""

    def __init__(self) -> None:
        super().__init__()
        self._news = threading.Event()

    def set(self) -> None:
        super().set()
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    def wait(self, timeout: float | None = None) -> bool:
        self._news.wait(timeout)
        self._news.clear()
        return self.is_set()


class Work(threading.Thread):
    """The worker as a thread, until it is told to stop; a Turn that runs is watched to its end first."""

    def __init__(self, journal: Journal, worker: Worker) -> None:
        super().__init__(name="worker", daemon=True)
        self._journal = journal
        self._worker = worker
        self._stopped = _Told()
        self._failed: str | None = None

    @property
    def trouble(self) -> str | None:
        """What keeps it from working; None when nothing does."""
        if self._failed is not None:
            return f"it failed ({self._failed}) and tries again; the log says more"
        return None if self.is_alive() else "it does not run"

    def wake(self) -> None:
        """Something was written that may be due."""
        self._stopped.wake()

    def stop(self) -> None:
        """Let what runs end, then stop."""
        self._stopped.set()

    def run(self) -> None:
        """Work."""
        while not self._stopped.is_set():
            try:
                with self._journal.connected():
                    self._failed = None
                    self._worker.run(self._stopped)
            except Exception as error:
                # One thing's fault is caught where it happens; this is the journal itself.
                self._failed = type(error).__name__
                log.exception("the worker failed")
                self._stopped.wait(AGAIN_SECONDS)
