"""Whose turn is it to ask whether a route to a model has capacity again?

One account serves every Session of a runtime. After a usage limit all their Requests wait; the first one that is due
looks, and the others follow one by one at a spread, so that returning capacity is not used up at once.
"""

from __future__ import annotations

from oncemore.engine.allowance_tables import Route
from oncemore.engine.tables import Clock, database

SPREAD = 10_000
"""For how long nobody else looks after one Request did, milliseconds, where nothing else is configured."""


def may_look(name: str, request: str, spread: int = SPREAD) -> bool:
    """Whether this Request may look at the route's capacity now, by the journal's last time; if so, the place is taken
    by it: it may look again at once, and nobody else may.

    Args:
        spread: for how long nobody else looks, milliseconds.
    """
    at = Clock.select(Clock.last).scalar()
    # One statement, so that of two who look at the same moment one is told no.
    taken = Route.insert(name=name, holder=request, next_look=at + spread).on_conflict(
        conflict_target=[Route.name],
        update={Route.holder: request, Route.next_look: at + spread},
        where=(Route.holder == request) | (Route.next_look <= at),
    )
    with database.atomic():
        return bool(taken.as_rowcount().execute())
