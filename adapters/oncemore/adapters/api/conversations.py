"""What was said in the App's conversation with a workspace, and what became of each message?"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from oncemore.adapters.api.answers import answer, cursor, cursor_of
from oncemore.adapters.api.schemas import Cursor, IdInPath, Limit, RequestLine, Time, problems
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import for_scope
from oncemore.adapters.standing import standing
from oncemore.adapters.timeline import timeline
from oncemore.engine import texts
from oncemore.engine.errors import NotFound
from oncemore.engine.tables import InboxMessage, InboxReply, Request, Session
from oncemore.rules import times

TURNS = ("queued", "started", "ended")
RECOVERIES = ("reserved", "settled")


class Reply(BaseModel):
    """A reply of ours under a message."""

    id: str
    at: Time
    text: str | None = Field(description="Null when it is no longer kept.")


class Message(BaseModel):
    """A person's message with everything that came of it."""

    id: str
    author: str
    at: Time
    text: str | None
    recalled: bool
    command: bool
    request: RequestLine | None
    turns: list[dict[str, Any]]
    recoveries: list[dict[str, Any]]
    replies: list[Reply]


class Conversation(BaseModel):
    """A part of a conversation."""

    workspace: str
    messages: list[Message]
    next: str | None


def reading(service: Service) -> APIRouter:
    """What a key for `read` opens."""
    router = APIRouter(route_class=for_scope("read"), tags=["conversations"])

    @router.get(
        "/v1/conversations/{workspace}", response_model=None, responses={200: {"model": Conversation}, **problems(404)}
    )
    async def show_conversation(
        workspace: IdInPath, limit: Limit = 50, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
    ) -> Response:
        """The App's conversation with a workspace, oldest message first, each with its Turns, recoveries and replies.

        A message is posted to `/v1/requests`; a Request of it is stopped there, or with the message `/stop`.
        """
        if workspace not in service.house.configuration.workspaces:
            raise NotFound(f"there is no workspace {workspace}")
        after = cursor(cursor_)
        source = service.house.inbox.name

        def read() -> dict[str, Any]:
            rows = list(
                InboxMessage.select()
                .where(InboxMessage.conversation == workspace, InboxMessage.position > (after[0] if after else 0))
                .order_by(InboxMessage.position)
                .limit(limit + 1)
            )
            journal = service.house.journal
            now, worked = journal.now().ms, journal.worked()
            shown = [_message(row, source, now, worked) for row in rows[:limit]]
            further = cursor_of(rows[limit - 1].position, rows[limit - 1].id) if len(rows) > limit else None
            return {"workspace": workspace, "messages": shown, "next": further}

        return answer(await service.read(read))

    return router


def _message(row: InboxMessage, source: str, now: int, worked: bool) -> dict[str, Any]:
    sessions = Session.select(Session.id).where(Session.source == source)
    request = Request.get_or_none(Request.message == row.id, Request.session.in_(sessions))
    told = [] if request is None else timeline(request.id)["timeline"]
    replies = InboxReply.select().where(InboxReply.message == row.id).order_by(InboxReply.at, InboxReply.id)
    return {
        "id": row.id,
        "author": row.author,
        "at": times.format_ms(row.at),
        "text": _text(row.digest),
        "recalled": bool(row.recalled),
        "command": bool(row.command),
        "request": None if request is None else standing(request.id, "", now, worked=worked).as_json(),
        "turns": [entry for entry in told if entry["kind"] in TURNS],
        "recoveries": [entry for entry in told if entry["kind"] in RECOVERIES],
        "replies": [{"id": one.id, "at": times.format_ms(one.at), "text": _text(one.digest)} for one in replies],
    }


def _text(digest: str) -> str | None:
    try:
        return texts.fetch(digest)
    except NotFound:
        return None
