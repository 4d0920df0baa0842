"""What class of failure is a Codex error? Only its typed discriminator says so; its prose never decides.

The discriminator is a word, or an object of one key that carries an HTTP status. Words that are not known are `other`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oncemore.engine.ports import TurnError

WORDS: Mapping[str, str] = {
    "usageLimitExceeded": "usage_limit",
    "rateLimitExceeded": "rate_limit",
    "serverOverloaded": "overloaded",
    "unauthorized": "auth",
    "contextWindowExceeded": "context",
    "httpConnectionFailed": "transport",
    "responseStreamConnectionFailed": "transport",
    "responseStreamDisconnected": "transport",
    "responseTooManyFailedAttempts": "transport",
}

STATUSES: Mapping[int, str] = {401: "auth", 403: "auth", 429: "rate_limit", 503: "overloaded"}
"""A known HTTP status is more exact than the connection failure that carries it."""

TURN_ERRORS: Mapping[str, TurnError] = {
    "none": "none",
    "usage_limit": "usage_limit_exceeded",
    "rate_limit": "rate_limit_exceeded",
    "transport": "upstream_transport_failure",
}
"""What the journal calls it. Overload, a wrong key and a full context are `other` there: trying again at once would
not help, and nothing is retried for them."""

RUNTIME_WORDS = frozenset({"internalServerError", "sandboxError", "threadRollbackFailed"})
"""The journal's `runtime_error`: the runtime or its provider broke, with no more exact class."""


def classify(status: str, error: object) -> str:
    """The value of `native.error` for a turn of this status and this recorded error."""
    if error is None:
        return "other" if status == "failed" else "none"
    word, http = _discriminator(error)
    found = WORDS.get(word, "other")
    return STATUSES.get(http, found) if found == "transport" and http is not None else found


def turn_error(status: str, error: object) -> TurnError:
    """The same for the journal's `turn.error`."""
    if error is not None and _discriminator(error)[0] in RUNTIME_WORDS:
        return "runtime_error"
    return TURN_ERRORS.get(classify(status, error), "other")


def _discriminator(error: object) -> tuple[str, int | None]:
    info: Any = error.get("codexErrorInfo") if isinstance(error, Mapping) else None
    if isinstance(info, str):
        return info, None
    if isinstance(info, Mapping) and len(info) == 1:
        word, content = next(iter(info.items()))
        http = content.get("httpStatusCode") if isinstance(content, Mapping) else None
        return str(word), http if isinstance(http, int) else None
    return "other", None
