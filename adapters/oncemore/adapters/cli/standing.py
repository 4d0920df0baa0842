"""How does each Request stand: what is it doing, since when, what stops it, until when, and what would help?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from oncemore.engine.facts import STARTED
from oncemore.engine.tables import Decision, DecisionPass, Delivery, Request, Session, Turn
from oncemore.rules import times

STATES = ("open", "answered", "stopped", "superseded", "all")


@dataclass(frozen=True, slots=True)
class Standing:
    """One Request in one line.

    Attributes:
        doing: `queued`, `running`, `replying`, `waits`, `held`, `rests` (nothing more happens by itself and nobody is
            needed), else the Request's own state.
        since: when that began, milliseconds since the epoch.
        gate: what stops it: `policy: gate`, or the executor's sentence.
        until: when it is looked at again, milliseconds; None when not by itself.
        helps: the command that says more or gets it going.
    """

    request: str
    workspace: str
    state: str
    doing: str
    since: int
    gate: str | None
    until: int | None
    helps: str

    def as_json(self) -> dict[str, Any]:
        """With times as text."""
        return asdict(self) | {
            "since": times.format_ms(self.since),
            "until": None if self.until is None else times.format_ms(self.until),
        }


def standings(state: str, home: str) -> list[Standing]:
    """The Requests in a state, oldest first.

    Args:
        state: one of `STATES`.
        home: what suggested commands carry to name the same home, such as ` --home DIR`.
    """
    chosen = Request.select().order_by(Request.created_at, Request.id)
    if state != "all":
        chosen = chosen.where(Request.state == state)
    workspaces = {session.id: session.workspace for session in Session.select(Session.id, Session.workspace)}
    return [_standing(row, workspaces[row.session], home) for row in chosen]


def _standing(row: Request, workspace: str, home: str) -> Standing:
    doing, since, gate, until, helps = _now(row, home)
    return Standing(row.id, workspace, row.state, doing, since, gate, until, helps)


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
    # A recovery that is queued waits for the rules, one that a person asked for waits for its turn.
    if unfinished is not None and (unfinished.phase == "business" or decided is None or decided.stage != "dispatch"):
        return "queued", unfinished.queued_at, None, None, f"oncemore work{home}"
    sending = (
        Delivery.select().where(Delivery.request == row.id, Delivery.state.in_(("frozen", "sending", "sent"))).first()
    )
    if sending is not None:
        return "replying", sending.frozen_at, None, row.due_at, show
    if decided is None:
        return "rests" if row.due_at is None else "queued", row.created_at, None, row.due_at, show
    verdicts = list(Decision.select().where(Decision.decision_pass == decided.id).order_by(Decision.policy))
    explain = f"oncemore explain{home} --request {row.id}"
    if row.due_at is not None:
        waiting = [one for one in verdicts if one.outcome == "wait"]
        return "waits", row.waiting_since or decided.at, _gate(waiting), row.due_at, explain
    shadowed = next((one for one in verdicts if one.outcome == "fire" and one.level not in ("enforce", "off")), None)
    if shadowed is not None:
        change = f"oncemore levels{home} {shadowed.policy} enforce --why TEXT"
        return "rests", decided.at, f"{shadowed.policy}: would fire, is at {shadowed.level}", None, change
    return "rests", decided.at, _gate([one for one in verdicts if one.outcome == "deny"]), None, explain


def _held(row: Request, home: str) -> _Now:
    release = f"oncemore release{home} {row.id} --why TEXT"
    held = str(row.held)
    starting = Turn.select().where(Turn.request == row.id, Turn.status == "starting").exists()
    uncertain = Delivery.select().where(Delivery.request == row.id, Delivery.state == "ambiguous").exists()
    if starting and "may have run" in held:
        release += " --ran|--did-not-run"
    elif uncertain:
        release += " --delivered|--not-delivered"
    decided = _newest(row.id)
    since = row.created_at if decided is None else decided.at
    return "held", since, held, row.due_at, release


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
