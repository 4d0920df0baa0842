"""How is data sent as an answer, and when need it not be sent again?"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from oncemore.adapters.api.problems import parameter


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(written(value), status, headers, media_type="application/json")


def written(value: Any) -> bytes:
    """The bytes of a value, ending in a newline, which terminals like."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"


def tagged(request: Request, value: Any) -> Response:
    """A value that seldom changes, with its tag; nothing but the tag for those who have it already."""
    content = written(value)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    named = re.findall(r'"[^"]*"', request.headers.get("if-none-match", ""))
    if tag in named or request.headers.get("if-none-match", "").strip() == "*":
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def cursor_of(at: int, last: str) -> str:
    """Where the next part of a listing begins, as callers carry it."""
    return base64.urlsafe_b64encode(f"{at}:{last}".encode()).decode().rstrip("=")


def cursor(text: str | None) -> tuple[int, str] | None:
    """What a caller brings back.

    Raises:
        NotValid: it is none of ours.
    """
    if text is None:
        return None
    try:
        at, _, last = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii").partition(":")
        if not re.fullmatch("[0-9]{1,16}", at) or not re.fullmatch("[A-Za-z0-9._-]{1,80}", last):
            raise ValueError
    except ValueError:
        raise parameter("cursor", "this is no cursor", "bring back `next` of the part before, as it is") from None
    return int(at), last
