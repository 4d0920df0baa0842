"""What is the whole interface, as OpenAPI 3.1 says it?

Most of it is what the routes declare of themselves; the plain ones are written down here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from oncemore.adapters.api.deciding import MOST_CASES, NDJSON
from oncemore.adapters.api.problems import Problem
from oncemore.adapters.api.schemas import Decided, problems
from oncemore.rules.durations import MAX_MS
from oncemore.rules.fact import Fact
from oncemore.rules.typecheck import MAX_INT
from oncemore.rules.vocabulary import FACTS

REF: Final = "#/components/schemas/{model}"

ABOUT: Final = """\
Decides by rules whether an agent's unfinished conversation may be taken up once more, and does it once.

Every route but `/healthz` wants a key: `Authorization: Bearer om_...`, made with `oncemore keys add`. Bodies are strict
JSON. Whatever is refused is answered with a problem (RFC 9457) that carries our code and the place of each mistake.
"""


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application, the same for every one."""
    if app.openapi_schema is None:
        found = _of_routes(app)
        found["info"]["description"] = ABOUT
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(_models(Problem, Decided))
        schemas["Case"] = _case()
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "om_..."}}
        found["security"] = [{"key": []}]
        found["paths"]["/healthz"]["get"]["security"] = []
        found["paths"].update(_plain_paths())
        found["paths"] = dict(sorted(found["paths"].items()))
        found["components"]["schemas"] = dict(sorted(schemas.items()))
        app.openapi_schema = found
    return app.openapi_schema


def _of_routes(app: FastAPI) -> dict[str, Any]:
    from fastapi.openapi.utils import get_openapi

    return get_openapi(title=app.title, version="1", openapi_version="3.1.0", routes=app.routes)


def _models(*models: type[BaseModel]) -> dict[str, Any]:
    _, found = models_json_schema([(model, "serialization") for model in models], ref_template=REF)
    definitions: dict[str, Any] = found["$defs"]
    return definitions


def _case() -> dict[str, Any]:
    time = {"type": "string", "format": "date-time"}
    moment = {"anyOf": [time, {"type": "integer", "minimum": 0}, {"type": "null"}]}
    names = {"type": "array", "items": {"enum": list(FACTS)}, "uniqueItems": True}
    return {
        "title": "Case",
        "type": "object",
        "description": "The same as a facts file. A fact that is named nowhere is missing.",
        "additionalProperties": False,
        "properties": {
            "now": {**moment, "description": "The moment of the case; the service's unless said."},
            "facts": {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: _fact(fact) for name, fact in FACTS.items()},
            },
            "missing": {**names, "description": "Facts that nobody supplied."},
            "stale": {
                "type": "object",
                "propertyNames": {"enum": list(FACTS)},
                "additionalProperties": {"type": "string"},
                "description": "How old the evidence of a fact is, such as `90s`; its value stands under `facts`.",
            },
            "conflict": {**names, "description": "Facts about which two readings disagree."},
            "waiting_since": {**moment, "description": "Since when the case has waited; `now` unless said."},
        },
    }


def _fact(fact: Fact) -> dict[str, Any]:
    unknown = {"const": "unknown"}
    said = {"description": fact.meaning}
    if fact.type == "enum":
        return {"enum": [*dict.fromkeys([*fact.values, "unknown"])], **said}
    if fact.type == "bool":
        return {"anyOf": [{"type": "boolean"}, unknown], **said}
    if fact.type == "int":
        return {"anyOf": [{"type": "integer", "minimum": fact.lowest, "maximum": MAX_INT}, unknown], **said}
    span = {"type": "string", "pattern": "^([0-9]{1,19}(ms|h|m|s))+$", "description": f"At most {MAX_MS} ms."}
    return {"anyOf": [span, unknown], **said}


def _plain_paths() -> dict[str, Any]:
    case, decided = {"$ref": REF.format(model="Case")}, {"$ref": REF.format(model="Decided")}
    policy = _parameter("policy", "Ask this policy alone, without competition.", {"type": "string"})
    levels = _parameter(
        "levels", "Let policies compete by the levels in force; else all of them compete.", {"enum": ["true", "false"]}
    )
    store = _parameter(
        "store",
        "Keep the decisions, to be shown and explained later; needs the scope `act` too. Nothing ever acts on them.",
        {"enum": ["true", "false"]},
    )
    several = {"type": "array", "items": case, "maxItems": MOST_CASES}
    return {
        "/v1/decide": _post(
            "Decide a case",
            "What the rules say of a posted case; the same as `oncemore decide` prints.",
            "decide",
            [policy, levels, store],
            {"application/json": {"schema": case}},
            {"application/json": {"schema": decided}},
            ["decisions"],
        ),
        "/v1/decide/batch": _post(
            "Decide many cases",
            "An array gives an array, all or nothing. A stream of lines gives a line for each, in order, as they are "
            "decided: the decisions, or `{problem: ...}`; read while you write.",
            "decide_batch",
            [policy, levels],
            {"application/json": {"schema": several}, NDJSON: {"schema": {"type": "string"}}},
            {
                "application/json": {"schema": {"type": "array", "items": decided}},
                NDJSON: {"schema": {"type": "string"}},
            },
            ["decisions"],
        ),
        "/v1/sources/{source}/events": {
            "post": {
                "summary": "An event of a chat",
                "description": "What Lark tells. It takes no key of ours: it is signed with the app's.",
                "operationId": "source_event",
                "tags": ["events"],
                "security": [],
                "parameters": [
                    {"name": "source", "in": "path", "required": True, "schema": {"type": "string"}},
                ],
                "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                    "200": {
                        "description": "It is taken in, or there is nothing to take in.",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    },
                    **_refusals(404, 408, 413),
                },
            }
        },
    }


def _parameter(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": dict(schema)}


def _refusals(*statuses: int) -> dict[str, Any]:
    return {str(status): said for status, said in problems(*statuses).items()}


def _post(
    summary: str,
    description: str,
    name: str,
    parameters: list[dict[str, Any]],
    takes: Mapping[str, Any],
    gives: Mapping[str, Any],
    tags: list[str],
) -> dict[str, Any]:
    return {
        "post": {
            "summary": summary,
            "description": description,
            "operationId": name,
            "tags": tags,
            "parameters": parameters,
            "requestBody": {"required": True, "content": dict(takes)},
            "responses": {
                "200": {"description": "Decided.", "content": dict(gives)},
                **_refusals(400, 404, 408, 413, 415),
            },
        }
    }
