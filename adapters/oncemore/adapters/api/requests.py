"""What do people ask for over HTTP, how does it stand, and how do they step in?"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import peewee as pw
from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from oncemore.adapters.api.answers import answer, cursor, cursor_of
from oncemore.adapters.api.doors import key_of
from oncemore.adapters.api.schemas import (
    Accepted,
    Changed,
    Cursor,
    Id,
    Limit,
    MessageId,
    RequestId,
    RequestList,
    Timeline,
    Why,
    problems,
)
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import Body, Language, for_scope
from oncemore.adapters.standing import mark, standing, standings
from oncemore.adapters.timeline import timeline
from oncemore.engine import advice, intake, texts
from oncemore.engine.errors import Conflict, NotFound
from oncemore.engine.service_tables import PostedMessage
from oncemore.engine.tables import Request as RequestRow

State = Literal["open", "answered", "stopped", "superseded", "all"]
TRIES: Final = 4
"""How often a post is tried that others came before."""

Saw = Literal["delivered", "not-delivered", "ran", "did-not-run"]


class NewRequest(Body):
    """A person's message to a workspace, or a command such as `/stop` or `/status`."""

    workspace: Id
    text: Annotated[str, Field(min_length=1, max_length=intake.MESSAGE_LENGTH, pattern=r"\S")]
    message: MessageId | None = None
    language: Annotated[Language, Field(description="Of our own words to the person.")] = "en"


class Stop(Body):
    """Why a Request is stopped."""

    why: Why


class Act(Body):
    """Why what a policy advises is done."""

    policy: Annotated[Id | None, Field(description="Which one; left out for the only one that advises anything.")] = (
        None
    )
    why: Why


class Release(Body):
    """Why a Request is released, and what the person saw."""

    why: Why
    saw: Annotated[Saw | None, Field(description="What became of a call whose outcome was ambiguous.")] = None
    close: Annotated[bool, Field(description="End the Request as answered by hand.")] = False


def reading(service: Service) -> APIRouter:
    """What a key for `read` opens."""
    router = APIRouter(route_class=for_scope("read"), tags=["requests"])

    @router.get("/v1/requests", response_model=None, responses={200: {"model": RequestList}, **problems()})
    async def list_requests(
        state: Annotated[State, Query(description="Those in this state.")] = "open",
        limit: Limit = 50,
        cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    ) -> Response:
        """How each Request stands, oldest first."""
        after = cursor(cursor_)

        def read() -> dict[str, Any]:
            journal = service.house.journal
            found = standings(state, "", journal.now().ms, worked=journal.worked(), after=after, limit=limit + 1)
            shown = found[:limit]
            further = cursor_of(*mark(shown[-1].request)) if len(found) > limit else None
            return {"requests": [one.as_json() for one in shown], "next": further}

        return answer(await service.read(read))

    @router.get("/v1/requests/{request}", response_model=None, responses={200: {"model": Timeline}, **problems(404)})
    async def show_request(request: RequestId) -> Response:
        """One Request with its Turns, replies, Attempts, deliveries and decisions."""

        def read() -> dict[str, Any]:
            journal = service.house.journal
            line = standing(request, "", journal.now().ms, worked=journal.worked())
            return {**timeline(request), "standing": line.as_json()}

        return answer(await service.read(read))

    return router


