"""Facts in, decisions out: the same as `oncemore decide` says of the same facts, and nothing is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.api.conftest import NOON, World, rows
from tests.postgres import both

from oncemore.adapters.api.posted_case import case_of
from oncemore.adapters.cli.commands import cli
from oncemore.adapters.errors import NotValid
from oncemore.engine.tables import Decision, Event, Request
from oncemore.rules import durations
from oncemore.rules.case import Case
from oncemore.rules.cases import facts_from_bytes, load_tests
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.vocabulary import FACTS

CONTINUE = "continue-unfinished-work"


def firing() -> dict[str, Any]:
    """A body on which a shipped policy fires."""
    case = load_tests(shipped_policies() / f"{CONTINUE}_test.yaml").cases[0].case
    return {"now": "2026-11-30T12:00:00Z", "facts": stated(case)}


def stated(case: Case) -> dict[str, Any]:
    facts = {}
    for name, reading in case.readings.items():
        spans = FACTS[name].type == "duration"
        facts[name] = durations.format_ms(int(str(reading.value))) if spans else reading.value
    return facts


def test_the_answer_is_that_of_the_command(world: World, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(json.dumps(firing()))
    said = CliRunner().invoke(cli, ["decide", "--facts", str(file), "--policies", str(shipped_policies())])
    told, answered = json.loads(said.stdout), world.post("/v1/decide", firing()).json()
    assert (answered["outcome"], answered["fired"]) == (told["outcome"], told["fired"]) == ("fire", CONTINUE)
    for record in (*told["decisions"], *answered["decisions"]):
        del record["decision_id"]
        for operand in (*record["when"]["operands"], *(o for gate in record["gates"] for o in gate["operands"])):
            assert operand.pop("source") in ("file", "posted", None)
    assert answered == told


def test_nothing_is_stored_and_nothing_is_done_unless_asked(world: World) -> None:
    before = rows()
    world.post("/v1/decide", firing())
    world.post("/v1/decide/batch", [firing()] * 3)
    assert rows() == before


@both
def test_a_decision_that_is_kept_is_shown_again_and_leads_to_nothing(world: World) -> None:
    answered = world.post("/v1/decide?store=true", firing()).json()
    assert world.post("/v1/decide?store=true", firing()).json() == answered
    record = next(one for one in answered["decisions"] if one["policy"]["name"] == CONTINUE)
    assert (record["origin"], record["request"], record["stage"]) == ("posted", None, "asked")
    assert world.get(f"/v1/decisions/{record['decision_id']}") == record
    assert world.get(f"/v1/decisions/{record['decision_id'][7:30]}") == record
    # What acts reads Requests, their decisions and their events; there is none.
    assert not any(one.select().exists() for one in (Request, Decision, Event))


def test_an_audience_is_told_what_is_for_it(world: World) -> None:
    answered = world.post("/v1/decide?store=true", {**firing(), "conflict": []}).json()
    decision = next(one["decision_id"] for one in answered["decisions"] if one["policy"]["name"] == CONTINUE)
    explain = f"/v1/decisions/{decision}/explain"
    assert "backoff" in world.call("GET", f"{explain}?format=text").text
    chinese = world.get(f"{explain}?lang=zh&audience=user")
    assert set(chinese) == {"outcome", "sentence", "until"}
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese["sentence"])
    assert "turn.ended_ago" not in world.call("GET", f"{explain}?audience=user&format=markdown").text


def test_one_policy_can_be_asked_alone(world: World) -> None:
    answered = world.post(f"/v1/decide?policy={CONTINUE}", firing()).json()
    assert [one["policy"]["name"] for one in answered["decisions"]] == [CONTINUE]
    unknown = world.post("/v1/decide?policy=none", firing())
    assert (unknown.status_code, unknown.json()["code"]) == (404, "E204")
    assert unknown.json()["detail"] == "there is no policy none"


def test_policies_compete_by_their_levels_when_that_is_asked(world: World) -> None:
    assert world.post("/v1/decide?levels=true", firing()).json()["fired"] is None
    world.post("/v1/levels", {"policy": CONTINUE, "level": "enforce", "why": "tried"})
    assert world.post("/v1/decide?levels=true", firing()).json()["fired"] == CONTINUE


def test_the_time_is_the_services_where_the_case_names_none(world: World) -> None:
    record = world.post("/v1/decide?policy=retry-quota", {}).json()["decisions"][0]
    assert record["at"] == "2026-11-30T12:00:00.000Z"
    assert world.clock.ms == NOON


def test_an_array_gives_an_array(world: World) -> None:
    answered = world.post(f"/v1/decide/batch?policy={CONTINUE}", [firing(), {}, firing()]).json()
    assert [one["outcome"] for one in answered] == ["fire", "wait", "fire"]
    assert world.post("/v1/decide/batch", []).json() == []


def test_an_array_is_taken_whole_or_not_at_all(world: World) -> None:
    refused = world.post("/v1/decide/batch", [firing(), {"facts": {"turn.statsu": "x"}}, {"fact": {}}])
    assert refused.status_code == 422
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/1/facts/turn.statsu", "/2/fact"]


def test_a_stream_of_lines_answers_each_line_in_order(world: World) -> None:
    lines = [json.dumps(firing()), "", "{nonsense", json.dumps({"facts": {"turn.attempt": True}}), json.dumps({})]
    answer = world.call(
        "POST",
        f"/v1/decide/batch?policy={CONTINUE}",
        content="\n".join(lines).encode(),
        headers={"content-type": "application/x-ndjson"},
    )
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    first, second, third, fourth = map(json.loads, answer.text.splitlines())
    assert (first["outcome"], fourth["outcome"]) == ("fire", "wait")
    assert (second["problem"]["code"], third["problem"]["code"]) == ("A201", "A202")
    assert third["problem"]["errors"][0]["pointer"] == "/facts/turn.attempt"


def test_a_line_without_an_end_is_not_waited_for(world: World) -> None:
    async def lines() -> Any:
        yield json.dumps(firing()).encode() + b"\n"
        while True:
            yield b" " * 30_000

    headers = {"content-type": "application/x-ndjson"}
    answer = world.call("POST", f"/v1/decide/batch?policy={CONTINUE}", content=lines(), headers=headers)
    first, second = map(json.loads, answer.text.splitlines())
    assert (first["outcome"], second["problem"]["code"]) == ("fire", "A203")


values = st.one_of(
    st.booleans(),
    st.integers(-3, 2**63),
    st.none(),
    st.sampled_from(["unknown", "60s", "1h30m", "-1s", "", "completed", "quota", "none", "é", "\u200b", "NaN"]),
    st.lists(st.integers(), max_size=1),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
)
names = st.one_of(st.sampled_from(sorted(FACTS)), st.sampled_from(["turn.statsu", "", "a/b~c", "1"]))
times = st.sampled_from(
    ["2026-11-30T12:00:00Z", "2026-02-30T12:00:00Z", "1960-01-01T00:00:00Z", "2026-11-30T11:00:00+01:00"]
)
bodies = st.fixed_dictionaries(
    {},
    optional={
        "now": values | times,
        "waiting_since": st.none() | times,
        "facts": st.one_of(st.dictionaries(names, values, max_size=4), values),
        "missing": st.one_of(st.lists(names, max_size=3), values),
        "stale": st.dictionaries(names, values, max_size=2),
        "conflict": st.lists(names, max_size=2),
    },
)


@settings(max_examples=400, deadline=None)
@given(bodies)
def test_a_body_says_the_same_as_the_file_that_it_would_be(body: dict[str, Any]) -> None:
    """What is taken at once is taken as the reader of facts files takes it."""
    try:
        expected = facts_from_bytes(json.dumps(body).encode(), "body", NOON)
    except FactsInvalid as refused:
        with pytest.raises(NotValid) as error:
            case_of(body, NOON)
        assert {one.code for one in error.value.mistakes} == {one.code for one in refused.diagnostics}
        return
    found = case_of(body, NOON)
    assert (found.now, found.waiting_since) == (expected.now, expected.waiting_since)
    assert {name: (one.status, one.value) for name, one in found.readings.items()} == {
        name: (one.status, one.value) for name, one in expected.readings.items()
    }
    assert {one.evidence.source for one in found.readings.values() if one.evidence} <= {"posted"}


def test_a_case_that_is_much_too_large_is_not_looked_through(world: World) -> None:
    case = {"facts": {f"turn.x{number}": "completed" for number in range(4_000)}}
    for path, body in (("/v1/decide", case), ("/v1/decide/batch", [case])):
        answer = world.post(path, body)
        assert (answer.status_code, answer.json()["code"]) == (413, "A203")


def test_the_greatest_number_is_written_down(world: World) -> None:
    answer = world.post(f"/v1/decide?policy={CONTINUE}", {"facts": {"attempts.work": 2**63 - 1}})
    assert answer.status_code == 200
    assert str(2**63 - 1) in answer.text
