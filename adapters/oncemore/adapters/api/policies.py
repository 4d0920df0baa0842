"""Which rules are in force, in which words are they written, and at which level does each work?"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from oncemore.adapters import given_levels
from oncemore.adapters.api.answers import answer, tagged
from oncemore.adapters.api.doors import key_of
from oncemore.adapters.api.schemas import (
    FactList,
    Id,
    IdInPath,
    Level,
    LevelLine,
    LevelList,
    PolicyList,
    WholePolicy,
    Why,
    problems,
)
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import Body, for_scope
from oncemore.adapters.errors import Mistake, NotValid
from oncemore.engine import levels
from oncemore.engine.errors import NotFound
from oncemore.rules import durations
from oncemore.rules.policy import Policy
from oncemore.rules.vocabulary import DIGEST, FACTS

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is what the caller has already."}}


class NewLevel(Body):
    """A policy's level from now on."""

    policy: Id
    level: Level
    why: Why
    until: Annotated[
        str | None, Field(max_length=40, description="When it ends: a time, or a duration from now such as `8h`.")
    ] = None


def reading(service: Service) -> APIRouter:
    """What a key for `read` opens."""
    router = APIRouter(route_class=for_scope("read"), tags=["rules"])

    @router.get("/v1/policies", response_model=None, responses={200: {"model": PolicyList}, **UNCHANGED, **problems()})
    async def list_policies(call: Request) -> Response:
        """The policies in force."""
        rules = service.rules
        at = await service.read(lambda: levels.current(rules.names, service.house.journal.now().ms))
        listed = [_told(policy, at[policy.name]) for policy in rules.policies]
        return tagged(call, {"digest": rules.digest, "policies": listed})

    @router.get(
        "/v1/policies/{policy}",
        response_model=None,
        responses={200: {"model": WholePolicy}, **UNCHANGED, **problems(404)},
    )
    async def show_policy(call: Request, policy: IdInPath) -> Response:
        """One policy with its gates and its text."""
        found = next((one for one in service.rules.policies if one.name == policy), None)
        if found is None:
            raise NotFound(f"there is no policy {policy}")
        at = await service.read(lambda: levels.current([policy], service.house.journal.now().ms))
        return tagged(call, _whole(found, at[policy]))

    @router.get("/v1/facts", response_model=None, responses={200: {"model": FactList}, **UNCHANGED, **problems()})
    async def list_facts(call: Request) -> Response:
        """The vocabulary: every fact with its type, its values and its meaning."""
        facts = [fact.model_dump(mode="json") for fact in FACTS.values()]
        return tagged(call, {"digest": DIGEST, "facts": facts})

    @router.get("/v1/levels", response_model=None, responses={200: {"model": LevelList}, **problems()})
    async def list_levels() -> Response:
        """At which level each policy works, who said so and until when."""

        def read() -> list[dict[str, str | None]]:
            now = service.house.journal.now().ms
            return [given_levels.told(name, now) for name in service.rules.names]

        return answer({"levels": await service.read(read)})

    return router


def changing(service: Service) -> APIRouter:
    """What a key for `admin` opens."""
    router = APIRouter(route_class=for_scope("admin"), tags=["rules"])

    @router.post(
        "/v1/levels",
        response_model=None,
        responses={200: {"model": LevelLine}, **problems(400, 404, 408, 409, 413, 415)},
    )
    async def change_level(call: Request, body: NewLevel) -> Response:
        """Change at which level a policy works."""
        if body.policy not in service.rules.names:
            raise NotFound(f"there is no policy {body.policy}")
        key = key_of(call)

        def write() -> dict[str, str | None]:
            now = service.house.journal.advance_clock().ms
            until = None if body.until is None else _ends(body.until, now)
            who = f"key {key.id} {key.name}"
            levels.change(body.policy, body.level, who=who, why=body.why, at=now, until=until)
            return given_levels.told(body.policy, now)

        return answer(await service.write(write))

    return router


def _told(policy: Policy, level: str) -> dict[str, Any]:
    return {
        "name": policy.name,
        "revision": policy.revision,
        "digest": policy.digest,
        "summary": dict(policy.summary),
        "action": policy.action,
        "attempt": policy.attempt,
        "patience": None if policy.patience is None else durations.format_ms(policy.patience),
        "level": level,
    }


def _whole(policy: Policy, level: str) -> dict[str, Any]:
    gates = [
        {
            "id": gate.id,
            "require": gate.text,
            "otherwise": gate.otherwise.value,
            "unknown": gate.unknown.value,
            "recheck": gate.recheck,
            "group": gate.group,
            "why": dict(gate.why),
            "at": gate.at,
        }
        for gate in policy.gates
    ]
    return {**_told(policy, level), "when": policy.when_text, "gates": gates, "texts": dict(policy.texts)}


def _ends(text: str, now: int) -> int:
    try:
        return given_levels.ends(text, now)
    except ValueError as error:
        raise NotValid(f"until: {error}", [Mistake(NotValid.code, str(error), "/until")]) from None
