"""May an agent do this, in the words of AuthZEN?

The evaluation interface of OpenID AuthZEN over the same decisions: the case stands in `context`, the action is one that
policies name, and the answer is yes only when the rules fire for it. Nothing is stored and nothing is done.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from oncemore.adapters.api.answers import answer
from oncemore.adapters.api.posted_case import case_of, judged
from oncemore.adapters.api.schemas import Outcome, problems
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import Body, for_scope
from oncemore.engine.explanation import explanation
from oncemore.engine.phrases import WORDS

Word = Annotated[str, Field(min_length=1, max_length=200)]


class Entity(Body):
    """A subject or resource; it is named in the answer's decisions nowhere, and decides nothing."""

    type: Word
    id: Word
    properties: dict[str, Any] = Field(default_factory=dict)


class Action(Body):
    """What is to be done."""

    name: Annotated[Word, Field(description="An action of policies, such as `continue_work`.")]
    properties: dict[str, Any] = Field(default_factory=dict)


class Evaluation(Body):
    """A question of AuthZEN."""

    subject: Entity
    action: Action
    resource: Entity
    context: dict[str, Any] = Field(
        default_factory=dict, description="The case, as in `/v1/decide`: now, facts, missing, stale, conflict."
    )


class Reason(BaseModel):
    """Why one policy decided so."""

    policy: str
    decision: str
    outcome: Outcome
    reason: dict[str, Any]


class Why(BaseModel):
    """What stands beside the answer."""

    outcome: Outcome
    fired: str | None
    until: str | None
    reasons: list[Reason]
    reason_admin: dict[str, str]
    reason_user: dict[str, str]


class Answer(BaseModel):
    """AuthZEN's answer."""

    decision: bool
    context: Why


def deciding(service: Service) -> APIRouter:
    """What a key for `decide` opens."""
    router = APIRouter(route_class=for_scope("decide"), tags=["decisions"])

    @router.post(
        "/access/v1/evaluation", response_model=None, responses={200: {"model": Answer}, **problems(400, 408, 413, 415)}
    )
    async def evaluate(body: Evaluation) -> Response:
        """Whether the rules fire for an action on the case in `context`."""
        case = case_of(body.context, service.clock(), under="/context")
        rules = service.rules
        found = judged(rules, case, under="/context")
        records = [one for one in found.records if one["outcome"] != "not_concerned"]
        fires = found.fired is not None and rules.action(found.fired) == body.action.name
        first = next((one for one in records if one["policy"]["name"] == found.fired), None) or next(
            (one for one in records if one["outcome"] == found.outcome), None
        )
        untils = [one["until"] for one in records if one["until"] is not None]
        context = {
            "outcome": found.outcome.value,
            "fired": found.fired,
            "until": min(untils, default=None),
            "reasons": [
                {
                    "policy": one["policy"]["name"],
                    "decision": one["decision_id"],
                    "outcome": one["outcome"],
                    "reason": one["reason"],
                }
                for one in records
            ],
            "reason_admin": {} if first is None else _said(first, "operator"),
            "reason_user": {} if first is None else _said(first, "user"),
        }
        return answer({"decision": fires, "context": context})

    return router


def _said(record: dict[str, Any], audience: Any) -> dict[str, str]:
    return {lang: explanation(record, lang, audience)["sentence"] for lang in WORDS}  # type: ignore[arg-type]
