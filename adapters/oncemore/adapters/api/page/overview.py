"""What is open and why, what was done lately, and what would have been done?"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from peewee import Case

from oncemore.adapters.api.page.reasons import Reason, reason
from oncemore.adapters.api.page.words import Language
from oncemore.adapters.standing import standing_of
from oncemore.engine import advice, breaker
from oncemore.engine.allowance_tables import Advice
from oncemore.engine.tables import Attempt, Decision, DecisionPass, Event, Request, Session, Text
from oncemore.rules.loading import PolicySet

MOST: Final = 100
"""Most open Requests on one page: those that need a person first, then those that are due first."""

LATELY: Final = 12
"""Most things that were done, and that would have been done."""

LATELY_MS: Final = 7 * 24 * 3_600_000

EXCERPT: Final = 140
"""Most characters of a message in a list."""

GROUPS: Final = (
    ("advised", ("advised",)),
    ("held", ("held",)),
    ("waits", ("waits",)),
    ("works", ("running", "replying", "queued")),
    ("rests", ("rests",)),
)
"""The parts of the list, and what its Requests are doing."""


@dataclass(frozen=True, slots=True)
class Line:
    """One open Request.

    Attributes:
        decision: the digits of the newest decision that says why; None where none does.
    """

    request: str
    workspace: str
    doing: str
    since: int
    until: int | None
    reason: Reason | None
    decision: str | None
    excerpt: str | None
    offers: tuple[Offered, ...]


@dataclass(frozen=True, slots=True)
class Offered:
    """A firing decision that waits for an operator.

    Attributes:
        action: what would be done; None when the policy is no longer in force.
        decision: the digits of the decision.
    """

    policy: str
    action: str | None
    decision: str


def offered(request: str, policies: PolicySet) -> tuple[Offered, ...]:
    """What waits for an operator's word on a Request."""
    return tuple(
        Offered(
            offer.policy,
            None if (policy := policies.get(offer.policy)) is None else policy.action,
            offer.decision.removeprefix("sha256:"),
        )
        for offer in advice.waiting(request)
    )


class Shared:
    """The overview as it was a moment ago, for the windows that ask for it again and again: many ask for one look."""

    LASTS: Final = 1.5
    """Seconds that a look is good for."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        self._ticks = ticks
        self._looking = threading.Lock()
        self._kept: dict[tuple[Language, int], tuple[float, dict[str, Any]]] = {}

    def look(self, policies: PolicySet, lang: Language, now: int, *, page: int = 1, fresh: bool) -> dict[str, Any]:
        """Everything that a page of the overview tells.

        Args:
            fresh: look anew in any case.
        """
        with self._looking:
            kept = self._kept.get((lang, page))
            if fresh or kept is None or self._ticks() - kept[0] >= self.LASTS:
                looked = self._ticks()
                self._kept = {key: one for key, one in self._kept.items() if looked - one[0] < self.LASTS}
                kept = self._kept[lang, page] = (looked, overview(policies, lang, now, page))
            return kept[1]


def overview(policies: PolicySet, lang: Language, now: int, page: int = 1) -> dict[str, Any]:
    """Everything that a page of the overview tells; past the last one, what the last one tells."""
    count = Request.select().where(Request.state == "open").count()
    pages = max(1, -(-count // MOST))
    page = min(page, pages)
    rows = list(
        Request.select()
        .where(Request.state == "open")
        .order_by(_for_a_person(), Request.due_at.is_null(), Request.due_at, Request.created_at, Request.id)
        .offset((page - 1) * MOST)
        .limit(MOST)
    )
    lines = _lines(rows, policies, lang, now)
    acted, would = _acted(now), _would(now)
    named = {str(one["request"]) for one in (*acted, *would)}
    excerpts = excerpts_of(Request.select().where(Request.id.in_(named)))
    return {
        "breaker": breaker.opened(),
        "groups": [(name, [line for line in lines if line.doing in doing]) for name, doing in GROUPS],
        "open": count,
        "page": page,
        "pages": pages,
        "first": (page - 1) * MOST + 1,
        "last": (page - 1) * MOST + len(rows),
        "acted": [{**one, "excerpt": excerpts.get(one["request"])} for one in acted],
        "would": [{**one, "excerpt": excerpts.get(one["request"])} for one in would],
    }


def _for_a_person() -> Any:
    """Nought for those that wait for a person, who are listed first."""
    advised = Request.id.in_(Advice.select(Advice.request).where(Advice.state == advice.WAITING))
    return Case(None, [(Request.held.is_null(False) | advised, 0)], 1)


def _lines(rows: list[Request], policies: PolicySet, lang: Language, now: int) -> list[Line]:
    sessions = Session.select(Session.id, Session.workspace).where(Session.id.in_({row.session for row in rows}))
    workspaces = {one.id: one.workspace for one in sessions}
    excerpts = excerpts_of(rows)
    lines = []
    for row in rows:
        stands = standing_of(row, workspaces[row.session], "", now)
        offers = offered(row.id, policies) if stands.doing == "advised" else ()
        why = None if offers else reason(stands.gate, policies, lang)
        lines.append(
            Line(
                request=row.id,
                workspace=stands.workspace,
                doing=stands.doing,
                since=stands.since,
                until=stands.until,
                reason=why,
                decision=None if offers else _deciding(row.id, None if why is None else why.policy),
                excerpt=excerpts.get(row.id),
                offers=offers,
            )
        )
    return lines


def _deciding(request: str, policy: str | None) -> str | None:
    """The newest decision of the policy that stops a Request; of any that has something to say where none is named."""
    newest = DecisionPass.select(DecisionPass.id).where(DecisionPass.request == request)
    latest = newest.order_by(DecisionPass.last_seen.desc(), DecisionPass.at.desc()).limit(1).scalar()
    of = Decision.select(Decision.id).where(Decision.decision_pass == latest)
    of = of.where(Decision.outcome != "not_concerned") if policy is None else of.where(Decision.policy == policy)
    found = of.order_by(Decision.policy).scalar()
    return None if found is None else str(found).removeprefix("sha256:")


def excerpts_of(rows: Iterable[Request]) -> Mapping[str, str]:
    """The beginning of each Request's message, where it is still kept."""
    digests = {str(row.id): str(row.digest) for row in rows}
    kept = {
        str(text.digest): " ".join(str(text.body)[: 4 * EXCERPT].split())
        for text in Text.select().where(Text.digest.in_(set(digests.values())), Text.body.is_null(False))
    }
    return {request: _cut(kept[digest]) for request, digest in digests.items() if digest in kept}


