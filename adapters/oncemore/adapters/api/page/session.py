"""Who is at the page, and did a form come from it?

The page takes a key once and then knows its holder by a cookie that says nothing but which key, until when, and one
random word, under the service's own seal. Every form carries a token sealed over that same cookie. A key that is
revoked or runs out ends every session that it began. Who signed out is kept out by every process of the journal, for as
long as the cookie would have let in.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from oncemore.adapters.api.keys import Key, Keys, Scope
from oncemore.engine.service_tables import EndedSession

COOKIE: Final = "oncemore_session"
DOOR_COOKIE: Final = "oncemore_door"
"""Of somebody who has not come in yet: what the form that asks for the key is bound to."""

LASTS_MS: Final = 12 * 3_600_000
DOOR_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who came in.

    Attributes:
        session: what the cookie says, without its seal.
        form: the token that every form of the session carries.
    """

    key: Key
    session: str
    form: str

    def may(self, scope: Scope) -> bool:
        """Whether the key is for it."""
        return scope in self.key.scopes

    @property
    def who(self) -> str:
        """As records name it."""
        return f"key {self.key.name}"


class Sessions:
    """The sessions of one service."""

    def __init__(self, keys: Keys, clock: Callable[[], int]) -> None:
        self._keys = keys
        self._clock = clock

    def begin(self, key: Key, request: Request, response: Response) -> None:
        """Let the holder of a key in."""
        session = f"{key.id}.{self._clock() + LASTS_MS}.{secrets.token_hex(16)}"
        cookie = f"{session}.{self._keys.seal('page session', session)}"
        _set(request, response, COOKIE, cookie, LASTS_MS // 1000)
        response.delete_cookie(DOOR_COOKIE, httponly=True, samesite="strict")

    def visitor(self, request: Request) -> Visitor | None:
        """Who has the cookie; None when it is none of ours, is over, or its key opens nothing any more. Whether they
        signed out is asked of the journal: `has_left`."""
        parts = request.cookies.get(COOKIE, "").rsplit(".", 1)
        if len(parts) != 2 or not self._keys.sealed("page session", *parts):
            return None
        session = parts[0]
        name, until, _ = session.split(".")
        key = self._keys.current(name)
        if key is None or self._clock() >= int(until):
            return None
        return Visitor(key, session, self._keys.seal("page form", session))

    def has_left(self, visitor: Visitor) -> bool:
        """Whether the visitor signed out, in whichever process. The calling thread is connected."""
        return EndedSession.select().where(EndedSession.session == visitor.session).exists()

    def end(self, visitor: Visitor) -> None:
        """Whoever still has the cookie is not let in by it again. Inside a transaction."""
        until = int(visitor.session.split(".")[1])
        # A cookie that is over opens nothing by itself; a clock that is a little behind must not wake one up.
        EndedSession.delete().where(EndedSession.until < self._clock() - LASTS_MS).execute()
        EndedSession.insert(session=visitor.session, until=until).on_conflict_ignore().execute()

    def forget(self, response: Response) -> None:
        """The browser has no cookie any more."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def sent(self, visitor: Visitor, token: str) -> bool:
        """Whether a form with this token came from the visitor's own page."""
        return self._keys.sealed("page form", visitor.session, token)

    def door(self, request: Request, response: Response) -> str:
        """The token of the form that asks for a key."""
        word = secrets.token_hex(16)
        _set(request, response, DOOR_COOKIE, word, DOOR_SECONDS)
        return self._keys.seal("page door", word)

    def at_the_door(self, request: Request, token: str) -> bool:
        """Whether a key was typed into our own form."""
        word = request.cookies.get(DOOR_COOKIE, "")
        return bool(word) and self._keys.sealed("page door", word, token)


def _set(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    # A proxy ends TLS before us; the browser says itself by which scheme the form came to it.
    secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
