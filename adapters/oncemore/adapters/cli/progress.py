"""What did the worker just do? A line for each event, with ids and states and nobody's words."""

from __future__ import annotations

import json

from oncemore.adapters.cli import output
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.tables import Event
from oncemore.rules import times

SHOWN = ("turn", "stage", "status", "outcome", "policy", "report", "proof", "native_turn", "error", "until")
"""What of an event is ids and states; the rest is digests, or words such as a person's reason."""


class Progress:
    """Tells each event once.

    Args:
        since: older events are not told, milliseconds since the epoch.
    """

    def __init__(self, since: int) -> None:
        self._since = since
        self._told: dict[str, int] = {}

    def checkpoint(self, _point: CrashPoint, _subject: str) -> None:
        """As the executor's checkpoint: what happened is told while a Turn runs, not only after it."""
        self.tell()

    def tell(self) -> None:
        """Tell what is new."""
        latest = self._since
        for event in Event.select().where(Event.at >= self._since).order_by(Event.at, Event.request, Event.seq):
            latest = max(latest, event.at)
            if event.seq <= self._told.get(event.request, 0):
                continue
            self._told[event.request] = event.seq
            body = json.loads(event.body)
            parts = [f"{key}={body[key]}" for key in SHOWN if body.get(key) not in (None, "", "none")]
            output.say(output.plain(" ".join([times.format_ms(event.at), event.request, event.kind, *parts])))
        self._since = latest
