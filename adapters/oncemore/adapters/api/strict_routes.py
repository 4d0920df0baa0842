"""How is a call of a route read? Strictly: nothing is ignored, nothing is bent into another type.

Whose scope is too small learns nothing of what its body lacks; a body is strict JSON or is refused with the place; a
parameter that a route does not know is refused, not passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Literal

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import QueryParams

from oncemore.adapters.api.doors import header, reach
from oncemore.adapters.api.keys import Scope
from oncemore.adapters.api.problems import parameter
from oncemore.adapters.api.schemas import DECISION_ID, ID, MESSAGE_ID, NOT_BLANK, REQUEST_ID
from oncemore.adapters.api.strict_json import load, pointer
from oncemore.adapters.errors import Mistake, NotValid, OtherType

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Body(BaseModel):
    """What every body that a route takes is made of."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def content_type(request: Request) -> str:
    """What the body is said to be, without its parameters."""
    return header(request, "content-type").split(";")[0].strip().lower()


def json_type(request: Request) -> None:
    """Refuse every content type but JSON.

    Raises:
        OtherType: it is another.
    """
    if content_type(request) != "application/json":
        raise OtherType("send the body as `Content-Type: application/json`")


def known_parameters(query: QueryParams, known: Iterable[str]) -> None:
    """Refuse parameters that a route does not know, and those that stand twice.

    Raises:
        NotValid: there is one.
    """
    names = list(known)
    for name in query:
        if name not in names:
            there = f"there is {', '.join(names)}" if names else "there is none here"
            raise parameter(name[:100], "there is no such parameter here", there)
        if len(query.getlist(name)) > 1:
            raise parameter(name, "this parameter stands twice", "write it once")


def for_scope(*scopes: Scope) -> type[APIRoute]:
    """Routes that a key with all of these scopes opens."""

    class Scoped(APIRoute):
        def get_route_handler(self) -> Handler:
            answer = super().get_route_handler()
            known = [one.alias for one in self.dependant.query_params]
            takes_body = self.body_field is not None

            async def handler(request: Request) -> Response:
                reach(request, *scopes)
                known_parameters(request.query_params, known)
                if takes_body:
                    request = await _strict(request)
                try:
                    return await answer(request)
                except RequestValidationError as error:
                    raise not_valid(error.errors()) from None

            return handler

    return Scoped


class _Read(Request):
    """A call whose body was read strictly."""

    strict: Any = None

    async def json(self) -> Any:
        return self.strict


async def _strict(request: Request) -> Request:
    json_type(request)
    body = await request.body()
    again = _Read(request.scope, request.receive)
    again._body = body
    again.strict = load(body)
    return again


_WORDS = {
    "missing": "this is missing",
    "extra_forbidden": "there is no such name here",
    "string_type": "text is wanted here",
    "int_type": "a whole number is wanted here",
    "bool_type": "true or false is wanted here",
    "list_type": "a list is wanted here",
    "dict_type": "an object is wanted here",
    "model_type": "an object is wanted here",
    "model_attributes_type": "an object is wanted here",
    "literal_error": "one of {expected} is wanted here",
    "string_too_short": "text is wanted here, at least {min_length} long",
    "string_too_long": "at most {max_length} characters are taken here",
    "greater_than_equal": "a number from {ge} is wanted here",
    "less_than_equal": "a number up to {le} is wanted here",
    "int_parsing": "a whole number is wanted here",
}
"""What is said for each kind of mistake that pydantic names, filled from what it tells of it."""

_PATTERNS = {
    NOT_BLANK: "text is wanted here, not blanks alone",
    REQUEST_ID: "the id of a Request is wanted here, such as r-0123456789ab",
    DECISION_ID: "the id of a decision is wanted here, or 12 or more of its digits 0-9 and a-f",
    ID: "an id is wanted here: up to 64 of a-z, 0-9 and hyphens, without a hyphen in front",
    MESSAGE_ID: "an id is wanted here: up to 128 letters, digits and any of . _ : -",
}
"""What is said where a text has not the form that is wanted."""


def not_valid(errors: Iterable[Any]) -> NotValid:
    """What pydantic found in a body or in parameters, each at its place."""
    mistakes = [_mistake(error) for error in errors]
    first = mistakes[0]
    where = first.parameter or first.pointer or "the body"
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return NotValid(f"{where}: {first.detail}{more}", mistakes)


def _mistake(error: Any) -> Mistake:
    origin, *path = error["loc"]
    told = error.get("ctx", {})
    detail = _WORDS[error["type"]].format_map(told) if error["type"] in _WORDS else str(error["msg"])
    if error["type"] == "string_pattern_mismatch":
        detail = _PATTERNS.get(told["pattern"], detail)
    if origin == "body":
        return Mistake(NotValid.code, detail, pointer=pointer(path))
    return Mistake(NotValid.code, detail, parameter=str(path[0]) if path else str(origin))


Language = Literal["en", "zh"]
