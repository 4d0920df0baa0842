"""What do the rules say of a case that somebody posts?

Nothing is stored unless the poster asks for it, and nothing that acts ever reads what is. All of it runs in the event
loop's own thread: the engine's state belongs to the thread that asks, and a case takes about as long as a hop to
another one would.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from oncemore.adapters.api.doors import key_of, limited, reach
from oncemore.adapters.api.posted_case import MAX_BYTES, case_of, judged
from oncemore.adapters.api.problems import as_problem, parameter
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_json import load
from oncemore.adapters.api.strict_routes import content_type, json_type, known_parameters
from oncemore.adapters.errors import Mistake, NoKey, NotJson, NotValid, OtherType, TooLarge
from oncemore.engine import levels
from oncemore.engine.decision import Pass
from oncemore.engine.errors import NotFound
from oncemore.engine.locks import one_at_a_time
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.service_tables import PostedDecision, PostedPass
from oncemore.engine.tables import Bundle
from oncemore.rules.case import Case

MOST_CASES: Final = 1_000
"""In one array."""

PIECE: Final = 64 * 1024
"""Bytes of an answer that are sent together."""

PARAMETERS: Final = ("policy", "levels", "store")

BATCH: Final = "/v1/decide/batch"
"""Where a stream of lines is taken, of any length; each line has a limit instead."""

NDJSON: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class _Asked:
    """How cases are to be judged.

    Attributes:
        only: this policy alone.
        levels: by the levels in force; else all policies compete.
        store: keep the decisions.
    """

    only: str | None = None
    levels: bool = False
    store: bool = False


_PLAIN: Final = _Asked()


def routes(service: Service) -> list[Route]:
    """`decide`, and its batch."""

    async def decide(request: Request) -> Response:
        reach(request, "decide")
        asked = _asked(request, service.rules)
        json_type(request)
        case = case_of(load(await request.body()), service.clock())
        rules = service.rules
        found = judged(rules, case, levels=await _levels(service, rules, asked), only=asked.only)
        content = found.json(b"\n")
        if asked.store:
            await service.write(lambda: keep(rules, found, key_of(request).id, service.clock()))
        else:
            request.scope["state"]["quiet"] = True
        return Response(content, media_type="application/json")

    async def batch(request: Request) -> Response:
        reach(request, "decide")
        asked = _asked(request, service.rules)
        if asked.store:
            raise parameter("store", "decisions of a batch are not kept", "post the case to /v1/decide")
        kind = content_type(request)
        rules = service.rules
        at = await _levels(service, rules, asked)
        request.scope["state"]["quiet"] = True
        if kind == NDJSON:
            return _WhileReading(_lines(request, service, rules, asked, at), media_type=NDJSON)
        if kind != "application/json":
            raise OtherType(f"send the cases as `Content-Type: application/json`, or as `{NDJSON}` one in each line")
        cases = _cases(load(await limited(request).body()), service.clock())
        return StreamingResponse(_array(rules, cases, asked, at), media_type="application/json")

    return [
        Route("/v1/decide", decide, methods=["POST"]),
        Route(BATCH, batch, methods=["POST"]),
    ]


class _WhileReading(StreamingResponse):
    """An answer that is made while the body still comes in: nobody else may take a part of it to see who left."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


def keep(rules: Rulebook, found: Pass, poster: str, now: int) -> None:
    """Store a posted case with its decisions; the same ones again are kept from now on. Inside a transaction."""
    one_at_a_time(f"posted\0{found.digest}")
    if PostedPass.update(at=now).where(PostedPass.id == found.digest).execute():
        return
    for digest, body in rules.bundles.items():
        if not Bundle.select().where(Bundle.digest == digest).exists():
            Bundle.insert(digest=digest, body=body).on_conflict_ignore().execute()
    PostedPass.insert(
        id=found.digest,
        stored=found.stored.decode(),
        outcome=found.outcome.value,
        fired=found.fired,
        poster=poster,
        at=now,
    ).execute()
    for record in found.records:
        PostedDecision.insert(id=record["decision_id"], posted_pass=found.digest).execute()


