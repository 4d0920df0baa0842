"""A case asked about in the words of AuthZEN is read, refused and judged as a posted one is, whatever stands in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.api.conftest import World, opened
from tests.adapters.api.document import FILE

from oncemore.rules.vocabulary import FACTS

DOCUMENTED = {
    int(status) for status in json.loads(FILE.read_text("utf-8"))["paths"]["/access/v1/evaluation"]["post"]["responses"]
}

QUESTION = {
    "subject": {"type": "service", "id": "bot"},
    "action": {"name": "continue_work"},
    "resource": {"type": "request", "id": "42"},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("house")) as found:
        yield found


strange = st.sampled_from(
    [
        *(
            "unknown",
            "",
            "\0",
            "\u202e",
            "\ud800",
            "9" * 40 + "h",
            "1h",
            "-1s",
            "9999-12-31T23:59:59.999Z",
            "completed",
        ),
        *("0000-00-00T00:00:00Z", "1970-01-01T00:00:00Z", "2026-11-30T12:00:00+14:00", "$ref", "__proto__"),
        *(0, -1, 2**53, 2**63, 10**400, 1.5, 1e308, True, False, None),
    ]
)
values = st.recursive(
    strange,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
facts = st.dictionaries(st.sampled_from(sorted(FACTS)) | st.text(max_size=4), values, max_size=3)
cases = values | st.fixed_dictionaries(
    {},
    optional={
        "now": values,
        "facts": facts | values,
        "missing": st.lists(st.sampled_from(sorted(FACTS)) | values, max_size=3) | values,
        "stale": facts | values,
        "conflict": st.lists(st.sampled_from(sorted(FACTS)), max_size=2) | values,
        "waiting_since": values,
        "fact": values,
    },
)


@settings(max_examples=80, deadline=None)
@given(cases)
def test_both_routes_take_and_refuse_the_same_cases_for_the_same_mistakes(world: World, case: Any) -> None:
    decided = world.call("POST", "/v1/decide", content=json.dumps(case).encode())
    asked = world.call("POST", "/access/v1/evaluation", content=json.dumps({**QUESTION, "context": case}).encode())
    assert asked.status_code in DOCUMENTED
    assert asked.status_code == decided.status_code, (decided.text, asked.text)
    if decided.status_code == 200:
        told, context = decided.json(), asked.json()["context"]
        assert (context["outcome"], context["fired"]) == (told["outcome"], told["fired"])
        return
    assert asked.headers["content-type"] == decided.headers["content-type"] == "application/problem+json"
    assert (asked.json()["status"], asked.json()["code"]) == (decided.json()["status"], decided.json()["code"])
    if type(case) is dict and decided.status_code == 422:
        expected = [(one["code"], "/context" + one["pointer"]) for one in decided.json()["errors"]]
        assert [(one["code"], one["pointer"]) for one in asked.json()["errors"]] == expected


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_bytes_come_the_answer_is_one_that_is_written_down(world: World, raw: bytes) -> None:
    whole = json.dumps(QUESTION).encode()[:-1] + b', "context": ' + raw + b"}"
    for body in (raw, whole):
        answer = world.call("POST", "/access/v1/evaluation", content=body)
        assert answer.status_code in DOCUMENTED
        if answer.status_code != 200:
            assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [("/v1/decide", {}, ""), ("/access/v1/evaluation", {**QUESTION, "context": {}}, "/context")],
)
def test_what_cannot_be_written_down_is_a_mistake_of_the_case(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, body: object, pointer: str
) -> None:
    def unwritable(*_: object, **__: object) -> None:
        raise ValueError("10000000000000000 ms after the epoch cannot be written")

    monkeypatch.setattr(type(world.service.rules), "ask", unwritable)
    answer = world.post(path, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "A202")
    assert [(one["pointer"], one["detail"]) for one in answer.json()["errors"]] == [
        (pointer, "10000000000000000 ms after the epoch cannot be written")
    ]
