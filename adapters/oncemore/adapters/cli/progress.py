"""What did the worker just do? A line for each event, with ids and states and nobody's words."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from oncemore.adapters.cli import output
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.tables import Event
from oncemore.rules import times

SHOWN = ("turn", "stage", "status", "outcome", "policy", "budget", "report", "proof", "native_turn", "error", "until")
"""What of an event is ids and states; the rest is digests, or words such as a person's reason."""


DECISIONS = ("decision", "decision_pass")
"""Ids that are too long for a line that people read."""


class Progress:
    """Tells each event once.

    Args:
        since: older events are not told, milliseconds since the epoch.
        as_json: each as a JSON object.
    """

    def __init__(self, since: int, *, as_json: bool = False) -> None:
        self._since = since
        self._as_json = as_json
        self._told: dict[str, int] = {}
        self._heard = True

    def checkpoint(self, _point: CrashPoint, _subject: str) -> None:
        """As the executor's checkpoint: what happened is told while a Turn runs, not only after it."""
        self.tell()

    def tell(self) -> None:
        """Tell what is new. When nobody reads any more the work goes on untold: it must not fail for that."""
        if not self._heard:
            return
        latest = self._since
        for event in Event.select().where(Event.at >= self._since).order_by(Event.at, Event.request, Event.seq):
            latest = max(latest, event.at)
            if event.seq <= self._told.get(event.request, 0):
                continue
            self._told[event.request] = event.seq
            try:
                output.say(self._written(event))
            except (OSError, output.Unwritten):
                self._heard = False
                return
        self._since = latest

    def _written(self, event: Event) -> str:
        body = json.loads(event.body)
        if self._as_json:
            ids = {key: body[key] for key in (*SHOWN, *DECISIONS) if body.get(key) not in (None, "")}
            told = {"time": times.format_ms(event.at), "request": event.request, "event": event.kind, **ids}
            return json.dumps(told, ensure_ascii=True)
        parts = [f"{key}={body[key]}" for key in SHOWN if body.get(key) not in (None, "", "none")]
        return output.line(" ".join([times.format_ms(event.at), event.request, event.kind, *parts]))


class _OneLine(logging.Formatter):
    """A fault as one line: which Request, which kind of error. Its text could hold somebody's words."""

    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        parts = [record.levelname.lower(), record.getMessage(), getattr(record, "request", ""), kind]
        return output.plain(" ".join(part for part in parts if part))


@contextmanager
def logged() -> Iterator[None]:
    """The log of what Oncemore does, on standard error; with ONCEMORE_DEBUG=1 as whole tracebacks."""
    handler = logging.StreamHandler()
    if os.environ.get("ONCEMORE_DEBUG") != "1":
        handler.setFormatter(_OneLine())
    log = logging.getLogger("oncemore")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
