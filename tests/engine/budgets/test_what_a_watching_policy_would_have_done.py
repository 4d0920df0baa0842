"""What a policy at `shadow` would have done is told with what became of those conversations afterwards."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from tests.engine.budgets.conftest import POLICY, Office

from oncemore.adapters.cli.commands import cli
from oncemore.engine import advice, intake, levels
from oncemore.engine.hindsight import Would, would_have


def told(office: Office) -> dict[str, Would]:
    by_request = {request: name for name, request in office.requests.items()}
    return {by_request[one.request]: one for one in would_have([POLICY], 0, office.w.now() + 1)}


def test_each_request_is_told_once_with_what_came_first_since(office: Office) -> None:
    office.opens(level="shadow")
    before = office.w.now()
    office.backoff()
    fired = office.w.rows("select id from decision where outcome = 'fire'")
    assert {one.decision for one in told(office).values()} == {row["id"] for row in fired}
    assert {(one.level, one.ended, one.still_fires) for one in told(office).values()} == {("shadow", "open", True)}
    office.house.ask("notes", "Please do write part two.")
    intake.stop(office.house.journal, office.requests["plans"], "user", "")
    intake.release(office.house.journal, office.requests["lists"], "done by hand", close=True)
    office.works(60_000)
    found = told(office)
    assert {name: (one.ended, one.by) for name, one in found.items()} == {
        "notes": ("wrote_again", None),
        "plans": ("stopped", "user"),
        "lists": ("closed", None),
    }
    assert not any(one.still_fires for one in found.values())
    assert all(one.ended_at is not None and before < one.at <= one.ended_at for one in found.values())
    assert would_have([POLICY], 0, before) == []
    assert would_have(["retry-quota"], 0, office.w.now()) == []


def test_a_raised_level_and_an_operators_word_are_told_apart(office: Office) -> None:
    office.opens(level="advise")
    office.backoff()
    advice.act(office.house.journal, office.requests["notes"], POLICY, "ann", "urgent")
    office.works()
    with office.house.journal.transaction():
        at = office.house.journal.advance_clock().ms
        levels.change(POLICY, "enforce", who="ann", why="it is right", at=at)
    office.works()
    assert {name: one.ended for name, one in told(office).items()} == {
        "notes": "operator_acted",
        "plans": "same_policy",
        "lists": "same_policy",
    }


def test_the_command_shows_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONCEMORE_POLICIES", raising=False)
    office.opens(level="shadow")
    office.backoff()
    office.close()
    home = ["--home", str(office.w.folder)]
    shown = CliRunner().invoke(
        cli, ["shadow", *home, "--since", "2020-01-01T00:00:00Z", "--until", "2090-01-01T00:00:00Z"]
    )
    assert shown.exit_code == 0, shown.output
    assert f"{POLICY} would have acted on 3 requests: 3 open" in shown.stderr
    asked = CliRunner().invoke(cli, ["shadow", POLICY, *home, "--format", "json", "--until", "2090-01-01T00:00:00Z"])
    assert {one["request"] for one in json.loads(asked.stdout)} == set(office.requests.values())
    for wrong in (["no-such-policy"], ["--since", "soon"], ["--since", "1h", "--until", "2h"]):
        assert CliRunner().invoke(cli, ["shadow", *wrong, *home]).exit_code == 2, wrong
