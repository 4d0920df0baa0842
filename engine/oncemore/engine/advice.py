"""Which firing decisions wait for an operator's word, and what became of those that got it?

A policy at `advise` decides like one that acts, and its firing decision is put before an operator. Who acts on it gives
the policy, for this one Request, the level `enforce`, once: the worker judges everything afresh, at admission and again
at dispatch. No gate is overridden; when it no longer fires, that is what the operator is told.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from oncemore.engine import events, levels
from oncemore.engine.allowance_tables import Advice
from oncemore.engine.context import lock
from oncemore.engine.errors import Conflict, NotFound
from oncemore.engine.journal import Journal
from oncemore.engine.reasons import keepable
from oncemore.engine.tables import Decision, Request

WAITING, TAKEN, DONE, REFUSED, LAPSED = "waiting", "taken", "done", "refused", "lapsed"


@dataclass(frozen=True, slots=True)
class Offer:
    """A firing decision that waits for an operator.

    Attributes:
        decision: the id of the decision that fired first.
        since: milliseconds since the epoch.
    """

    request: str
    policy: str
    decision: str
    since: int


def waiting(request: str | None = None) -> list[Offer]:
    """What waits for an operator, the oldest first.

    Args:
        request: of this Request alone.
    """
    rows = (
        Advice.select()
        .join(Request, on=(Request.id == Advice.request))
        .where(Advice.state == WAITING, Request.state == "open")
        .order_by(Advice.offered_at, Advice.id)
    )
    if request is not None:
        rows = rows.where(Advice.request == request)
    return [Offer(row.request, row.policy, row.decision, row.offered_at) for row in rows]


def act(journal: Journal, request: str, policy: str, who: str, why: str) -> None:
    """An operator takes the advice: the Request is due now, and the policy acts if everything still passes.

    Raises:
        NotFound: there is no such Request.
        Conflict: it has ended, this policy does not advise anything on it now, the policy is no longer at `advise`,
            another advice on it was acted on already, or there is no reason.
    """
    if not why.strip():
        raise Conflict("acting needs a reason")
    keepable(why)
    with journal.transaction():
        row = Request.get_or_none(Request.id == request)
        if row is None:
            raise NotFound(f"there is no Request {request}")
        lock(row.session)
        now = journal.advance_clock().ms
        row = Request.get_by_id(request)
        if row.state != "open":
            raise Conflict(f"the Request {request} is already {row.state}")
        if (other := taken(request)) is not None:
            raise Conflict(f"{request} was acted on already, for {other}; it is being judged")
        if policy not in [offer.policy for offer in waiting(request)]:
            raise Conflict(f"{policy} advises nothing on {request} now")
        level = levels.current([policy], now)[policy]
        if level != "advise":
            raise Conflict(f"{policy} is at {level} now, not at advise")
        Advice.update(state=TAKEN, who=who, why=why, taken_at=now).where(
            Advice.request == request, Advice.policy == policy, Advice.state == WAITING
        ).execute()
        Request.update(due_at=now, held=None, words=Request.words + 1).where(Request.id == request).execute()
        events.append(request, "advice_taken", now, policy=policy, who=who, why=why)


def taken(request: str) -> str | None:
    """The policy that an operator's word lets act on the Request, until that came to an end."""
    found = Advice.select(Advice.policy).where(Advice.request == request, Advice.state == TAKEN).scalar()
    return None if found is None else str(found)


def let_through(request: str, policy: str, level: str | None, at: int) -> Advice | None:
    """The advice by which a decision of the policy at that time acted: an operator's word, not its level, let it.

    Args:
        level: that the decision was made under.
        at: when that was, milliseconds since the epoch.
    """
    if level != "enforce":
        return None
    of = Advice.select().where(Advice.request == request, Advice.policy == policy, Advice.taken_at <= at)
    row = of.where(Advice.settled_at.is_null() | (Advice.settled_at >= at)).order_by(Advice.id.desc()).first()
    assert row is None or isinstance(row, Advice)
    return row if row is not None and levels.current([policy], at)[policy] == "advise" else None


def refusal(request: str) -> Advice | None:
    """The newest advice on the Request, when acting on it came to nothing."""
    row = Advice.select().where(Advice.request == request).order_by(Advice.id.desc()).first()
    assert row is None or isinstance(row, Advice)
    return row if row is not None and row.state == REFUSED else None


def judged(request: str, records: Collection[Mapping[str, Any]], fired: str | None, now: int) -> None:
    """A Request was judged at admission: what fires at `advise` is offered, what no longer does lapses, and an
    operator's word that nothing came of is answered. Inside the transaction that keeps the judgement."""
    acting = taken(request)
    if acting is not None and fired != acting:
        own = next((one for one in records if one["policy"]["name"] == acting), None)
        settle(request, REFUSED, now, _reason(own, fired))
    advising = {
        one["policy"]["name"]
        for one in records
        if fired is None and one["level"] == "advise" and one["outcome"] == "fire"
    }
    offered = {offer.policy for offer in waiting(request)}
    for policy in sorted(offered - advising):
        Advice.update(state=LAPSED, settled_at=now).where(
            Advice.request == request, Advice.policy == policy, Advice.state == WAITING
        ).execute()
    for policy in sorted(advising - offered):
        decision = (
            Decision.select(Decision.id)
            .where(Decision.request == request, Decision.policy == policy)
            .order_by(Decision.at.desc())
            .scalar()
        )
        Advice.insert(request=request, policy=policy, decision=decision, state=WAITING, offered_at=now).execute()
        events.append(request, "advised", now, policy=policy, decision=decision)


def settle(request: str, state: str, now: int, reason: str | None = None) -> None:
    """An operator's word has had its effect: `DONE` or `REFUSED`. Inside a transaction."""
    policy = taken(request)
    if policy is None:
        return
    Advice.update(state=state, reason=reason, settled_at=now).where(
        Advice.request == request, Advice.state == TAKEN
    ).execute()
    if state == REFUSED:
        events.append(request, "advice_refused", now, policy=policy, reason=reason)


def _reason(own: Mapping[str, Any] | None, fired: str | None) -> str:
    if fired is not None:
        return f"{fired} acts"
    if own is None:
        return "the policy is off, or no longer there"
    if own["outcome"] == "fire":
        return f"the policy is at {own['level']}"
    return f"{own['outcome']}: {own['reason']['gate'] or own['reason']['kind']}"
