"""How is one question put to the desktop language server? As Connect JSON over the loopback, with its token.

Every method is a POST, reads too. Which answers say that nothing was done is decided here, once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oncemore.adapters.antigravity.token import Token
from oncemore.adapters.wire import Wire
from oncemore.engine.errors import Refused, Uncertain, Unreadable

SERVICE = "/exa.language_server_pb.LanguageServerService/"
CSRF = "x-codeium-csrf-token"

NOTHING_DONE = frozenset({400, 401, 403, 404, 405, 412, 415, 422, 429})
"""Statuses with which the Connect protocol says that a call was not carried out. A field that the server does not
know is answered with 500, like everything that broke on the way, so 500 says nothing."""

_CODE = re.compile(r"[a-z_]{1,40}\Z")


class LanguageServer:
    """One language server.

    Args:
        wire: the outgoing client, for which `base` is configured.
        base: `http://` or `https://`, a loopback address and the port.
        token: read anew for every call.
    """

    def __init__(self, wire: Wire, base: str, token: Token) -> None:
        self._wire = wire
        self._base = base
        self._token = token

    def read(self, method: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question.

        Raises:
            Unreadable: there was none, or it was no.
        """
        try:
            return self._call(method, asked)
        except (Refused, Uncertain) as error:
            raise Unreadable(str(error)) from None

    def act(self, method: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a call with an effect. It is sent once.

        Raises:
            Refused: nothing was done.
            Uncertain: it may have been done.
        """
        return self._call(method, asked)

    def _call(self, method: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        headers = {CSRF: self._token.read(), "connect-protocol-version": "1"}
        try:
            answer = self._wire.call(self._base, "POST", SERVICE + method, body=dict(asked), headers=headers)
        except Refused as error:
            raise Refused(f"{method} was not sent: {error}") from None
        except Uncertain as error:
            raise Uncertain(f"{method}: {error}") from None
        if answer.status == 200 and isinstance(answer.content, dict):
            return answer.content
        if answer.status in NOTHING_DONE:
            raise Refused(f"the language server answered {method} with {answer.status}{_code(answer.content)}")
        raise Uncertain(f"the language server answered {method} with {answer.status}{_code(answer.content)}")


def _code(content: object) -> str:
    # The code is a word of the protocol. The message beside it may quote anything and is not repeated.
    code = content.get("code") if isinstance(content, dict) else None
    return f" ({code})" if isinstance(code, str) and _CODE.match(code) else ""
