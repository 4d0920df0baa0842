"""Whose turn is it to ask whether a route to a model has capacity again?

One account serves every Session of a runtime. After a usage limit all their Requests wait; the first one that is due
looks, and the others follow one by one at a spread, so that returning capacity is not used up at once.
"""

from __future__ import annotations

from oncemore.engine.tables import Route, database

SPREAD = 10_000
"""For how long nobody else looks after one Request did, milliseconds."""


def may_look(name: str, request: str, now: int | None = None) -> bool:
    """Whether this Request may look at the route's capacity now; if so, the place is taken by it.

    Args:
        now: milliseconds since the epoch; the journal's last time when None.
    """
    from oncemore.engine.tables import Clock

    at = now if now is not None else Clock.select(Clock.last).scalar()
    with database.atomic("IMMEDIATE"):
        row = Route.get_or_none(Route.name == name)
        if row is not None and row.holder != request and at < row.next_look:
            return False
        Route.insert(name=name, holder=request, next_look=at + SPREAD).on_conflict(
            conflict_target=[Route.name], update={Route.holder: request, Route.next_look: at + SPREAD}
        ).execute()
    return True
