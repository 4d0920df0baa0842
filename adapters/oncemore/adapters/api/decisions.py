"""Why was something decided, that was decided before?"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import PlainTextResponse, Response

from oncemore.adapters.api.answers import answer
from oncemore.adapters.api.schemas import Decision, DecisionId, problems
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import Language, for_scope
from oncemore.engine.errors import NotFound
from oncemore.engine.explanation import explain, explanation
from oncemore.engine.journal_records import of_decision, texts_of
from oncemore.engine.records import render
from oncemore.engine.service_tables import PostedDecision, PostedPass

Audience = Literal["operator", "user", "agent"]
Format = Literal["json", "text", "markdown"]


def reading(service: Service) -> APIRouter:
    """What a key for `read` opens."""
    router = APIRouter(route_class=for_scope("read"), tags=["decisions"])

    @router.get(
        "/v1/decisions/{decision}", response_model=None, responses={200: {"model": Decision}, **problems(404, 410)}
    )
    async def show_decision(decision: DecisionId) -> Response:
        """One decision, rendered from what was stored; nothing is evaluated again."""
        return answer(await service.read(lambda: record_of(decision)))

    @router.get(
        "/v1/decisions/{decision}/explain",
        response_model=None,
        responses={
            200: {
                "description": "The explanation.",
                "content": {
                    "application/json": {"schema": {"type": "object"}},
                    "text/plain": {"schema": {"type": "string"}},
                    "text/markdown": {"schema": {"type": "string"}},
                },
            },
            **problems(404, 410),
        },
    )
    async def explain_decision(
        decision: DecisionId,
        lang: Annotated[Language, Query(description="The language of the words.")] = "en",
        audience: Annotated[
            Audience, Query(description="`user` is told the deciding sentence and the time, and nothing else.")
        ] = "operator",
        format: Annotated[Format, Query(description="How it is written.")] = "json",
    ) -> Response:
        """Why it was decided so, in words."""
        record = await service.read(lambda: record_of(decision))
        if format == "json":
            return answer(explanation(record, lang, audience))
        if format == "text":
            return PlainTextResponse(explain(record, lang, audience))
        return Response(explain(record, lang, audience, "markdown"), media_type="text/markdown")

    return router


def record_of(decision: str) -> dict[str, Any]:
    """The record of a decision, on a Request or on a case that was posted.

    Raises:
        NotFound: no decision, or more than one, begins so.
        NotRenderable: what it was judged by is not kept.
    """
    prefix = decision if decision.startswith("sha256:") else f"sha256:{decision}"
    posted = list(PostedDecision.select().where(PostedDecision.id.startswith(prefix)).limit(2))
    if not posted:
        return of_decision(decision)
    if len(posted) > 1:
        raise NotFound(f"more than one decision begins with {decision}")
    stored = str(PostedPass.get_by_id(posted[0].posted_pass).stored).encode()
    return next(one for one in render(stored, texts_of(stored)) if one["decision_id"] == posted[0].id)
