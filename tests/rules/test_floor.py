"""Whatever starts a model stands on the whole floor, and a damaged floor is never a lower one."""

from __future__ import annotations

import re

import pytest

from oncemore.rules.actions import ACTIONS
from oncemore.rules.cells import FAIL, Cells, solve
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import RulesInvalid
from oncemore.rules.floor import FLOOR_DIGEST, FLOOR_TEXT, floor_gates, read_floor
from oncemore.rules.loading import load_policies
from oncemore.rules.policy import Policy
from oncemore.rules.shipped import shipped_policies

EVERY = [
    "request.opted_out == false",
    'request.state == "open"',
    'request.stop_origin == "none"',
    'request.audience == "private"',
    'request.host == "managed"',
    "request.delegated == false",
    "request.attachments == 0",
    'source.state == "unchanged" && source.sender_verified',
    'grant.state == "intact"',
    'session.state == "idle"',
    'session.newer_input != "queued"',
    "attempts.open == false",
    'native.read == "stable" && native.coverage == "complete" && native.turn_bound',
    'native.pending == "none"',
    "native.unknown_items == 0",
]
MORE = {
    "continue_work": [
        'session.newer_input == "none"',
        "native.latest",
        'native.background == "none"',
        'native.effects in ["none", "settled"]',
    ],
    "retry_business": ['native.user_only && native.effects == "none"'],
    "review_answer": ["route.restricted_profile"],
}


@pytest.mark.parametrize("action", sorted(MORE))
def test_every_model_start_stands_on_the_whole_floor(action: str) -> None:
    assert [gate.text for gate in floor_gates(action)] == EVERY + MORE[action]


def test_settling_starts_no_model_and_has_no_floor() -> None:
    assert floor_gates("settle_turn") == ()
    assert {action for action in ACTIONS if ACTIONS[action].starts_model} == set(MORE)


def test_an_action_that_does_not_exist_has_no_floor_to_stand_on() -> None:
    with pytest.raises(KeyError):
        floor_gates("reboot")


def test_the_floors_gates_are_marked_and_never_called_like_a_policys() -> None:
    own = {gate.id for policy in load_policies([shipped_policies()]).policies for gate in policy.gates}
    for action in MORE:
        gates = floor_gates(action)
        assert all(gate.floor and gate.recheck and gate.id.startswith("floor/") for gate in gates)
        assert not own & {gate.id for gate in gates}
        assert len({gate.id for gate in gates}) == len(gates)
        assert all(set(gate.why) == {"en", "zh"} for gate in gates)
        assert all(re.fullmatch(r"floor\.yaml:\d+:\d+", gate.at) for gate in gates)


def test_a_place_in_the_floor_is_where_its_condition_begins() -> None:
    for gate in floor_gates("continue_work"):
        _, line, column = gate.at.split(":")
        assert FLOOR_TEXT.splitlines()[int(line) - 1][int(column) - 1 :] == gate.text


def test_the_digest_is_that_of_the_text() -> None:
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", FLOOR_DIGEST)


@pytest.mark.parametrize(
    "text", ["", FLOOR_TEXT + "more: 1\n", FLOOR_TEXT.replace("request.opted_out", "request.optd"),
             FLOOR_TEXT.replace("continue_work:", "continue_play:")],
)  # fmt: skip
def test_a_damaged_floor_is_never_a_lower_one(text: str) -> None:
    with pytest.raises(RulesInvalid) as caught:
        read_floor(text)
    assert all(isinstance(one, Diagnostic) for one in caught.value.diagnostics)
    assert caught.value.diagnostics


@pytest.mark.parametrize("policy", load_policies([shipped_policies()]).policies, ids=lambda policy: policy.name)
def test_a_shipped_policy_asks_for_all_that_the_floor_asks(policy: Policy) -> None:
    floor = floor_gates(policy.action)
    own = [policy.when, *(gate.condition for gate in policy.gates)]
    cells = Cells([*own, *(gate.condition for gate in floor)])
    for gate in floor:
        assert solve([*map(cells.ways, own), cells.ways(gate.condition, FAIL)]) is None, gate.id