def _cut(text: str) -> str:
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _acted(now: int) -> list[dict[str, Any]]:
    """The tries that policies reserved, newest first."""
    rows: Any = (
        Attempt.select(Attempt, Decision.policy.alias("policy"))
        .join(Decision, on=(Decision.id == Attempt.decision))
        .where(Attempt.reserved_at > now - LATELY_MS)
        .order_by(Attempt.reserved_at.desc(), Attempt.request)
        .limit(LATELY)
        .dicts()
    )
    return [{**row, "decision": str(row["decision"]).removeprefix("sha256:")} for row in rows]


def _would(now: int) -> list[dict[str, Any]]:
    """What a policy in shadow or at advise would have done, once for each Request and policy, and what became of it."""
    rows = (
        Decision.select(Decision.id, Decision.request, Decision.policy, Decision.level, Decision.at)
        .where(Decision.outcome == "fire", Decision.level.in_(("shadow", "advise")), Decision.at > now - LATELY_MS)
        .order_by(Decision.at.desc(), Decision.id)
        .limit(LATELY * 4)
    )
    newest: dict[tuple[str, str], Decision] = {}
    for row in rows:
        newest.setdefault((row.request, row.policy), row)
    chosen = list(newest.values())[:LATELY]
    requests = {row.id: row for row in Request.select().where(Request.id.in_({one.request for one in chosen}))}
    return [
        {
            "request": one.request,
            "policy": one.policy,
            "level": one.level,
            "at": one.at,
            "decision": str(one.id).removeprefix("sha256:"),
            **became(requests[one.request], one.at),
        }
        for one in chosen
    ]


def became(row: Request, since: int) -> dict[str, Any]:
    """What became of a conversation after a policy would have acted on it: `became`, and `after` how many milliseconds.

    `wrote`: the person wrote again; `acted`: a policy took it up after all; `answered`, `closed` by hand, `stopped`,
    `superseded`: how it ended; `held`; `left`: nothing more happened.
    """
    for word, find in _ENDINGS:
        at = find(row, since)
        if at is not None:
            return {"became": word, "after": at - since}
    return {"became": row.state if row.state != "open" else "held" if row.held else "left", "after": None}


def _took_up(row: Request, since: int) -> int | None:
    found = Attempt.select(Attempt.reserved_at).where(Attempt.request == row.id, Attempt.reserved_at > since)
    at: int | None = found.order_by(Attempt.reserved_at).scalar()
    return at


def _event(kind: str, **body: Any) -> Callable[[Request, int], int | None]:
    def find(row: Request, since: int) -> int | None:
        for event in Event.select().where(Event.request == row.id, Event.kind == kind, Event.at >= since):
            if body.items() <= json.loads(event.body).items():
                return int(event.at)
        return None

    return find


def _wrote(row: Request, since: int) -> int | None:
    found = Request.select(Request.created_at).where(Request.session == row.session, Request.position > row.position)
    at: int | None = found.where(Request.created_at > since).order_by(Request.created_at).scalar()
    return at


_ENDINGS: Final = (
    ("acted", _took_up),
    ("closed", _event("released", close=True)),
    ("stopped", _event("stopped")),
    ("wrote", _wrote),
)
