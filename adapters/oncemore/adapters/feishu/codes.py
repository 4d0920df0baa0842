"""What do the numbers that Lark answers with mean for what happened?

Only a code that is documented as a refusal of this call counts as one. How the second request under one uuid is
answered is not documented, so every other code of a send leaves it open whether a reply exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# Page "Generic error codes" (server-docs/api-call-guide/generic-error-code): the gateway turned the token away, so the
# call itself was never made. 99991668 and 99991671 are written for other kinds of token, and seen with a tenant's too.
TOKEN_INVALID = frozenset(
    {
        99991661,  # no token in the request
        99991663,  # invalid tenant access token
        99991664,  # invalid app access token
        99991668,  # invalid access token for authorization
        99991671,  # not a token of the expected form
    }
)

# Page "Rate limits" (server-docs/api-call-guide/frequency-control): status 429, or 400 on older calls, with the seconds
# to wait in this header. 230020 is the same for one user or chat, on the page of the call that replies.
LIMITED = frozenset({99991400, 230020})
LIMIT_RESET = "x-ogw-ratelimit-reset"

# Reading a message (im-v1/message/get, and the pages of reactions for 231003).
GONE: Mapping[int, Literal["recalled", "missing"]] = {
    230011: "recalled",  # the message is recalled
    230110: "recalled",  # the message has been deleted
    231003: "missing",  # not found: may not exist, or was deleted
}

# Replying (im-v1/message/reply): refused, and nothing was posted by this call. Not among them: 230049, which says that
# the message is being sent, as an earlier try may be.
REFUSED: Mapping[int, str] = {
    230001: "a parameter is invalid",
    230002: "the bot is not in the group",
    230006: "the app has no bot",
    230011: "the message was recalled",
    230013: "the bot is not available to this person",
    230015: "a private chat cannot be shared",
    230017: "the bot does not own the resource",
    230018: "the group's settings do not allow it",
    230019: "the topic does not exist",
    230022: "the text was found sensitive",
    230025: "the text is too long",
    230027: "the app lacks a permission",
    230028: "the text did not pass the tenant's audit",
    230035: "posting is not permitted here",
    230038: "private chats of other tenants are closed to apps",
    230050: "the message is not visible to the bot",
    230054: "messages of this type cannot be answered",
    230071: "the group has no topics",
    230072: "merged messages have no topics",
    230075: "secret chats are closed to apps",
    230110: "the message was deleted",
    230111: "the message will delete itself soon",
    231003: "the message does not exist",
    232009: "the group was dissolved",
    # Generic again: turned away by the gateway.
    99991401: "this address is not on the app's list",
    99991662: "the app is not active",
    99991672: "the app lacks a permission",
}


def described(status: int, code: int | None) -> str:
    """An answer in words, without any text of it."""
    if code is None:
        return f"status {status} and no code"
    known = REFUSED.get(code) or GONE.get(code)
    return f"status {status} and code {code}" + (f" ({known})" if known else "")