def acting(service: Service) -> APIRouter:
    """What a key for `act` opens."""
    router = APIRouter(route_class=for_scope("act"), tags=["requests"])
    refusals = problems(400, 404, 408, 409, 413, 415)

    @router.post(
        "/v1/requests",
        response_model=None,
        status_code=201,
        responses={
            201: {"model": Accepted, "description": "Taken in."},
            200: {"model": Accepted, "description": "It had been taken in before, with the same content."},
            **refusals,
        },
    )
    async def post_request(body: NewRequest) -> Response:
        """Take a person's message in.

        With `message` the post can be repeated: the same content gives the same Request, other content is refused.
        """
        accepted = await posted(service, body)
        return answer(accepted, 200 if accepted["replayed"] else 201)

    @router.post("/v1/requests/{request}/stop", response_model=None, responses={200: {"model": Changed}, **refusals})
    async def stop_request(call: Request, request: RequestId, body: Stop) -> Response:
        """Stop a Request: what waits never starts, what runs is interrupted, only the stop is answered."""
        why = f"{body.why} (key {key_of(call).id})"

        def write() -> dict[str, Any]:
            intake.stop(service.house.journal, request, "operator", why)
            return _stands(request)

        return answer(await service.write(write))

    @router.post("/v1/requests/{request}/act", response_model=None, responses={200: {"model": Changed}, **refusals})
    async def act_on_advice(call: Request, request: RequestId, body: Act) -> Response:
        """Do what a policy at `advise` puts before you: all is judged afresh, and it acts once if it still fires."""
        key = key_of(call)

        def write() -> dict[str, Any]:
            policy = body.policy or _advising(request)
            advice.act(service.house.journal, request, policy, f"key {key.id} {key.name}", body.why)
            return _stands(request)

        return answer(await service.write(write))

    @router.post("/v1/requests/{request}/release", response_model=None, responses={200: {"model": Changed}, **refusals})
    async def release_request(call: Request, request: RequestId, body: Release) -> Response:
        """Release a Request: it is due now and every gate is judged afresh; none is overridden."""
        why = f"{body.why} (key {key_of(call).id})"

        def write() -> dict[str, Any]:
            intake.release(service.house.journal, request, why, saw=body.saw, close=body.close)
            return _stands(request)

        return answer(await service.write(write))

    return router


async def posted(service: Service, new: NewRequest) -> dict[str, Any]:
    """Have a message taken in and committed; see `post`."""
    for _ in range(TRIES - 1):
        try:
            return await service.write(lambda: post(service, new))
        except pw.IntegrityError:
            # Another process took the same message in, or the same place in the conversation; now it can be seen.
            continue
    return await service.write(lambda: post(service, new))


def post(service: Service, new: NewRequest) -> dict[str, Any]:
    """Take a message in, once for each of its sender's ids. Inside a transaction.

    Raises:
        NotFound: there is no such workspace.
        Conflict: the same id came with other content, or the conversation does not take the message.
    """
    if new.workspace not in service.house.configuration.workspaces:
        raise NotFound(f"there is no workspace {new.workspace}")
    digest = texts.digest(new.text)
    before = None
    if new.message is not None:
        before = PostedMessage.get_or_none(
            PostedMessage.workspace == new.workspace, PostedMessage.message == new.message
        )
    if before is not None:
        if (before.digest, before.language) != (digest, new.language):
            raise Conflict(f"the message {new.message} was posted before with other content")
        return {"request": before.request, "message": before.inbox_message, "replayed": True}
    request = service.house.ask(new.workspace, new.text, language=new.language)
    message = RequestRow.get_by_id(request).message
    if new.message is not None:
        PostedMessage.insert(
            workspace=new.workspace,
            message=new.message,
            digest=digest,
            language=new.language,
            inbox_message=message,
            request=request,
            at=service.house.journal.advance_clock().ms,
        ).execute()
    return {"request": request, "message": message, "replayed": False}


def _advising(request: str) -> str:
    """The one policy that advises something on a Request.

    Raises:
        NotFound: there is no such Request.
        Conflict: none does, or several do.
    """
    if RequestRow.get_or_none(RequestRow.id == request) is None:
        raise NotFound(f"there is no Request {request}")
    offers = [offer.policy for offer in advice.waiting(request)]
    if len(offers) != 1:
        said = f"name one of {', '.join(offers)}" if offers else "no policy advises anything on it now"
        raise Conflict(f"{request}: {said}")
    return offers[0]


def _stands(request: str) -> dict[str, Any]:
    row = RequestRow.get_by_id(request)
    return {"request": row.id, "state": row.state, "held": row.held}
