"""Which words and shapes do the routes share?"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from oncemore.adapters.api.problems import MEDIA_TYPE

ID: Final = "^[a-z0-9][a-z0-9-]{0,63}$"
MESSAGE_ID: Final = "^[A-Za-z0-9._:-]{1,128}$"
REQUEST_ID: Final = "^r-[0-9a-f]{12}$"
DECISION_ID: Final = "^(sha256:)?[0-9a-f]{12,64}$"
NOT_BLANK: Final = r"\S"

Id = Annotated[str, Field(pattern=ID, description="A configured id.")]
MessageId = Annotated[
    str,
    Field(
        pattern=MESSAGE_ID,
        description="The sender's own id of the message; makes posting safe to repeat.",
    ),
]
Why = Annotated[
    str, Field(min_length=1, max_length=1_000, pattern=NOT_BLANK, description="The reason; it is recorded.")
]

RequestId = Annotated[str, Path(pattern=REQUEST_ID, description="A Request.")]
DecisionId = Annotated[str, Path(pattern=DECISION_ID, description="A decision, or the beginning of its id.")]
IdInPath = Annotated[str, Path(pattern=ID)]
Limit = Annotated[int, Query(ge=1, le=200, description="Most of them in one part.")]
Cursor = Annotated[
    str | None, Query(min_length=1, max_length=200, description="`next` of the part before; left out for the first.")
]
Time = Annotated[str, Field(description="RFC 3339, UTC, with milliseconds.")]

Outcome = Literal["fire", "wait", "hold", "deny", "not_concerned"]
Level = Literal["off", "shadow", "advise", "enforce"]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that a route can answer with, beside those that every route can."""
    said = {
        400: "The body is not strict JSON.",
        401: "There is no key, or it opens nothing.",
        403: "The key is not for this, or Host or Origin are not configured.",
        404: "There is no such thing.",
        405: "That method is not one of this address.",
        408: "The body did not come whole in time.",
        409: "It cannot be done as things stand; nothing was changed.",
        410: "It can no longer be shown.",
        413: "The body is too large.",
        415: "The body is of another content type.",
        422: "Body or parameters are not what the route takes.",
        429: "Too many calls.",
        500: "A fault of ours.",
        503: "Not at the moment.",
    }
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": said[status], "content": content} for status in sorted({*ALWAYS, *statuses})}


ALWAYS: Final = (401, 403, 422, 429, 500, 503)


class RequestLine(BaseModel):
    """How one Request stands, in one line."""

    request: str
    workspace: str
    state: Literal["open", "answered", "stopped", "superseded"]
    doing: str = Field(description="queued, running, replying, waits, advised, held, rests, else the state.")
    since: Time
    gate: str | None = Field(description="What stops it.")
    until: Time | None = Field(description="When it is looked at again.")
    helps: str = Field(description="The command that says more or gets it going; `oncemore work` where no worker is.")
    running_for: str | None


class RequestList(BaseModel):
    """A part of a listing."""

    requests: list[RequestLine]
    next: str | None = Field(description="The cursor of the next part; null when there is none.")


class Timeline(BaseModel):
    """A Request with everything that happened to it."""

    request: str
    state: str
    held: str | None
    due: Time | None
    workspace: str
    owner: str
    session: str
    runtime: str
    threads: list[str]
    ran_in: list[str]
    timeline: list[dict[str, Any]] = Field(description="Message, Turns, Attempts, decisions and replies, in order.")
    standing: RequestLine


class Accepted(BaseModel):
    """A message that was taken in."""

    request: str = Field(description="The Request that it is.")
    message: str = Field(description="The message's id in the conversation.")
    replayed: bool = Field(description="It had been taken in before; nothing was done now.")


class Changed(BaseModel):
    """What a person's word left a Request as."""

    request: str
    state: str
    held: str | None


class Policy(BaseModel):
    """A policy in force."""

    name: str
    revision: int
    digest: str
    summary: dict[str, str]
    action: str
    attempt: str | None
    patience: str | None = Field(description="For how long it may wait; null for ever.")
    level: Level


class PolicyList(BaseModel):
    """The policies in force."""

    digest: str = Field(description="Of all of them together.")
    policies: list[Policy]


class Gate(BaseModel):
    """One named condition of a policy."""

    id: str
    require: str
    otherwise: Outcome
    unknown: Outcome
    recheck: bool
    group: str | None
    why: dict[str, str]
    at: str


class WholePolicy(Policy):
    """A policy with its gates and its text."""

    when: str
    gates: list[Gate]
    texts: dict[str, str] = Field(description="The rule files themselves, by name.")


class LevelLine(BaseModel):
    """At which level a policy works, and who said so."""

    policy: str
    level: Level
    since: Time | None
    until: Time | None
    who: str | None
    why: str


class LevelList(BaseModel):
    """Every policy's level."""

    levels: list[LevelLine]


class Breaker(BaseModel):
    """Whether recoveries may begin."""

    state: Literal["open", "closed"] = Field(description="`open`: no recovery begins.")
    since: Time | None = Field(description="Null when it never opened.")
    who: str | None = Field(description="`oncemore` when it opened by itself.")
    why: str | None


class Budget(BaseModel):
    """One budget as it stands."""

    budget: str = Field(description="`per_hour`, `per_owner:OWNER` or `in_flight:ROUTE`.")
    used: int
    limit: int
    waiting: int = Field(description="Requests that wait for it.")


class Allowances(BaseModel):
    """How much may be done."""

    breaker: Breaker
    budgets: list[Budget] = Field(description="Those that have a limit.")


class FactList(BaseModel):
    """The vocabulary."""

    digest: str
    facts: list[dict[str, Any]]


class Check(BaseModel):
    """One thing that has to be so for the service to work."""

    name: str
    ok: bool
    says: str
    needed: bool = Field(description="Without it the service is not ready.")


class Readiness(BaseModel):
    """Whether the service can do its work."""

    ready: bool
    checks: list[Check]


class Decision(BaseModel):
    """One policy's decision; `docs/evaluation.md` says what each part means."""

    decision_id: str
    at: Time
    stage: Literal["admission", "dispatch", "in_turn", "asked"]
    origin: Literal["read_back", "posted"]
    request: str | None
    policy: dict[str, Any]
    level: Level | None
    outcome: Outcome
    reason: dict[str, Any]
    when: dict[str, Any]
    gates: list[dict[str, Any]]
    until: Time | None
    missing: list[str]
    stale: list[str]
    conflict: list[str]
    action: str | None
    attempt: str | None
    parameters: dict[str, str]
    facts_digest: str
    facts: dict[str, Any]
    engine: dict[str, str]


class Decided(BaseModel):
    """What the rules say of a case."""

    outcome: Outcome
    fired: str | None = Field(description="The policy that may act.")
    decisions: list[Decision]
