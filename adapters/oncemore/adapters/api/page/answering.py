"""How is a browser answered, and a form believed? The frame of every page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from oncemore.adapters.api.keys import Scope
from oncemore.adapters.api.page import forms, rendering
from oncemore.adapters.api.page.rendering import HEADERS, Pages, keep_language, language, page
from oncemore.adapters.api.page.session import Sessions, Visitor
from oncemore.adapters.api.page.words import Language
from oncemore.adapters.api.service import Service
from oncemore.engine.errors import Conflict, NotFound, OncemoreError
from oncemore.engine.records import NotRenderable

WHY: Final = 2_000
"""Longest reason, in characters."""

NOTICES: Final = ("stopped", "released", "closed", "level", "acted", "opened", "shut")
"""What a page may be told that was done, in its address."""

Look = Callable[[Language, int], dict[str, Any]]
"""What a page shows, in a language and at a moment; it is given to the template."""


class Answers:
    """What every page has around it.

    Attributes:
        service: what the pages are about.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.pages = Pages()
        self.sessions = Sessions(service.keys, service.keys.now)

    async def live(self, request: Request, name: str, look: Look, **view: Any) -> Response:
        """A page with a part that its browser asks for again and again."""
        polled = is_polled(request)
        seen = request.query_params.get("seen") if polled else None
        path = request.url.path if request.method == "GET" else request.url.path.rpartition("/")[0]

        def shown(lang: Language, now: int, **more: Any) -> str:
            found = look(lang, now)
            inner = self.pages.html(f"{name}_live.html", lang=lang, now=now, **more, **found)
            wrap = partial(self._wrapped, lang, now, path, more["carried"])
            part = rendering.live(wrap, inner, seen)
            if polled:
                return part or ""
            return self.pages.html(f"{name}.html", lang=lang, now=now, live=Markup(part), **more, **found)  # noqa: S704

        return await self._answered(request, shown, polled=polled, **view)

    async def shown(self, request: Request, name: str, look: Look, **view: Any) -> Response:
        """A page that stays as it is."""

        def shown(lang: Language, now: int, **more: Any) -> str:
            return self.pages.html(f"{name}.html", lang=lang, now=now, **more, **look(lang, now))

        return await self._answered(request, shown, polled=False, **view)

    async def _answered(
        self, request: Request, shown: Callable[..., str], *, polled: bool, status: int = 200, **view: Any
    ) -> Response:
        visitor = await self.visitor(request)
        if visitor is None:
            return _in_by_the_door(request, polled)
        lang = language(request)
        notice = request.query_params.get("done")
        frame = {"wrong": None, "detail": None, "visitor": visitor, "notice": notice if notice in NOTICES else None}
        frame["carried"] = ""  # of the address, to be kept by the page's own links

        def work() -> str:
            return shown(lang, self.service.house.journal.now().ms, **{**frame, **view})

        try:
            html = await self.service.read(work)
        except NotFound:
            return await self.problem(request, "missing", 404, visitor)
        except NotRenderable as error:
            return await self.problem(request, "gone", 410, visitor, str(error))
        except OncemoreError:
            return await self.problem(request, "failed", 503, visitor)
        if polled and not html:
            return Response(status_code=204, headers=HEADERS)
        response = page(html, status)
        keep_language(request, response)
        return response

    def _wrapped(self, lang: Language, now: int, address: str, carried: str, inner: str, mark: str) -> str:
        shown = {"address": address, "carried": carried, "inner": Markup(inner), "mark": mark}  # noqa: S704
        return self.pages.html("live.html", lang=lang, now=now, **shown)

    async def problem(
        self, request: Request, problem: str, status: int, visitor: Visitor | None = None, told: str = ""
    ) -> Response:
        """A page that says what is wrong."""
        visitor = visitor or await self.visitor(request)
        return page(self.framed(request, "problem.html", visitor, problem=problem, told=told), status)

    async def forged(self, request: Request, visitor: Visitor | None) -> Response:
        """A form that was not the visitor's own, or that nobody sent who is still here."""
        return to("/login") if visitor is None else await self.problem(request, "forged", 403, visitor)

    def framed(self, request: Request, template: str, visitor: Visitor | None, **view: Any) -> str:
        """A page without anything of the journal."""
        frame = {"visitor": visitor, "notice": None, "wrong": None, "detail": None, "here": "", "carried": ""}
        return self.pages.html(template, lang=language(request), now=self.service.clock(), **{**frame, **view})

    async def sent(self, request: Request) -> tuple[Visitor | None, dict[str, str] | None]:
        """Who sent a form and what it says; no fields where it is none of ours."""
        visitor = await self.visitor(request)
        try:
            fields = await forms.read(request)
        except forms.BadForm:
            return visitor, None
        good = visitor is not None and self.sessions.sent(visitor, fields.pop("token", ""))
        return visitor, fields if good else None

    async def visitor(self, request: Request) -> Visitor | None:
        """Who asks; None for somebody who has not come in, or has left."""
        await self.service.know_keys()
        found = self.sessions.visitor(request)
        if found is None or await self.service.read(lambda: self.sessions.has_left(found)):
            return None
        return found

    async def done(
        self,
        request: Request,
        scope: Scope,
        form: str,
        work: Callable[[dict[str, str], Visitor], str],
        again: Callable[..., Any],
        back: str,
    ) -> Response:
        """Do what a form asks for, in one transaction; shown is the page that it came from, with what came of it.

        Args:
            work: gives which notice to show.
            again: shows the page once more, where nothing was done.
        """
        visitor, fields = await self.sent(request)
        if fields is None or visitor is None:
            return await self.forged(request, visitor)
        if not visitor.may(scope):
            return await self.problem(request, "scope", 403, visitor)
        typed = {**fields, "form": form}
        fields["why"] = fields.get("why", "").strip()
        if not fields["why"] or len(fields["why"]) > WHY or "\0" in fields["why"]:
            return cast(Response, await again(request, wrong="refused.why", typed=typed, status=400))
        try:
            notice = await self.service.write(partial(work, fields, visitor))
        except NotFound:
            return await self.problem(request, "missing", 404, visitor)
        except Conflict as error:
            refused = {"wrong": f"refused.{form}", "detail": str(error)}
            return cast(Response, await again(request, **refused, typed=typed, status=409))
        except OncemoreError:
            return await self.problem(request, "failed", 503, visitor)
        return to(f"{back}?done={notice}")


def to(address: str) -> Response:
    """Go on to an address, by asking for it."""
    return RedirectResponse(address, 303, headers=HEADERS)


def is_polled(request: Request) -> bool:
    """Whether a window asks again for the part of it that is live."""
    return request.headers.get("hx-request") == "true"


def _in_by_the_door(request: Request, polled: bool) -> Response:
    """To the form that asks for a key, and back from there to where the visitor wanted to go."""
    here = request.url.path if request.method == "GET" else "/"
    door = "/login" if here == "/" else f"/login?next={quote(here)}"
    if polled:
        return Response(headers={**HEADERS, "HX-Redirect": door})
    return to(door)
