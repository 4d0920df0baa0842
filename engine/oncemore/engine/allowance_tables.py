"""In which rows does the journal hold how much may be done?"""

from __future__ import annotations

import peewee as pw

from oncemore.engine.tables import Row


class Route(Row):
    """A way to a model, shared by all Sessions of a runtime: who looked at its capacity last, and until when nobody
    else does."""

    name = pw.TextField(primary_key=True)
    holder = pw.TextField()
    next_look = pw.BigIntegerField()


class RouteCapacity(Row):
    """What was last seen of a route's room, and since when it is so."""

    name = pw.TextField(primary_key=True)
    state = pw.TextField()
    since = pw.BigIntegerField()

    class Meta:
        table_name = "route_capacity"


class LevelChange(Row):
    """A policy's level from `at` on, until `until` or the next change."""

    id = pw.BigAutoField()
    policy = pw.TextField()
    level = pw.TextField()
    who = pw.TextField()
    why = pw.TextField()
    at = pw.BigIntegerField()
    until = pw.BigIntegerField(null=True)

    class Meta:
        table_name = "level_change"


class Budget(Row):
    """The row that is written first by whoever counts recoveries to reserve one more."""

    name = pw.TextField(primary_key=True)
    fence = pw.BigIntegerField()


class BudgetWait(Row):
    """A Request whose policy fires and whose recovery waits for a budget. `given_up` once its policy's patience was
    over: then a person is needed."""

    request = pw.TextField(primary_key=True)
    policy = pw.TextField()
    budget = pw.TextField()
    why = pw.TextField()
    since = pw.BigIntegerField()
    until = pw.BigIntegerField(null=True)
    given_up = pw.BooleanField()

    class Meta:
        table_name = "budget_wait"


class BreakerChange(Row):
    """The breaker opened or was closed; the newest row says how it stands."""

    id = pw.BigAutoField()
    state = pw.TextField()
    who = pw.TextField()
    why = pw.TextField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "breaker_change"


class Advice(Row):
    """A decision at `advise` that fired, put before an operator, and what came of it."""

    id = pw.BigAutoField()
    request = pw.TextField()
    policy = pw.TextField()
    decision = pw.TextField()
    state = pw.TextField()
    who = pw.TextField(null=True)
    why = pw.TextField(null=True)
    reason = pw.TextField(null=True)
    offered_at = pw.BigIntegerField()
    taken_at = pw.BigIntegerField(null=True)
    settled_at = pw.BigIntegerField(null=True)