def _asked(request: Request, rules: Rulebook) -> _Asked:
    if not request.scope["query_string"]:
        return _PLAIN
    query = request.query_params
    known_parameters(query, PARAMETERS)
    only = query.get("policy")
    if only is not None and only not in rules.names:
        raise NotFound(f"there is no policy {only[:100]}")
    asked = _Asked(only, _flag(request, "levels"), _flag(request, "store"))
    if asked.store:
        reach(request, "act")
    return asked


def _flag(request: Request, name: str) -> bool:
    said = request.query_params.get(name, "false")
    if said not in ("true", "false"):
        raise parameter(name, "true or false is wanted here")
    return said == "true"


async def _levels(service: Service, rules: Rulebook, asked: _Asked) -> Mapping[str, str] | None:
    if not asked.levels:
        return None
    return await service.read(lambda: levels.current(rules.names, service.house.journal.now().ms))


def _cases(value: Any, now: int) -> list[Case]:
    """The cases of an array, all of them or none."""
    if type(value) is not list:
        raise NotValid("a batch is an array of cases", [Mistake("R203", "an array is wanted here", "")])
    if len(value) > MOST_CASES:
        raise TooLarge(f"an array has at most {MOST_CASES} cases; a stream of lines ({NDJSON}) has any number")
    cases: list[Case] = []
    mistakes: list[Mistake] = []
    for index, one in enumerate(value):
        try:
            cases.append(case_of(one, now, under=f"/{index}"))
        except NotValid as error:
            mistakes += error.mistakes
    if mistakes:
        more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
        raise NotValid(f"{mistakes[0].pointer}: {mistakes[0].detail}{more}", mistakes[:200])
    return cases


async def _array(
    rules: Rulebook, cases: list[Case], asked: _Asked, at: Mapping[str, str] | None
) -> AsyncIterator[bytes]:
    pieces = _Pieces()
    opening = b"["
    for case in cases:
        if full := pieces.add(opening + judged(rules, case, levels=at, only=asked.only).json()):
            yield full
            await asyncio.sleep(0)  # others are served between two pieces
        opening = b","
    yield pieces.rest() + (b"]\n" if cases else b"[]\n")


async def _lines(
    request: Request, service: Service, rules: Rulebook, asked: _Asked, at: Mapping[str, str] | None
) -> AsyncIterator[bytes]:
    """For each line with a case a line with its decisions, or with the problem that it has; in order."""
    pieces = _Pieces()
    rest = b""
    async for chunk in request.stream():
        if not await service.opens(key_of(request)):
            yield _problem(NoKey("the key opens nothing any more; nothing after this is read"))
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if full := pieces.add(_line(line, service, rules, asked, at)):
                yield full
                await asyncio.sleep(0)
        if len(rest) > MAX_BYTES:
            too_large = TooLarge(f"a line has more than {MAX_BYTES} bytes; nothing after it is read")
            yield pieces.rest() + _problem(too_large)
            return
        # Nothing that is answered waits for what is still to come.
        if said := pieces.rest():
            yield said
    if said := _line(rest, service, rules, asked, at):
        yield said


class _Pieces:
    """Answers, gathered until they are worth sending."""

    def __init__(self) -> None:
        self._gathered: list[bytes] = []
        self._size = 0

    def add(self, text: bytes) -> bytes:
        """All that is gathered, once that is enough; else nothing yet."""
        self._gathered.append(text)
        self._size += len(text)
        return self.rest() if self._size >= PIECE else b""

    def rest(self) -> bytes:
        """All that is gathered."""
        gathered, self._gathered, self._size = b"".join(self._gathered), [], 0
        return gathered


def _line(line: bytes, service: Service, rules: Rulebook, asked: _Asked, at: Mapping[str, str] | None) -> bytes:
    if not line.strip():
        return b""
    try:
        if len(line) > MAX_BYTES:
            raise TooLarge(f"the line has more than {MAX_BYTES} bytes")
        return judged(rules, case_of(load(line), service.clock()), levels=at, only=asked.only).json(b"\n")
    except (NotJson, NotValid, TooLarge) as error:
        return _problem(error)


def _problem(error: Exception) -> bytes:
    return json.dumps({"problem": as_problem(error)}, separators=(",", ":")).encode() + b"\n"
