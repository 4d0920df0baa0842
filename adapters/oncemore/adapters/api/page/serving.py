"""What answers a browser? Each page reads the journal in a thread of its own, each form is one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from oncemore.adapters import given_levels
from oncemore.adapters.allowances import allowances
from oncemore.adapters.api.keys import Scope
from oncemore.adapters.api.limits import Buckets
from oncemore.adapters.api.page import conversation, forms, ladder, overview, shelf
from oncemore.adapters.api.page.rendering import HEADERS, Pages, keep_language, language, live, page
from oncemore.adapters.api.page.session import Sessions, Visitor
from oncemore.adapters.api.page.words import Language
from oncemore.adapters.api.service import Service
from oncemore.engine import advice, breaker, intake, levels
from oncemore.engine.errors import Conflict, NotFound, OncemoreError
from oncemore.engine.records import NotRenderable
from oncemore.engine.tables import LevelChange

WHY: Final = 2_000
"""Longest reason, in characters."""

NOTICES: Final = ("stopped", "released", "closed", "level", "acted", "opened", "shut")
"""What a page may be told that was done, in its address."""

Look = Callable[[Language, int], dict[str, Any]]


class Page:
    """The pages of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pages = Pages()
        self._sessions = Sessions(service.keys, service.clock)
        self._tested = shelf.Tested()
        attempts = service.house.configuration.serve.attempts
        self._failures = Buckets(attempts / 60, attempts, time.monotonic)

    def routes(self) -> list[Route]:
        """Where each page stands."""
        return [
            Route("/", self.overview),
            Route("/login", self.door),
            Route("/login", self.come_in, methods=["POST"]),
            Route("/logout", self.leave, methods=["POST"]),
            Route("/requests/{request}", self.request),
            Route("/requests/{request}/act", self.act, methods=["POST"]),
            Route("/requests/{request}/stop", self.stop, methods=["POST"]),
            Route("/requests/{request}/release", self.release, methods=["POST"]),
            Route("/decisions/{decision}", self.decision),
            Route("/policies", self.policies),
            Route("/policies/{policy}", self.policy),
            Route("/policies/{policy}/level", self.change_level, methods=["POST"]),
            Route("/levels", self.levels),
            Route("/breaker", self.change_breaker, methods=["POST"]),
            Route("/static/{name}", self.static),
            Route("/favicon.ico", self.favicon),
        ]

    # Coming and going -------------------------------------------------------------------------------------------------

    async def door(self, request: Request) -> Response:
        """The form that asks for a key."""
        if await self._visitor(request) is not None:
            return _to("/")
        return self._door(request, _inside(request.query_params.get("next", "/")))

    async def come_in(self, request: Request) -> Response:
        """A key was typed in."""
        try:
            fields = await forms.read(request)
        except forms.BadForm:
            return self._door(request, "/", "login.again", 400)
        inside = _inside(fields.get("next", "/"))
        if not self._sessions.at_the_door(request, fields.get("token", "")):
            return self._door(request, inside, "login.again", 403)
        address = "" if request.client is None else request.client.host
        if self._failures.empty(address) is not None:
            return self._door(request, inside, "login.many", 429)
        await self._know_keys()
        key = self._service.keys.check(fields.get("key", "").strip())
        if key is None:
            self._failures.take(address)
            return self._door(request, inside, "login.wrong", 403)
        if "read" not in key.scopes:
            return self._door(request, inside, "login.unreadable", 403)
        response = _to(inside)
        self._sessions.begin(key, request, response)
        return response

    async def leave(self, request: Request) -> Response:
        """The visitor signs out."""
        visitor, fields = await self._sent(request)
        if fields is None or visitor is None:
            return await self._forged(request, visitor)
        response = _to("/login")
        self._sessions.end(visitor, response)
        return response

    # Pages ------------------------------------------------------------------------------------------------------------

    async def overview(self, request: Request) -> Response:
        """What is open, and why."""

        def look(lang: Language, now: int) -> dict[str, Any]:
            return overview.overview(self._service.rules.published, lang, now)

        return await self._live(request, "overview", look, here="overview")

    async def request(self, request: Request, *, wrong: str | None = None, **more: Any) -> Response:
        """One Request, with its timeline."""
        name = str(request.path_params["request"])

        def look(lang: Language, now: int) -> dict[str, Any]:
            if not conversation.ID.fullmatch(name):
                raise NotFound("no Request is called so")
            found = conversation.conversation(name, self._service.rules.published, lang, now)
            return {**found, "short": conversation.SHORT}

        typed = {"form": "", "why": "", "saw": "", "close": "", "policy": "", **more.pop("typed", {})}
        return await self._live(request, "request", look, here="", wrong=wrong, typed=typed, **more)

    async def decision(self, request: Request) -> Response:
        """One decision, gate by gate."""
        name = str(request.path_params["decision"])

        def look(lang: Language, now: int) -> dict[str, Any]:
            if not ladder.ID.fullmatch(name):
                raise NotFound("no decision is called so")
            return ladder.ladder(name, self._service.rules.published, lang)

        return await self._shown(request, "decision", look, here="")

    async def policies(self, request: Request) -> Response:
        """The policies in force."""

        def look(lang: Language, now: int) -> dict[str, Any]:
            rules = self._service.rules
            return {**shelf.shelf(rules.published, self._tested, now), "trouble": rules.trouble}

        return await self._shown(request, "policies", look, here="policies")

    async def policy(self, request: Request, *, wrong: str | None = None, **more: Any) -> Response:
        """One policy."""
        name = str(request.path_params["policy"])

        def look(lang: Language, now: int) -> dict[str, Any]:
            found = shelf.volume(name, self._service.rules.published, self._tested, now)
            if found is None:
                raise NotFound("no policy is called so")
            return found

        typed = {"level": "", "lasts": "", "why": "", **more.pop("typed", {})}
        return await self._shown(request, "policy", look, here="policies", wrong=wrong, typed=typed, **more)

    async def levels(self, request: Request, *, wrong: str | None = None, **more: Any) -> Response:
        """At which level each policy works, how much may be done, and who said so."""

        def look(lang: Language, now: int) -> dict[str, Any]:
            names = [policy.name for policy in self._service.rules.published.policies]
            changes = LevelChange.select().order_by(LevelChange.id.desc()).limit(shelf.MOST).dicts()
            allowed = allowances(self._service.house.configuration, now)
            return {
                "breaker": breaker.newest(),
                "allowances": allowed,
                "levels": [given_levels.told(name, now) for name in names],
                "changes": list(changes),
            }

        typed = {"form": "", "why": "", **more.pop("typed", {})}
        return await self._shown(request, "levels", look, here="levels", wrong=wrong, typed=typed, **more)

    async def static(self, request: Request) -> Response:
        """A file of the pages."""
        return self._pages.file(str(request.path_params["name"])) or await self._problem(request, "missing", 404)

    async def favicon(self, request: Request) -> Response:
        """For browsers that ask for it by themselves."""
        return RedirectResponse(self._pages.asset("favicon.svg"), headers=HEADERS)

    # What an operator does --------------------------------------------------------------------------------------------

    async def act(self, request: Request) -> Response:
        """Act on what a policy advises."""
        name = str(request.path_params["request"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            advice.act(self._service.house.journal, name, fields.get("policy", ""), visitor.who, fields["why"])
            return "acted"

        return await self._done(request, "act", "act", work, self.request, f"/requests/{name}")

    async def stop(self, request: Request) -> Response:
        """Stop a Request."""
        name = str(request.path_params["request"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            intake.stop(self._service.house.journal, name, "operator", fields["why"])
            return "stopped"

        return await self._done(request, "act", "stop", work, self.request, f"/requests/{name}")

    async def release(self, request: Request) -> Response:
        """Release a Request, or close it."""
        name = str(request.path_params["request"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            saw, close = fields.get("saw") or None, fields.get("close") == "yes"
            if saw is not None and saw not in ("delivered", "not-delivered", "ran", "did-not-run"):
                raise Conflict("nothing of the kind can be seen")
            intake.release(
                self._service.house.journal, name, fields["why"], saw=cast("intake.Saw | None", saw), close=close
            )
            return "closed" if close else "released"

        return await self._done(request, "act", "release", work, self.request, f"/requests/{name}")

    async def change_level(self, request: Request) -> Response:
        """Change the level of a policy."""
        name = str(request.path_params["policy"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            if self._service.rules.published.get(name) is None:
                raise NotFound("no policy is called so")
            now = self._service.house.journal.advance_clock().ms
            lasts = fields.get("lasts", "")
            if lasts not in ("", "1h", "8h", "24h", "168h"):
                raise Conflict("a level lasts for one of the times that the form offers")
            until = given_levels.ends(lasts, now) if lasts else None
            levels.change(name, fields.get("level", ""), who=visitor.who, why=fields["why"], at=now, until=until)
            return "level"

        return await self._done(request, "admin", "level", work, self.policy, f"/policies/{name}")

    async def change_breaker(self, request: Request) -> Response:
        """Let no recovery begin, or let them begin again."""
        journal = self._service.house.journal

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            change = fields.get("change")
            if change == "open":
                breaker.open_by_hand(journal, who=visitor.who, why=fields["why"])
                return "opened"
            if change != "close":
                raise Conflict("the breaker is opened or closed")
            breaker.close(journal, who=visitor.who, why=fields["why"])
            return "shut"

        return await self._done(request, "admin", "breaker", work, self.levels, "/levels")

    async def _done(
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
        visitor, fields = await self._sent(request)
        if fields is None or visitor is None:
            return await self._forged(request, visitor)
        if not visitor.may(scope):
            return await self._problem(request, "scope", 403, visitor)
        typed = {**fields, "form": form}
        fields["why"] = fields.get("why", "").strip()
        if not fields["why"] or len(fields["why"]) > WHY or "\0" in fields["why"]:
            return cast(Response, await again(request, wrong="refused.why", typed=typed, status=400))
        try:
            notice = await self._service.write(partial(work, fields, visitor))
        except NotFound:
            return await self._problem(request, "missing", 404, visitor)
        except OncemoreError as error:
            refused = {"wrong": f"refused.{form}", "detail": str(error)}
            return cast(Response, await again(request, **refused, typed=typed, status=409))
        return _to(f"{back}?done={notice}")

    # How all of them are answered -------------------------------------------------------------------------------------

    async def _live(self, request: Request, name: str, look: Look, **view: Any) -> Response:
        """A page with a part that its browser asks for again and again."""
        polled = request.headers.get("hx-request") == "true"
        seen = request.query_params.get("seen") if polled else None
        path = request.url.path if request.method == "GET" else request.url.path.rpartition("/")[0]

        def shown(lang: Language, now: int, **more: Any) -> str:
            found = look(lang, now)
            inner = self._pages.html(f"{name}_live.html", lang=lang, now=now, **more, **found)
            wrap = partial(self._wrapped, lang, now, path)
            part = live(wrap, inner, seen)
            if polled:
                return part or ""
            return self._pages.html(f"{name}.html", lang=lang, now=now, live=Markup(part), **more, **found)  # noqa: S704

        return await self._answered(request, shown, polled=polled, **view)

    async def _shown(self, request: Request, name: str, look: Look, **view: Any) -> Response:
        def shown(lang: Language, now: int, **more: Any) -> str:
            return self._pages.html(f"{name}.html", lang=lang, now=now, **more, **look(lang, now))

        return await self._answered(request, shown, polled=False, **view)

    async def _answered(
        self, request: Request, shown: Callable[..., str], *, polled: bool, status: int = 200, **view: Any
    ) -> Response:
        visitor = await self._visitor(request)
        if visitor is None:
            return _in_by_the_door(request, polled)
        lang = language(request)
        notice = request.query_params.get("done")
        frame = {"wrong": None, "detail": None, "visitor": visitor, "notice": notice if notice in NOTICES else None}

        def work() -> str:
            return shown(lang, self._service.house.journal.now().ms, **{**frame, **view})

        try:
            html = await self._service.read(work)
        except NotFound:
            return await self._problem(request, "missing", 404, visitor)
        except NotRenderable as error:
            return await self._problem(request, "gone", 410, visitor, str(error))
        if polled and not html:
            return Response(status_code=204, headers=HEADERS)
        response = page(html, status)
        keep_language(request, response)
        return response

    def _wrapped(self, lang: Language, now: int, address: str, inner: str, mark: str) -> str:
        return self._pages.html("live.html", lang=lang, now=now, address=address, inner=Markup(inner), mark=mark)  # noqa: S704

    def _door(self, request: Request, inside: str, wrong: str | None = None, status: int = 200) -> Response:
        carried = Response()
        token = self._sessions.door(request, carried)
        html = self._framed(request, "login.html", None, token=token, next=inside, wrong=wrong)
        response = page(html, status)
        response.raw_headers += [one for one in carried.raw_headers if one[0] == b"set-cookie"]
        keep_language(request, response)
        return response

    async def _problem(
        self, request: Request, problem: str, status: int, visitor: Visitor | None = None, told: str = ""
    ) -> Response:
        visitor = visitor or await self._visitor(request)
        return page(self._framed(request, "problem.html", visitor, problem=problem, told=told), status)

    async def _forged(self, request: Request, visitor: Visitor | None) -> Response:
        """A form that was not the visitor's own, or that nobody sent who is still here."""
        return _to("/login") if visitor is None else await self._problem(request, "forged", 403, visitor)

    def _framed(self, request: Request, template: str, visitor: Visitor | None, **view: Any) -> str:
        frame = {"visitor": visitor, "notice": None, "wrong": None, "detail": None, "here": ""}
        return self._pages.html(template, lang=language(request), now=self._service.clock(), **{**frame, **view})

    async def _sent(self, request: Request) -> tuple[Visitor | None, dict[str, str] | None]:
        """Who sent a form and what it says; no fields where it is none of ours."""
        visitor = await self._visitor(request)
        try:
            fields = await forms.read(request)
        except forms.BadForm:
            return visitor, None
        good = visitor is not None and self._sessions.sent(visitor, fields.pop("token", ""))
        return visitor, fields if good else None

    async def _visitor(self, request: Request) -> Visitor | None:
        await self._know_keys()
        return self._sessions.visitor(request)

    async def _know_keys(self) -> None:
        if self._service.keys.stale:
            await self._service.read(self._service.keys.refresh)


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, headers=HEADERS)


def _in_by_the_door(request: Request, polled: bool) -> Response:
    """To the form that asks for a key, and back from there to where the visitor wanted to go."""
    here = request.url.path if request.method == "GET" else "/"
    door = "/login" if here == "/" else f"/login?next={quote(here)}"
    if polled:
        return Response(headers={**HEADERS, "HX-Redirect": door})
    return _to(door)


def _inside(address: str) -> str:
    """An address of ours; the overview where it is none."""
    ours = address.startswith(("/requests/", "/decisions/", "/policies", "/levels"))
    return address if ours and address.isascii() and address.isprintable() and "\\" not in address else "/"
