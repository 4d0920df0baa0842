"""How is Lark asked, and what is certain after its answer?

Every call carries the app's token, which is fetched when there is none, kept until shortly before it expires, and
fetched anew once when Lark turns it away. Neither token nor secret appears in a failure's text, nor does any text of
Lark's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oncemore.adapters.errors import AdapterError
from oncemore.adapters.feishu import codes
from oncemore.adapters.wire import NotSent, Wire
from oncemore.engine.errors import Busy, PortError, Refused, Uncertain, Unreadable

TOKEN_PATH = "/open-apis/auth/v3/tenant_access_token/internal"  # noqa: S105 -- a path, not a secret
TOKEN_MARGIN = 300_000
"""How long before its end a token is no longer used, in milliseconds."""

LONGEST_REST = 600_000
"""How long at most a rate limit is believed, in milliseconds."""

_TYPE = {"Content-Type": "application/json; charset=utf-8"}


class Gone(Unreadable):
    """A message that can no longer be read."""

    def __init__(self, state: Literal["recalled", "missing"]) -> None:
        super().__init__(f"the message is {state}")
        self.state = state


@dataclass(frozen=True, slots=True)
class _Word:
    """One answer. `data` may hold a token and is not shown."""

    status: int
    code: int | None
    data: Mapping[str, Any] | None = field(repr=False)

    @property
    def done(self) -> bool:
        return self.status == 200 and self.code == 0

    def __str__(self) -> str:
        return codes.described(self.status, self.code)


class Api:
    """The calls of one app.

    Args:
        base: the configured address, such as `https://open.feishu.cn`; no other is called.
        secret: reads the app's secret; called only when a token is fetched.
        clock: milliseconds since the epoch.
    """

    def __init__(self, wire: Wire, base: str, app_id: str, secret: Callable[[], str], clock: Callable[[], int]) -> None:
        self._wire = wire
        self._base = base
        self._app_id = app_id
        self._secret = secret
        self._clock = clock
        self._lock = threading.Lock()
        self._token: tuple[str, int] | None = None
        self._rests: dict[str, int] = {}

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        """The data that one read answers with.

        Raises:
            Gone: it is about a message that is not there any more.
            Unreadable: there was no such answer.
        """
        try:
            word = self._authorised("GET", path, query=query)
        except PortError as error:
            raise Unreadable(str(error)) from error
        if word.done and word.data is not None:
            return word.data
        if (state := codes.GONE.get(word.code or 0)) is not None and word.status < 500:
            raise Gone(state)
        raise Unreadable(f"Lark answered a read with {word}")

    def send(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data that one post answers with; empty where it came without.

        Raises:
            Busy: nothing was posted, and it may be tried again later.
            Refused: nothing was posted by this call, and another try would end the same.
            Uncertain: it may or may not have been posted.
        """
        word = self._authorised("POST", path, body=body)
        if word.done:
            return word.data or {}
        if word.code in codes.TOKEN_INVALID and word.status < 500:
            raise Busy("Lark turned two tokens away; nothing was posted")
        if word.code in codes.REFUSED and word.status < 500:
            raise Refused(f"Lark answered with {word}")
        raise Uncertain(f"Lark answered a post with {word}")

    def _authorised(
        self,
        method: Literal["GET", "POST"],
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> _Word:
        token = self._current_token()
        word = self._call(method, path, token, query, body)
        if word.code in codes.TOKEN_INVALID:
            with self._lock:
                if self._token is not None and self._token[0] == token:
                    self._token = None
            word = self._call(method, path, self._current_token(), query, body)
        return word

    def _call(
        self,
        method: str,
        path: str,
        token: str | None,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> _Word:
        kind = f"{method} {re.sub('/messages/[^/]+', '/messages/ID', path)}"  # a limit is of one kind of call
        if self._clock() < self._rests.get(kind, 0):
            raise Busy("Lark's rate limit is reached; nothing was sent")
        headers = {**_TYPE, "Authorization": f"Bearer {token}"} if token else _TYPE
        try:
            answer = self._wire.call(self._base, method, path, query=query, body=body, headers=headers)
        except NotSent as error:
            raise Busy(f"Lark was not reached: {error}") from error
        content = answer.content if isinstance(answer.content, dict) else {}
        code, data = content.get("code"), content.get("data")
        word = _Word(
            answer.status,
            code if isinstance(code, int) and not isinstance(code, bool) else None,
            content if token is None else data if isinstance(data, dict) else None,
        )
        if word.status == 429 or (word.code in codes.LIMITED and not word.done):
            self._rests[kind] = self._clock() + _rest(answer.headers.get(codes.LIMIT_RESET))
            raise Busy(f"Lark's rate limit is reached ({word}); nothing happened")
        return word

    def _current_token(self) -> str:
        """A token that is good for a while yet. Raises `Busy`: there is none, so nothing can have happened."""
        with self._lock:
            now = self._clock()
            if self._token is not None and now < self._token[1]:
                return self._token[0]
            try:
                secret = self._secret()
            except AdapterError as error:
                raise Busy(f"there is no token: {error}") from error
            try:
                word = self._call("POST", TOKEN_PATH, None, body={"app_id": self._app_id, "app_secret": secret})
            except PortError as error:
                raise Busy(f"there is no token: {error}") from error
            token, seconds = (word.data or {}).get("tenant_access_token"), (word.data or {}).get("expire")
            if not word.done or not isinstance(token, str) or not token or type(seconds) is not int or seconds <= 0:
                raise Busy(f"there is no token: Lark answered with {word}")
            self._token = (token, now + max(seconds * 1000 - TOKEN_MARGIN, 0))
            return token


def _rest(seconds: str | None) -> int:
    """Milliseconds to wait; a second where the limit does not say."""
    if seconds is None or not re.fullmatch("[0-9]{1,9}", seconds):
        return 1000
    return min(max(int(seconds) * 1000, 1000), LONGEST_REST)
