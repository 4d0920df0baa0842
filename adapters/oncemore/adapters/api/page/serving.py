"""Which pages are there, and what can be done on them? A page reads the journal in a thread, a form is one commit."""

from __future__ import annotations

import re
import time
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from oncemore.adapters import given_levels
from oncemore.adapters.allowances import allowances
from oncemore.adapters.api.limits import Buckets
from oncemore.adapters.api.page import conversation, forms, ladder, overview, shelf
from oncemore.adapters.api.page.answering import Answers, is_polled, to
from oncemore.adapters.api.page.rendering import HEADERS, keep_language, page
from oncemore.adapters.api.page.session import Visitor
from oncemore.adapters.api.page.words import Language
from oncemore.adapters.api.service import Service
from oncemore.engine import advice, breaker, intake, levels
from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.errors import Conflict, NotFound, OncemoreError


class Page(Answers):
    """The pages of one service."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._tested = shelf.Tested()
        self._overview = overview.Shared(time.monotonic)
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
        if await self.visitor(request) is not None:
            return to("/")
        return self._door(request, _inside(request.query_params.get("next", "/")))

    async def come_in(self, request: Request) -> Response:
        """A key was typed in."""
        try:
            fields = await forms.read(request)
        except forms.BadForm:
            return self._door(request, "/", "login.again", 400)
        inside = _inside(fields.get("next", "/"))
        if not self.sessions.at_the_door(request, fields.get("token", "")):
            return self._door(request, inside, "login.again", 403)
        address = "" if request.client is None else request.client.host
        await self.service.know_keys()
        key = self.service.keys.check(fields.get("key", "").strip())
        if key is None:
            if self._failures.take(address) is not None:
                return self._door(request, inside, "login.many", 429)
            return self._door(request, inside, "login.wrong", 403)
        if "read" not in key.scopes:
            return self._door(request, inside, "login.unreadable", 403)
        response = to(inside)
        self.sessions.begin(key, request, response)
        return response

    async def leave(self, request: Request) -> Response:
        """The visitor signs out."""
        visitor, fields = await self.sent(request)
        if fields is None or visitor is None:
            return await self.forged(request, visitor)
        try:
            await self.service.write(lambda: self.sessions.end(visitor))
        except OncemoreError:
            return await self.problem(request, "failed", 503, visitor)
        response = to("/login")
        self.sessions.forget(response)
        return response

    def _door(self, request: Request, inside: str, wrong: str | None = None, status: int = 200) -> Response:
        carried = Response()
        token = self.sessions.door(request, carried)
        html = self.framed(request, "login.html", None, token=token, next=inside, wrong=wrong)
        response = page(html, status)
        response.raw_headers += [one for one in carried.raw_headers if one[0] == b"set-cookie"]
        keep_language(request, response)
        return response

    # Pages ------------------------------------------------------------------------------------------------------------

    async def overview(self, request: Request) -> Response:
        """What is open, and why."""

        number = _page(request.query_params.get("page", "1"))

        def look(lang: Language, now: int) -> dict[str, Any]:
            rules = self.service.rules.published
            return self._overview.look(rules, lang, now, page=number, fresh=not is_polled(request))

        carried = "" if number == 1 else f"&page={number}"
        return await self.live(request, "overview", look, here="overview", carried=carried)

    async def request(self, request: Request, *, wrong: str | None = None, **more: Any) -> Response:
        """One Request, with its timeline."""
        name = str(request.path_params["request"])

        def look(lang: Language, now: int) -> dict[str, Any]:
            if not conversation.ID.fullmatch(name):
                raise NotFound("no Request is called so")
            found = conversation.conversation(name, self.service.rules.published, lang, now)
            return {**found, "short": conversation.SHORT}

        typed = {"form": "", "why": "", "saw": "", "close": "", "policy": "", **more.pop("typed", {})}
        return await self.live(request, "request", look, here="", wrong=wrong, typed=typed, **more)

    async def decision(self, request: Request) -> Response:
        """One decision, gate by gate."""
        name = str(request.path_params["decision"])

        def look(lang: Language, now: int) -> dict[str, Any]:
            if not ladder.ID.fullmatch(name):
                raise NotFound("no decision is called so")
            return ladder.ladder(name, self.service.rules.published, lang)

        return await self.shown(request, "decision", look, here="")

    async def policies(self, request: Request) -> Response:
        """The policies in force."""

        def look(lang: Language, now: int) -> dict[str, Any]:
            rules = self.service.rules
            return {**shelf.shelf(rules.published, self._tested, now), "trouble": rules.trouble}

        return await self.shown(request, "policies", look, here="policies")

    async def policy(self, request: Request, *, wrong: str | None = None, **more: Any) -> Response:
        """One policy."""
        name = str(request.path_params["policy"])

        def look(lang: Language, now: int) -> dict[str, Any]:
            found = shelf.volume(name, self.service.rules.published, self._tested, now)
            if found is None:
                raise NotFound("no policy is called so")
            return found

        typed = {"level": "", "lasts": "", "why": "", **more.pop("typed", {})}
        return await self.shown(request, "policy", look, here="policies", wrong=wrong, typed=typed, **more)

    async def levels(self, request: Request, *, wrong: str | None = None, **more: Any) -> Response:
        """At which level each policy works, how much may be done, and who said so."""

        def look(lang: Language, now: int) -> dict[str, Any]:
            names = [policy.name for policy in self.service.rules.published.policies]
            changes = LevelChange.select().order_by(LevelChange.id.desc()).limit(shelf.MOST).dicts()
            allowed = allowances(self.service.house.configuration, now)
            return {
                "breaker": breaker.newest(),
                "allowances": allowed,
                "levels": [given_levels.told(name, now) for name in names],
                "changes": list(changes),
            }

        typed = {"form": "", "why": "", **more.pop("typed", {})}
        return await self.shown(request, "levels", look, here="levels", wrong=wrong, typed=typed, **more)

    async def static(self, request: Request) -> Response:
        """A file of the pages."""
        return self.pages.file(str(request.path_params["name"])) or await self.problem(request, "missing", 404)

    async def favicon(self, request: Request) -> Response:
        """For browsers that ask for it by themselves."""
        return RedirectResponse(self.pages.asset("favicon.svg"), headers=HEADERS)

    # What an operator does --------------------------------------------------------------------------------------------

    async def act(self, request: Request) -> Response:
        """Act on what a policy advises."""
        name = str(request.path_params["request"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            advice.act(self.service.house.journal, name, fields.get("policy", ""), visitor.who, fields["why"])
            return "acted"

        return await self.done(request, "act", "act", work, self.request, f"/requests/{name}")

    async def stop(self, request: Request) -> Response:
        """Stop a Request."""
        name = str(request.path_params["request"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            intake.stop(self.service.house.journal, name, "operator", fields["why"])
            return "stopped"

        return await self.done(request, "act", "stop", work, self.request, f"/requests/{name}")

    async def release(self, request: Request) -> Response:
        """Release a Request, or close it."""
        name = str(request.path_params["request"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            saw, close = fields.get("saw") or None, fields.get("close") == "yes"
            if saw is not None and saw not in ("delivered", "not-delivered", "ran", "did-not-run"):
                raise Conflict("nothing of the kind can be seen")
            intake.release(
                self.service.house.journal, name, fields["why"], saw=cast("intake.Saw | None", saw), close=close
            )
            return "closed" if close else "released"

        return await self.done(request, "act", "release", work, self.request, f"/requests/{name}")

    async def change_level(self, request: Request) -> Response:
        """Change the level of a policy."""
        name = str(request.path_params["policy"])

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            if self.service.rules.published.get(name) is None:
                raise NotFound("no policy is called so")
            now = self.service.house.journal.advance_clock().ms
            lasts = fields.get("lasts", "")
            if lasts not in ("", "1h", "8h", "24h", "168h"):
                raise Conflict("a level lasts for one of the times that the form offers")
            until = given_levels.ends(lasts, now) if lasts else None
            levels.change(name, fields.get("level", ""), who=visitor.who, why=fields["why"], at=now, until=until)
            return "level"

        return await self.done(request, "admin", "level", work, self.policy, f"/policies/{name}")

    async def change_breaker(self, request: Request) -> Response:
        """Let no recovery begin, or let them begin again."""
        journal = self.service.house.journal

        def work(fields: dict[str, str], visitor: Visitor) -> str:
            change = fields.get("change")
            if change == "open":
                breaker.open_by_hand(journal, who=visitor.who, why=fields["why"])
                return "opened"
            if change != "close":
                raise Conflict("the breaker is opened or closed")
            breaker.close(journal, who=visitor.who, why=fields["why"])
            return "shut"

        return await self.done(request, "admin", "breaker", work, self.levels, "/levels")


def _page(written: str) -> int:
    """Which part of a list is asked for; the first where that is none."""
    return max(1, int(written)) if re.fullmatch("[0-9]{1,6}", written, re.ASCII) else 1


def _inside(address: str) -> str:
    """An address of ours; the overview where it is none."""
    ours = address.startswith(("/requests/", "/decisions/", "/policies", "/levels"))
    return address if ours and address.isascii() and address.isprintable() and "\\" not in address else "/"
