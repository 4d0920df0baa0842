"""Has a route to a model room now? Asked of its runtime, else of the one address that the operator configured for it.

Of an address only the two configured values mean something. Whatever else is answered was reported and is no value,
and what was not answered is missing; neither is ever taken for room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oncemore.adapters.entries import CapacityEntry
from oncemore.adapters.wire import Wire
from oncemore.engine.errors import PortError
from oncemore.engine.ports import Capacity
from oncemore.rules.case import Evidence, Reading


class Probe:
    """The `Capacity` port over one address.

    Args:
        wire: the outgoing client, for which the entry's base is configured.
        clock: milliseconds since the epoch.
    """

    def __init__(self, wire: Wire, entry: CapacityEntry, *, clock: Callable[[], int]) -> None:
        self._wire = wire
        self._entry = entry
        self._clock = clock

    def read(self) -> Reading:
        """`route.state`, asked now. It raises nothing: what could not be asked is missing, with the cause beside it."""
        entry = self._entry
        # Before the question, so that an answer is never younger than it says.
        at = self._clock()
        try:
            found = _at(self._wire.get_json(entry.base, entry.target), entry.path)
        except PortError as error:
            return Reading("missing", None, self._evidence(at, cause=str(error)))
        except LookupError:
            cause = f"the answer has nothing at {'.'.join(entry.path)}"
            return Reading("missing", None, self._evidence(at, cause=cause))
        for state, value in (("available", entry.available), ("exhausted", entry.exhausted)):
            if type(found) is type(value) and found == value:
                return Reading("known", state, self._evidence(at))
        return Reading("reported", None, self._evidence(at, cause="the value is neither of the two configured ones"))

    def _evidence(self, at: int, **details: str) -> Evidence:
        return Evidence(source="probe", observed_at=at, details=details)


class OwnFirst:
    """The runtime's own reading where it gives one, else the probe's."""

    def __init__(self, own: Capacity, probe: Capacity) -> None:
        self._own = own
        self._probe = probe

    def read(self) -> Reading:
        """`route.state`: a runtime that says yes, no or both is not overruled by a probe. Raises `Unreadable`."""
        told = self._own.read()
        return self._probe.read() if told.status == "missing" else told


def _at(content: Any, path: tuple[str, ...]) -> Any:
    """The value at a path of keys and indexes. Raises `LookupError`."""
    for step in path:
        if isinstance(content, dict):
            content = content[step]
        elif isinstance(content, list) and step.isascii() and step.isdecimal():
            content = content[int(step)]
        else:
            raise LookupError(step)
    return content
