"""A body that two parsers could read differently is refused, with the place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.api.conftest import World, rows

from oncemore.adapters.api.strict_json import MAX_DEPTH, load
from oncemore.adapters.errors import NotJson

REFUSED = {
    '{"facts": {"turn.attempt": 1, "turn.attempt": 2}}': ("/facts/turn.attempt", "twice"),
    '{"facts": {"turn.attempt": 1, "turn\\u002eattempt": 2}}': ("/facts/turn.attempt", "twice"),
    '{"facts": {"turn.attempt": NaN}}': ("/facts/turn.attempt", "no number"),
    '{"facts": {"turn.attempt": -Infinity}}': ("/facts/turn.attempt", "no number"),
    '{"facts": {"turn.attempt": 1e999}}': ("/facts/turn.attempt", "too large"),
    f'{{"facts": {{"turn.attempt": {"9" * 5_000}}}}}': ("/facts/turn.attempt", "too large"),
    '{"missing": ["a", "\\ud800"]}': ("/missing/1", "surrogates"),
    '{"a/b": {"~": .5}}': ("/a~1b/~0", "value"),
    "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1): ("/0" * MAX_DEPTH, "inside each other"),
    "[" * 100_000: ("/0" * MAX_DEPTH, "inside each other"),
    '{"a": 1,}': ("", "name in double quotes"),
    "[1 2]": ("", "comma"),
    '{"a": 1} {}': ("", "after the value"),
    "{'a': 1}": ("", "double quotes"),
    '{"a" 1}': ("/a", "colon"),
    '"a\nb"': ("", "not one of JSON"),
    '"a': ("", "not one of JSON"),
    "": ("", "ends"),
    "nul": ("", "value"),
    "01": ("", "after the value"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_strict_is_refused_with_its_place(text: str) -> None:
    where, said = REFUSED[text]
    with pytest.raises(NotJson) as refused:
        load(text.encode())
    (mistake,) = refused.value.mistakes
    assert mistake.pointer == where
    assert said in mistake.detail


@pytest.mark.parametrize("raw", [b"\xff", b'"\xc3"', "\ufeff{}".encode(), "{}".encode("utf-16")])
def test_other_encodings_are_refused(raw: bytes) -> None:
    with pytest.raises(NotJson):
        load(raw)


floats = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | floats | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(json_values, st.booleans())
def test_what_is_strict_is_read_as_it_is(value: object, ascii_: bool) -> None:
    assert load(json.dumps(value, ensure_ascii=ascii_).encode()) == value


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('{}[]":,\\ \n01.eE-+tfnualdrsN\u00e9'), max_size=24))
def test_the_quick_reader_and_the_one_that_finds_places_agree(text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises(NotJson, match=r"\(line|body"):
            load(text.encode())


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/requests", {"workspace": "notes", "text": 1}, "/text"),
        ("/v1/requests", {"workspace": "../etc", "text": "x"}, "/workspace"),
        ("/v1/requests", {"workspace": "notes", "text": " \n"}, "/text"),
        ("/v1/requests", {"workspace": "notes", "text": "x", "author": "bob"}, "/author"),
        ("/v1/requests", {"workspace": "notes", "text": "x", "message": "a b"}, "/message"),
        ("/v1/requests", {"workspace": "notes"}, "/text"),
        ("/v1/requests", [], ""),
        ("/v1/levels", {"policy": "retry-quota", "level": "on", "why": "w"}, "/level"),
        ("/v1/breaker", {"change": "toggle", "why": "w"}, "/change"),
        ("/v1/breaker", {"change": "open"}, "/why"),
        ("/v1/breaker", {"change": "open", "why": ""}, "/why"),
        ("/v1/levels", {"policy": "retry-quota", "level": "off", "why": "w", "until": "tomorrow"}, "/until"),
        ("/v1/requests/r-000000000000/release", {"why": "w", "close": 1}, "/close"),
        ("/v1/requests/r-000000000000/release", {"why": "w", "close": "true"}, "/close"),
        ("/v1/requests/r-000000000000/stop", {"why": "  "}, "/why"),
        ("/access/v1/evaluation", {"subject": {}, "action": {"name": "a"}, "resource": {}}, "/subject/type"),
    ],
)
def test_every_body_is_what_its_route_takes(world: World, path: str, body: object, pointer: str) -> None:
    before = rows()
    answer = world.post(path, body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["code"], problem["type"], problem["status"]) == ("A202", "/errors/A202", 422)
    assert pointer in [one["pointer"] for one in problem["errors"]]
    assert rows() == before


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/requests", {"workspace": "notes", "text": ""}, "at least 1 long"),
        ("/v1/requests", {"workspace": "notes", "text": "  "}, "not blanks alone"),
        ("/v1/requests", {"workspace": "No", "text": "x"}, "an id is wanted here"),
        ("/v1/requests", {"workspace": "notes", "text": "x", "message": "a b"}, "letters, digits and any of"),
        ("/v1/levels", {"policy": "a", "level": "on", "why": "x"}, "one of 'off', 'shadow', 'advise' or 'enforce'"),
        ("/v1/levels", {"policy": "a", "level": "off", "why": "x" * 1_001}, "at most 1000 characters"),
        ("/v1/requests/r-nope/stop", {"why": "x"}, "such as r-0123456789ab"),
    ],
)
def test_what_is_outside_of_what_is_allowed_is_said_in_our_words(
    world: World, path: str, body: dict[str, str], said: str
) -> None:
    refused = world.post(path, body)
    assert refused.status_code == 422
    (mistake,) = refused.json()["errors"]
    assert said in mistake["detail"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/requests?limit=0", "a number from 1"),
        ("/v1/requests?limit=201", "a number up to 200"),
        ("/v1/requests?limit=x", "a whole number"),
        ("/v1/requests?state=closed", "one of 'open', 'answered'"),
        ("/v1/decisions/sha256:12", "the id of a decision"),
    ],
)
def test_so_is_a_parameter(world: World, path: str, said: str) -> None:
    refused = world.call("GET", path)
    assert refused.status_code == 422
    (mistake,) = refused.json()["errors"]
    assert said in mistake["detail"]
