"""What the routes do is what docs/openapi.json says: an adversary of the contract calls every operation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from tests.adapters.api.conftest import opened, served
from tests.adapters.api.document import FILE

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    allow_header_conformance,
]

schema = schemathesis.openapi.from_dict(json.loads(FILE.read_text("utf-8")))
operations = {operation.ok().label: operation.ok() for operation in schema.get_all_operations()}

HEALTH = ("GET /healthz", "negative")
SIGNED = "POST /v1/sources/{source}/events"
"""Takes no key, and believes nothing that is made up."""


@dataclass(frozen=True)
class Called:
    """A service behind a socket, with what is there to be asked for.

    Attributes:
        known: of parameters in paths, values that lead somewhere.
    """

    url: str
    token: str
    known: dict[str, str]


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    with opened(tmp_path_factory.mktemp("house")) as world, served(world.service) as url:
        request = world.ask()
        decided = world.call("POST", "/v1/decide?store=true", content=b"{}").json()
        known = {
            "request": request,
            "decision": decided["decisions"][0]["decision_id"],
            "workspace": "notes",
            "policy": "retry-quota",
            "code": "A205",
        }
        yield Called(url, world.tokens["all"], known)


@pytest.mark.parametrize(
    ("label", "mode"),
    # There is no wrong way to ask for health.
    [(label, mode) for label in operations for mode in ("positive", "negative") if (label, mode) != HEALTH],
)
def test_no_call_is_answered_otherwise_than_written_down(label: str, mode: str, called: Called) -> None:
    operation = operations[label]
    parameters: dict[str, Any] = {
        one.name: called.known[one.name] for one in operation.path_parameters if one.name in called.known
    }
    # What is there is found every second time; a mistake in a path is one as well.
    known = {"path_parameters": parameters} if parameters and mode == "positive" else {}
    checks = [*CHECKS, negative_data_rejection] if mode == "negative" and label != SIGNED else CHECKS

    @settings(
        max_examples=6,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(schemathesis.GenerationMode(mode), **known))
    def every(case: Any) -> None:
        headers = {"authorization": f"Bearer {called.token}"}
        answer = case.call(base_url=called.url, headers=headers)
        case.validate_response(answer, checks=checks)

    every()
