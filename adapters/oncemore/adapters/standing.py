"""How does each Request stand: what is it doing, since when, what stops it, until when, and what would help?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from oncemore.engine import advice, breaker, budgets, queueing
from oncemore.engine.allowance_tables import BudgetWait
from oncemore.engine.errors import NotFound
from oncemore.engine.facts import STARTED
from oncemore.engine.intake import Saw
from oncemore.engine.tables import Attempt, Decision, DecisionPass, Delivery, Request, Session, Turn
from oncemore.rules import durations, times

TRIES = {
    "work": "the one continuation",
    "review": "the one review",
    "quota": "the retry after a usage limit",
    "route": "the retry after a failed route",
}
"""What each kind of try is called."""

ENDS = {
    "failed": "failed",
    "withdrawn": "was withdrawn before it started",
    "ambiguous": "may or may not have run",
}
"""How a try ended that left no answer."""

STATES = ("open", "answered", "stopped", "superseded", "all")


@dataclass(frozen=True, slots=True)
class Standing:
    """One Request in one line.

    Attributes:
        doing: `queued`, `running`, `replying`, `waits`, `advised` (an operator may act on it), `held`, `rests` (nothing
            more happens by itself), else the Request's own state.
        since: when that began, milliseconds since the epoch.
        gate: what stops it: `policy: gate`, or why it rests or is held, in words.
        until: when it is looked at again, milliseconds; None when not by itself.
        helps: the command that says more or gets it going.
        running_for: for how long it runs already; None when it does not.
    """

    request: str
    workspace: str
    state: str
    doing: str
    since: int
    gate: str | None
    until: int | None
    helps: str
    running_for: str | None = None

    def as_json(self) -> dict[str, Any]:
        """With times as text."""
        return asdict(self) | {
            "since": times.format_ms(self.since),
            "until": None if self.until is None else times.format_ms(self.until),
        }


Mark: TypeAlias = tuple[int, str]
"""Where one part of a listing ends and the next begins: when the last Request was taken in, and its id."""


def standings(
    state: str, home: str, now: int, *, worked: bool = False, after: Mark | None = None, limit: int | None = None
) -> list[Standing]:
    """The Requests in a state, oldest first.

    Args:
        state: one of `STATES`.
        home: what suggested commands carry to name the same home, such as ` --home DIR`.
        now: the journal's moment, milliseconds since the epoch.
        worked: a worker is there, who takes what is queued by itself.
        after: only later ones than this.
        limit: most of them; None for all.
    """
    chosen = Request.select().order_by(Request.created_at, Request.id).limit(limit)
    if state != "all":
        chosen = chosen.where(Request.state == state)
    if after is not None:
        at, last = after
        chosen = chosen.where((Request.created_at > at) | ((Request.created_at == at) & (Request.id > last)))
    rows = list(chosen)
    found = Session.select(Session.id, Session.workspace)
    if limit is not None:
        found = found.where(Session.id.in_({row.session for row in rows}))
    workspaces = {session.id: session.workspace for session in found}
    return [standing_of(row, workspaces[row.session], home, now, worked=worked) for row in rows]


def standing(request: str, home: str, now: int, *, worked: bool = False) -> Standing:
    """How one Request stands; see `standings`.

    Raises:
        NotFound: there is no such Request.
    """
    row = Request.get_or_none(Request.id == request)
    if row is None:
        raise NotFound(f"there is no Request {request}")
    return standing_of(row, Session.get_by_id(row.session).workspace, home, now, worked=worked)


def mark(request: str) -> Mark:
    """Where a listing ends with this Request."""
    return Request.get_by_id(request).created_at, request


def standing_of(row: Request, workspace: str, home: str, now: int, *, worked: bool = False) -> Standing:
    """How one Request stands; the others as for all of them."""
    doing, since, gate, until, helps = _now(row, home)
    if doing == "queued" and not helps:
        # A worker takes it in its turn; without one nothing happens.
        helps = f"oncemore show{home} {row.id}" if worked else f"oncemore work{home}"
    if doing == "rests" and not helps:
        release = f"oncemore release{home} {row.id} --why TEXT --close"
        helps = f"write again (oncemore ask{home} {workspace} TEXT), or {release}"
    ran = durations.format_ms(max(0, now - since) // 1_000 * 1_000) if doing == "running" else None
    return Standing(row.id, workspace, row.state, doing, since, gate, until, helps, ran)


_Now = tuple[str, int, str | None, int | None, str]


def _now(row: Request, home: str) -> _Now:
    show = f"oncemore show{home} {row.id}"
    if row.held is not None:
        return _held(row, home)
    if row.state != "open":
        return row.state, row.created_at, None, None, show
    unfinished = Turn.select().where(Turn.request == row.id, Turn.ended_at.is_null()).order_by(Turn.position).first()
    if unfinished is not None and unfinished.status in STARTED:
        return "running", unfinished.started_at or unfinished.queued_at, None, None, show
    decided = _newest(row.id)
    if row.due_at is not None and (limited := _limited(row.id, decided)) is not None:
        explained = f"oncemore explain{home} --request {row.id}"
        helps = f"oncemore breaker{home}" if limited.budget == breaker.NAME else explained
        return "waits", limited.since, f"{limited.policy}: {limited.why}", row.due_at, helps
    # A recovery that is queued waits for the rules, one that a person asked for waits for its turn.
    if unfinished is not None and (unfinished.phase == "business" or decided is None or decided.stage != "dispatch"):
        return "queued", unfinished.queued_at, None, None, ""
    sending = (
        Delivery.select().where(Delivery.request == row.id, Delivery.state.in_(("frozen", "sending", "sent"))).first()
    )
    if sending is not None:
        return "replying", sending.frozen_at, None, row.due_at, show
    if decided is None:
        if row.due_at is None:
            return "rests", row.created_at, "nothing was decided on it", None, ""
        return "queued", row.created_at, None, row.due_at, show
    verdicts = list(Decision.select().where(Decision.decision_pass == decided.id).order_by(Decision.policy))
    explain = f"oncemore explain{home} --request {row.id}"
    if offers := advice.waiting(row.id):
        # With more than one the operator says which.
        which = f" --policy {offers[0].policy}" if len(offers) > 1 else ""
        act = f"oncemore act{home} {row.id}{which} --why TEXT"
        return "advised", offers[0].since, ", ".join(offer.policy for offer in offers), row.due_at, act
    if row.due_at is not None:
        waiting = [one for one in verdicts if one.outcome == "wait"]
        return "waits", row.waiting_since or decided.at, _gate(waiting), row.due_at, explain
    shadowed = next((one for one in verdicts if one.outcome == "fire" and one.level not in ("enforce", "off")), None)
    if shadowed is not None:
        change = f"oncemore levels{home} {shadowed.policy} enforce --why TEXT"
        return "rests", decided.at, f"{shadowed.policy}: would fire, is at {shadowed.level}", None, change
    return "rests", decided.at, _why_it_rests(row.id, verdicts), None, ""


def _limited(request: str, decided: DecisionPass | None) -> BudgetWait | None:
    """The wait for a budget, where it is what the Request waits for now: its policy fires."""
    limited = budgets.waiting(request)
    return limited if limited is not None and decided is not None and decided.fired == limited.policy else None


def _why_it_rests(request: str, verdicts: list[Decision]) -> str:
    """Why nothing more happens by itself: a try that was spent without an answer, else what the policies said."""
    spent = (
        Attempt.select()
        .where(Attempt.request == request, Attempt.open == False, Attempt.state != "answered")  # noqa: E712
        .order_by(Attempt.settled_at.desc())
        .first()
    )
    if spent is not None:
        reason = "" if spent.reason in (None, "none") else f": {spent.reason}"
        return f"{TRIES.get(spent.kind, spent.kind)} {ENDS.get(spent.state, spent.state)}{reason}"
    if (refused := advice.refusal(request)) is not None:
        return f"{refused.policy} was to act, and did not: {refused.reason}"
    denied = _gate([one for one in verdicts if one.outcome == "deny"])
    if denied is not None:
        return f"denied: {denied}"
    if not verdicts:
        return "every policy is off"
    if all(one.outcome == "not_concerned" for one in verdicts):
        expired = Turn.select().where(Turn.request == request, Turn.error == queueing.EXPIRED).exists()
        return "it waited for its turn longer than it may" if expired else "no policy concerns it"
    return ", ".join(f"{one.policy}: {one.outcome}" for one in verdicts if one.outcome != "not_concerned")


def _held(row: Request, home: str) -> _Now:
    release = f"oncemore release{home} {row.id} --why TEXT"
    if sights := uncertain(row):
        release += f" {'|'.join(f'--{saw}' for saw in sights)}"
    decided = _newest(row.id)
    since = row.created_at if decided is None else decided.at
    return "held", since, str(row.held), row.due_at, release


def uncertain(row: Request) -> tuple[Saw, ...]:
    """What a person may have seen of a call of the Request's whose outcome is not known; nothing where none is."""
    starting = Turn.select().where(Turn.request == row.id, Turn.status == "starting").exists()
    if starting and "may have run" in (row.held or ""):
        return "ran", "did-not-run"
    if Delivery.select().where(Delivery.request == row.id, Delivery.state == "ambiguous").exists():
        return "delivered", "not-delivered"
    return ()


def _newest(request: str) -> DecisionPass | None:
    """The newest look at a Request by all policies."""
    found = (
        DecisionPass.select()
        .where(DecisionPass.request == request)
        .order_by(DecisionPass.last_seen.desc(), DecisionPass.at.desc())
        .first()
    )
    assert found is None or isinstance(found, DecisionPass)
    return found


def _gate(verdicts: list[Decision]) -> str | None:
    if not verdicts:
        return None
    first = min(verdicts, key=lambda one: (one.until is None, one.until or 0, one.policy))
    return f"{first.policy}: {first.reason_gate or first.reason_kind}"
