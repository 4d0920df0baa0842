"""How is a call refused, in the form that programs and people can both read? RFC 9457, with our codes."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from oncemore.adapters.errors import CallRefused, Mistake, NotValid
from oncemore.engine.errors import OncemoreError
from oncemore.rules.errors import RulesError

MEDIA_TYPE: Final = "application/problem+json"

FAULT: Final = "A299"
"""The code of an answer to something that went wrong on our side."""

STATUS: Final = {
    "E101": 503, "E103": 503,
    "E104": 410,
    "E201": 503,
    "E202": 409, "E203": 409,
    "E204": 404,
    "E206": 503,
    "E301": 503, "E302": 503,
    "E303": 409,
}  # fmt: skip
"""Statuses of failures that the engine names; every other one is a fault of ours."""


class Error(BaseModel):
    """One thing to mend."""

    model_config = ConfigDict(title="Error")

    code: str = Field(description="Our code; `/errors/CODE` has its page.")
    detail: str
    pointer: str | None = Field(None, description="Where in the body, as a JSON pointer.")
    parameter: str | None = Field(None, description="Which parameter of the address.")
    help: str | None = Field(None, description="What to write instead.")


class Problem(BaseModel):
    """Why a call was refused (RFC 9457)."""

    type: str = Field(description="The page of the code, relative to this service.")
    title: str = Field(description="The status in words.")
    status: int
    code: str = Field(description="Our code.")
    detail: str = Field(description="One or two sentences about this very call.")
    errors: list[Error] = Field([], description="Each thing to mend, with its place.")


def problem(
    code: str, status: int, detail: str, mistakes: tuple[Mistake, ...] = (), headers: dict[str, str] | None = None
) -> Response:
    """A problem as an answer."""
    return _sent(document(code, status, detail, mistakes), headers or {})


def document(code: str, status: int, detail: str, mistakes: tuple[Mistake, ...] = ()) -> dict[str, Any]:
    """A problem as data."""
    found: dict[str, Any] = {
        "type": f"/errors/{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    if mistakes:
        found["errors"] = [
            {
                name: said
                for name in ("code", "detail", "pointer", "parameter", "help")
                if (said := getattr(one, name)) is not None
            }
            for one in mistakes
        ]
    return found


def as_problem(error: Exception) -> dict[str, Any]:
    """What went wrong, as data; of what nobody foresaw nothing is told."""
    if isinstance(error, CallRefused):
        return document(error.code, error.status, str(error), error.mistakes)
    if isinstance(error, (OncemoreError, RulesError)) and error.code in STATUS:
        return document(error.code, STATUS[error.code], _spoken(error))
    return document(FAULT, 500, "something went wrong here, which is a fault of ours; nothing more is told")


def refusal(error: Exception) -> Response:
    """What went wrong, as an answer."""
    said = as_problem(error)
    headers = {}
    if said["status"] == 401:
        headers["www-authenticate"] = 'Bearer realm="oncemore"'
    if isinstance(error, CallRefused) and error.after is not None:
        headers["retry-after"] = str(error.after)
    elif said["status"] == 503:
        headers["retry-after"] = "5"
    return _sent(said, headers)


def _sent(said: dict[str, Any], headers: dict[str, str]) -> Response:
    content = json.dumps(said, separators=(",", ":")) + "\n"
    return Response(content, said["status"], headers, media_type=MEDIA_TYPE)


def parameter(name: str, detail: str, help: str | None = None) -> NotValid:
    """A parameter of the address that is not what it should be."""
    return NotValid(f"{name}: {detail}", [Mistake(NotValid.code, detail, parameter=name, help=help)])


def _spoken(error: Exception) -> str:
    """The failure's own sentence, where it holds nothing of this machine; else its kind."""
    code = getattr(error, "code", "")
    if code in ("E202", "E203", "E204", "E303"):
        return str(error)
    said = {
        "E101": "the rules engine cannot be loaded",
        "E103": "the policies cannot be used",
        "E104": "this decision can no longer be shown: what it was judged by is not kept",
        "E201": "the journal cannot be written at the moment",
        "E206": "the journal was interrupted; whether this was written is not known, so look before you do it again",
        "E301": "what it depends on cannot be read at the moment",
        "E302": "somebody else holds what it needs",
    }
    return said[code]
