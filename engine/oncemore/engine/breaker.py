"""Is the breaker open, so that no recovery may begin?

It opens by itself when recoveries fail too often, or by an operator's hand, and is closed by a person with a reason.
While it is open what would act waits: nothing is spent, and people's own messages run as always.
"""

from __future__ import annotations

import logging

from oncemore.engine.allowance_tables import BreakerChange, Budget, BudgetWait
from oncemore.engine.errors import Conflict
from oncemore.engine.journal import Journal
from oncemore.engine.limits import BreakerLimits
from oncemore.engine.reasons import keepable
from oncemore.engine.tables import Attempt, Request

log = logging.getLogger("oncemore.breaker")

NAME = "breaker"
"""What a wait for it is called."""

WHY = "the breaker is open"

LOOK = 600_000
"""After how long what waits for it is judged again all the same, milliseconds: its facts change meanwhile."""

HOUR = 3_600_000
BROKEN = ("failed", "ambiguous")
"""How an Attempt ends that counts as a failed recovery; one that was withdrawn never began, and says nothing."""


def take() -> None:
    """Take the row of all budgets for this transaction: nobody else counts recoveries, opens or closes until it ends.
    After the Session's row and before any Request's, or two transactions could wait for each other."""
    Budget.update(fence=Budget.fence + 1).where(Budget.name == "recoveries").execute()


def newest() -> BreakerChange | None:
    """The last change; None when it never opened."""
    row = BreakerChange.select().order_by(BreakerChange.id.desc()).first()
    assert row is None or isinstance(row, BreakerChange)
    return row


def opened() -> BreakerChange | None:
    """The change by which it is open now; None when it is closed."""
    last = newest()
    return last if last is not None and last.state == "open" else None


def judge(limits: BreakerLimits, now: int) -> bool:
    """Open it when recoveries that ended since it was last closed failed too often; whether it is open. Call it inside
    a transaction that has taken the row of budgets."""
    last = newest()
    if last is not None and last.state == "open":
        return True
    why = _too_often(limits, 0 if last is None else last.at, now)
    if why is None:
        return False
    BreakerChange.insert(state="open", who="oncemore", why=why, at=now).execute()
    log.error("the breaker opened: %s; `oncemore breaker` shows it", why)
    return True


def _too_often(limits: BreakerLimits, since: int, now: int) -> str | None:
    ended = Attempt.select(Attempt.state).where(Attempt.settled_at > since, Attempt.state != "withdrawn")
    if limits.in_a_row is not None:
        last = [row.state for row in ended.order_by(Attempt.settled_at.desc()).limit(limits.in_a_row)]
        if len(last) == limits.in_a_row and all(state in BROKEN for state in last):
            return "one recovery failed" if limits.in_a_row == 1 else f"{limits.in_a_row} recoveries in a row failed"
    if limits.per_hour is not None:
        failed = ended.where(Attempt.state.in_(BROKEN), Attempt.settled_at > now - HOUR).count()
        if failed >= limits.per_hour:
            return f"{'one recovery' if failed == 1 else f'{failed} recoveries'} failed within an hour"
    return None


def close(journal: Journal, *, who: str, why: str) -> int:
    """Let recoveries begin again: what waited is judged afresh now. How many Requests waited.

    Raises:
        Conflict: it is closed already, or there is no reason.
    """
    _reasoned(why)
    with journal.transaction():
        take()
        now = journal.advance_clock().ms
        if opened() is None:
            raise Conflict("the breaker is closed already")
        BreakerChange.insert(state="closed", who=who, why=why, at=now).execute()
        waiting = BudgetWait.select(BudgetWait.request).where(BudgetWait.budget == NAME, BudgetWait.given_up == False)  # noqa: E712
        released = Request.update(due_at=now).where(
            Request.id.in_(waiting), Request.state == "open", Request.held.is_null()
        )
        return int(released.execute())


def open_by_hand(journal: Journal, *, who: str, why: str) -> None:
    """Let no recovery begin until it is closed again; those that run go on to their end.

    Raises:
        Conflict: it is open already, or there is no reason.
    """
    _reasoned(why)
    with journal.transaction():
        take()
        now = journal.advance_clock().ms
        if opened() is not None:
            raise Conflict("the breaker is open already")
        BreakerChange.insert(state="open", who=who, why=why, at=now).execute()


def _reasoned(why: str) -> None:
    if not why.strip():
        raise Conflict("a change of the breaker needs a reason")
    keepable(why)
