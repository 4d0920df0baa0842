"""What did a form say? Strictly, and within bounds."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from oncemore.adapters.api.strict_routes import content_type

MAX_BYTES: Final = 64 * 1024
MAX_FIELDS: Final = 16
TYPE: Final = "application/x-www-form-urlencoded"


class BadForm(Exception):
    """It is no form of ours; nothing was taken from it."""


async def read(request: Request) -> dict[str, str]:
    """The fields by name; each may be there once.

    Raises:
        BadForm: another content type, too long, not UTF-8, or a field twice.
    """
    if content_type(request) != TYPE:
        raise BadForm
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise BadForm
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BadForm from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadForm
    return {name: text.replace("\r\n", "\n") for name, text in fields.items()}
