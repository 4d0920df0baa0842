"""What would a policy that only watches have done, and what became of those conversations?

Gathered from the journal: the first moment at which the policy fired on a Request without acting, and the first thing
that ended that conversation's waiting afterwards. It says what happened, not what would have: nobody knows that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from oncemore.engine.allowance_tables import Advice
from oncemore.engine.tables import Attempt, Decision, Event, Request

Ending = Literal[
    "wrote_again", "other_policy", "same_policy", "operator_acted", "stopped", "closed", "answered", "open"
]

WATCHING = ("shadow", "advise")
"""Levels at which a policy that fires does nothing by itself."""


@dataclass(frozen=True, slots=True)
class Would:
    """One Request that a policy would have acted on.

    Attributes:
        at: when it fired first, milliseconds since the epoch.
        ended: what came first afterwards: the person `wrote_again` in the conversation; an `other_policy` acted; the
            `same_policy` did, after its level was raised; an `operator_acted` on its advice; it was `stopped`, or
            `closed` by hand; it was `answered` otherwise; nothing yet, it is `open`.
        by: the policy that acted, or who stopped it.
        ended_at: milliseconds; None while nothing has come.
        still_fires: it is open, and the policy's newest decision on it is still to act.
    """

    policy: str
    level: str
    request: str
    decision: str
    at: int
    ended: Ending
    by: str | None
    ended_at: int | None
    still_fires: bool


def would_have(policies: Iterable[str], since: int, until: int) -> list[Would]:
    """By policy and time, everything that fired first within the range and was only watched.

    Args:
        since, until: milliseconds since the epoch; the second one is excluded.
    """
    return [one for policy in sorted(set(policies)) for one in _of(policy, since, until)]


def _of(policy: str, since: int, until: int) -> Iterator[Would]:
    rows = (
        Decision.select()
        .where(Decision.policy == policy, Decision.at >= since, Decision.at < until, Decision.outcome == "fire")
        .where(Decision.level.in_(WATCHING))
        .order_by(Decision.at, Decision.id)
    )
    told: set[str] = set()
    for row in rows:
        if row.request in told:
            continue
        told.add(row.request)
        ended, by, at = _ended(policy, row.request, row.at)
        fires = ended == "open" and _fires(policy, row.request)
        yield Would(policy, row.level, row.request, row.id, row.at, ended, by, at, fires)


def _fires(policy: str, request: str) -> bool:
    newest = (
        Decision.select(Decision.outcome)
        .where(Decision.policy == policy, Decision.request == request)
        .order_by(Decision.at.desc())
        .scalar()
    )
    return bool(newest == "fire")


def _ended(policy: str, request: str, after: int) -> tuple[Ending, str | None, int | None]:
    """The first of everything that ends the waiting."""
    row = Request.get_by_id(request)
    found = [*_written(row, after), *_acted(policy, request, after), *_by_people(request, after)]
    if found:
        at, ending, by = min(found, key=lambda one: one[0])
        return ending, by, at
    if row.state == "open":
        return "open", None, None
    last = Event.select(Event.at).where(Event.request == request, Event.kind == row.state).scalar()
    return "answered", None, last


def _written(row: Request, after: int) -> Iterator[tuple[int, Ending, str | None]]:
    newer = (
        Request.select(Request.created_at)
        .where(Request.session == row.session, Request.position > row.position, Request.created_at >= after)
        .order_by(Request.position)
        .scalar()
    )
    if newer is not None:
        yield int(newer), "wrote_again", None


def _acted(policy: str, request: str, after: int) -> Iterator[tuple[int, Ending, str | None]]:
    first = (
        Attempt.select()
        .where(Attempt.request == request, Attempt.reserved_at >= after)
        .order_by(Attempt.reserved_at)
        .first()
    )
    if first is None:
        return
    by = Decision.select(Decision.policy).where(Decision.id == first.decision).scalar()
    if by != policy:
        yield first.reserved_at, "other_policy", by
    elif Advice.select().where(Advice.request == request, Advice.policy == policy, Advice.taken_at >= after).exists():
        yield first.reserved_at, "operator_acted", by
    else:
        yield first.reserved_at, "same_policy", by


def _by_people(request: str, after: int) -> Iterator[tuple[int, Ending, str | None]]:
    events = Event.select().where(Event.request == request, Event.kind.in_(("stopped", "released")), Event.at >= after)
    for event in events.order_by(Event.seq):
        body = json.loads(event.body)
        if event.kind == "stopped":
            yield event.at, "stopped", body["origin"]
        elif body.get("close"):
            yield event.at, "closed", None
