"""A case is taken at once only where the reader of facts files says the same of it, and is bounded like any."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adapters.api.conftest import World

from oncemore.adapters.api import posted_case

SPAN = "turn.ended_ago"


@pytest.mark.parametrize("missing", ["", {}, 0, False, None, "turn.status", [[]], [{}], [1]])
def test_what_is_no_list_of_names_is_not_missing(world: World, missing: Any) -> None:
    answers = [world.post("/v1/decide", {"missing": missing, **more}) for more in ({}, {"conflict": []})]
    assert [one.status_code for one in answers] == [422, 422]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize("case", [{"facts": {SPAN: "0s" * 40_000}}, {"now": "0" * 80_000}])
def test_a_long_text_makes_a_case_too_large(world: World, case: dict[str, Any]) -> None:
    answer = world.post("/v1/decide", case)
    assert (answer.status_code, answer.json()["code"]) == (413, "A203")


def test_a_long_span_is_read_and_not_remembered(world: World) -> None:
    before = posted_case._span.cache_info().currsize
    answers = [world.post("/v1/decide", {"now": 0, "facts": {SPAN: text}}) for text in ("0s" * 100 + "7s", "7s")]
    assert [one.status_code for one in answers] == [200, 200]
    assert posted_case._span.cache_info().currsize <= before + 1


@pytest.mark.parametrize(
    "name", ["\N{GRINNING FACE}", "\N{CJK UNIFIED IDEOGRAPH-20000}", r"\ud83d\ude00", "\\\N{GRINNING FACE}"]
)
def test_a_character_beyond_the_first_plane_is_a_character(world: World, name: str) -> None:
    answer = world.post("/v1/decide", {"facts": {name: 1}})
    (mistake,) = answer.json()["errors"]
    assert (answer.status_code, mistake["code"], mistake["pointer"]) == (422, "R302", f"/facts/{name}")
