"""What of an interrupted answer may be shown to a review, and is it proven to be this Turn's?"""

from __future__ import annotations

import dataclasses

import pytest
from tests.adapters.antigravity.fake import Look, asked, command, planned, step
from tests.adapters.antigravity.stand import NOON, Stand, values

from oncemore.adapters.antigravity.material import Terms
from oncemore.engine import canonical
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import Inventory, NativeTurn, TurnView
from oncemore.engine.prompts import CONTINUATION

ASKED = asked("please", "request-1")
DRAFT = "the answer as far as it went"
THOUGHT = "a thought that stays inside"
CLEARED = planned(DRAFT, "CLEARED", stop="", second=3)
ERROR = [("ERROR", 1)]
GOOD = {
    "material.kind": "visible_response",
    "material.segment": "closed",
    "material.identity": "matched",
    "material.tool_calls": 0,
    "material.bytes": len(DRAFT),
}


def material(inventory: Inventory) -> dict[str, object]:
    """The material's facts."""
    return values(inventory.readings, *GOOD)


def details(inventory: Inventory) -> dict[str, str]:
    """What the identity was judged by."""
    evidence = inventory.readings["material.identity"].evidence
    assert evidence is not None
    return dict(evidence.details)


MATCHED = dict.fromkeys(("prompt_hash", "execution", "range", "time"), "matched")


def test_a_cleared_answer_that_still_shows_is_material_of_its_turn(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    inventory = stand.inventory(native)
    assert material(inventory) == GOOD
    assert details(inventory) == MATCHED
    wanted = {"native.normal_final": False, "native.steps": 2, "native.unknown_items": 0, "native.pending": "none"}
    assert values(inventory.readings, *wanted) == wanted
    assert inventory.readings["native.effects"].status == "reported"
    assert inventory.answer is None


def test_the_text_is_handed_over_with_the_digest_that_the_fact_bears_and_is_in_no_fact(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    assert stand.runtime.material(stand.session, stand.turn(native)) == {"visible_response": DRAFT}
    inventory = stand.inventory(native)
    evidence = inventory.readings["material.kind"].evidence
    assert evidence is not None and evidence.digest == canonical.digest(DRAFT.encode())
    assert DRAFT not in repr(inventory)


def test_an_input_that_was_cleared_with_the_answer_is_as_good_as_one_that_is_done(stand: Stand) -> None:
    native = stand.reads(Look([{**ASKED, "status": "CORTEX_STEP_STATUS_CLEARED"}, CLEARED], executors=ERROR))
    assert material(stand.inventory(native)) == GOOD


@pytest.mark.parametrize("text", ["pleasd", "please ", "Please", ""])
def test_a_prompt_that_differs_by_a_character_does_not_match(stand: Stand, text: str) -> None:
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    turn = stand.turn(native, text)
    inventory = stand.runtime.inventory(stand.session, turn)
    assert inventory.readings["material.identity"].value == "mismatched"
    assert details(inventory) == MATCHED | {"prompt_hash": "mismatched"}
    with pytest.raises(Unreadable, match="prompt_hash"):
        stand.runtime.material(stand.session, turn)


def test_a_turn_whose_input_is_not_known_proves_no_prompt(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    turn = dataclasses.replace(stand.turn(native), input_digest=None)
    inventory = stand.runtime.inventory(stand.session, turn)
    assert inventory.readings["material.identity"].status == "reported"
    assert details(inventory)["prompt_hash"] == "unknown"


def test_an_input_whose_text_was_cleared_away_proves_nothing(stand: Stand) -> None:
    bare = {name: value for name, value in ASKED.items() if name != "userInput"}
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    stand.server.script(Look([bare, CLEARED], executors=ERROR))
    inventory = stand.inventory(native)
    assert inventory.readings["native.turn_bound"].value is False
    assert inventory.readings["material.identity"].status == "reported"
    assert details(inventory)["prompt_hash"] == "unknown"


def test_another_execution_than_the_recorded_one_does_not_match(stand: Stand) -> None:
    stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    inventory = stand.inventory(NativeTurn("cascade-1", "another"))
    assert inventory.readings["material.identity"].value == "mismatched"
    assert details(inventory)["execution"] == "mismatched"
    assert inventory.readings["native.turn_bound"].value is False


def test_a_step_of_another_execution_among_ours_does_not_match(stand: Stand) -> None:
    between = planned("somebody else's", "CLEARED", stop="", execution="theirs", second=2)
    native = stand.reads(Look([ASKED, between, CLEARED], executors=ERROR))
    inventory = stand.inventory(native)
    assert details(inventory)["execution"] == "mismatched"
    assert inventory.readings["material.identity"].value == "mismatched"


def test_a_turn_that_was_never_named_proves_no_execution(stand: Stand) -> None:
    stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    inventory = stand.inventory(None)
    assert details(inventory)["execution"] == "unknown"
    assert inventory.readings["material.identity"].status == "reported"


def test_a_step_of_the_execution_behind_a_later_input_breaks_the_range(stand: Stand) -> None:
    later = [asked("more", "request-2", execution="sent-2", second=4), planned(DRAFT, "CLEARED", stop="", second=5)]
    stand.ids |= {"request-2"}
    native = stand.reads(Look([ASKED, CLEARED, *later], executors=ERROR))
    inventory = stand.inventory(native)
    assert details(inventory)["range"] == "mismatched"
    assert inventory.readings["material.identity"].value == "mismatched"


def test_steps_that_do_not_tell_their_place_prove_no_range(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned(DRAFT, "CLEARED", stop="", place=False)], executors=ERROR))
    inventory = stand.inventory(native)
    assert details(inventory)["range"] == "unknown"
    assert inventory.readings["material.identity"].status == "reported"


def test_two_inputs_in_one_execution_are_not_the_one_that_was_asked(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, asked("please", "request-1", second=2), CLEARED], executors=ERROR))
    assert stand.inventory(native).readings["material.identity"].value == "mismatched"


@pytest.mark.parametrize(
    ("started", "ended", "word"),
    [
        (NOON, NOON + 60_000, "matched"),
        (NOON + 6_000, NOON + 60_000, "matched"),
        (NOON + 6_200, NOON + 60_000, "mismatched"),
        (NOON - 60_000, NOON - 2_000, "mismatched"),
        (NOON - 60_000, NOON - 1_800, "matched"),
        (None, NOON + 60_000, "unknown"),
        (NOON, None, "unknown"),
    ],
)
def test_every_step_lies_within_the_turns_time_and_the_skew_allowed(
    stand: Stand, started: int | None, ended: int | None, word: str
) -> None:
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    inventory = stand.inventory(native, started_at=started, ended_at=ended)
    assert details(inventory)["time"] == word


def test_a_step_without_a_time_proves_none(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, {**CLEARED, "metadata": {"executionId": "sent-1"}}], executors=ERROR))
    assert details(stand.inventory(native))["time"] == "unknown"


def test_the_skew_that_the_operator_allows_is_the_one_that_counts(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    strict = stand.another(terms=Terms(skew_ms=0))
    inventory = strict.inventory(stand.session, stand.turn(native, started_at=NOON + 1_200))
    assert details(inventory)["time"] == "mismatched"


@pytest.mark.parametrize(
    ("run", "last"),
    [("RUNNING", CLEARED), ("", CLEARED), ("IDLE", planned(DRAFT, "GENERATING")), ("IDLE", planned(DRAFT, "WAITING"))],
)
def test_what_may_still_move_is_open(stand: Stand, run: str, last: dict[str, object]) -> None:
    native = stand.reads(Look([ASKED, last], run=run, executors=ERROR))
    assert stand.inventory(native).readings["material.segment"].value == "open"
    with pytest.raises(Unreadable, match="not closed"):
        stand.runtime.material(stand.session, stand.turn(native))


@pytest.mark.parametrize(
    "steps",
    [
        [planned("first", "DONE"), CLEARED],
        [planned("first", "CANCELED"), CLEARED],
        [CLEARED, step("ERROR_MESSAGE")],
        [planned(DRAFT, "DONE", stop="CLIENT_STREAM_ERROR")],
        [planned(DRAFT, "CANCELED")],
        [planned(DRAFT, "SOMETHING_NEW")],
        [CLEARED, step("TELEPATHY", "CLEARED")],
        [],
    ],
)
def test_steps_that_are_not_uniformly_cleared_are_mixed(stand: Stand, steps: list[dict[str, object]]) -> None:
    native = stand.reads(Look([ASKED, *steps], executors=ERROR))
    assert stand.inventory(native).readings["material.segment"].value == "mixed"


def test_an_input_in_another_state_is_mixed_with_a_cleared_answer(stand: Stand) -> None:
    native = stand.reads(Look([{**ASKED, "status": "CORTEX_STEP_STATUS_ERROR"}, CLEARED], executors=ERROR))
    assert stand.inventory(native).readings["material.segment"].value == "mixed"


def test_another_marker_counts_once_the_operator_names_it(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned(DRAFT, "INTERRUPTED", stop="")], executors=ERROR))
    lenient = stand.another(terms=Terms(markers={"CLEARED", "INTERRUPTED"}))
    inventory = lenient.inventory(stand.session, stand.turn(native))
    assert inventory.readings["material.segment"].value == "closed"


def test_tool_calls_are_counted_with_and_without_their_step(stand: Stand) -> None:
    steps = [
        planned("", "CLEARED", calls=["call-1", "call-2"], stop=""),
        command("call-1", "CLEARED"),
        command("call-3", "CLEARED"),
        CLEARED,
    ]
    native = stand.reads(Look([ASKED, *steps], executors=ERROR))
    assert stand.inventory(native).readings["material.tool_calls"].value == 3
    with pytest.raises(Unreadable, match="tool calls"):
        stand.runtime.material(stand.session, stand.turn(native))


def test_steps_and_bytes_are_counted_and_judged_elsewhere(stand: Stand) -> None:
    long = "ä" * 40_000
    steps = [planned("", "CLEARED", stop="", second=number % 50) for number in range(127)]
    for number, one in enumerate(steps):
        one["metadata"]["note"] = number
    native = stand.reads(Look([ASKED, *steps, planned(long, "CLEARED", stop="")], executors=[("ERROR", 128)]))
    told = stand.inventory(native).readings
    assert values(told, "native.steps", "material.bytes") == {"native.steps": 129, "material.bytes": 80_000}


def test_only_the_last_answer_counts_even_when_it_shows_nothing(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, CLEARED, planned("", "CLEARED", stop="", second=4)], executors=ERROR))
    inventory = stand.inventory(native)
    assert values(inventory.readings, "material.kind", "material.bytes") == {
        "material.kind": "none",
        "material.bytes": 0,
    }
    with pytest.raises(Unreadable, match="nothing"):
        stand.runtime.material(stand.session, stand.turn(native))


def test_a_payload_that_was_cleared_away_is_no_material(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, step("PLANNER_RESPONSE", "CLEARED")], executors=ERROR))
    assert stand.inventory(native).readings["material.kind"].value == "none"


def test_thoughts_never_leave_the_adapter(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("", "CLEARED", stop="", thinking=THOUGHT)], executors=ERROR))
    inventory = stand.inventory(native)
    assert inventory.readings["material.kind"].value == "none"
    assert THOUGHT not in repr(inventory) + repr(stand.observe(native))
    stand.server.script(Look([ASKED, CLEARED], executors=ERROR))
    assert stand.runtime.material(stand.session, stand.turn(native)) == {"visible_response": DRAFT}


def test_what_was_changed_in_an_answer_is_what_shows(stand: Stand) -> None:
    changed = {**CLEARED, "plannerResponse": {"response": "as written", "modifiedResponse": "as shown"}}
    native = stand.reads(Look([ASKED, changed], executors=ERROR))
    assert stand.runtime.material(stand.session, stand.turn(native)) == {"visible_response": "as shown"}


def test_an_answer_that_changes_between_two_readings_is_no_material(stand: Stand) -> None:
    native = stand.reads()
    stand.server.script(Look([ASKED, CLEARED]), Look([ASKED, planned(DRAFT + "!", "CLEARED", stop="")]))
    inventory = stand.inventory(native)
    assert inventory.readings["native.read"].value == "changing"
    assert not set(GOOD) & set(inventory.readings)
    stand.server.script(Look([ASKED, CLEARED]), Look([ASKED, planned(DRAFT + "!", "CLEARED", stop="")]))
    with pytest.raises(Unreadable, match="differ"):
        stand.runtime.material(stand.session, stand.turn(native))


def test_a_turn_that_is_not_there_has_no_material(stand: Stand) -> None:
    stand.reads(Look([ASKED, CLEARED], executors=ERROR))
    stand.server.script(Look([asked("other", "request-9")]))
    inventory = stand.runtime.inventory(stand.session, TurnView("request-1"))
    assert not set(GOOD) & set(inventory.readings)


def test_the_turn_is_found_by_its_own_words_and_a_later_one_does_not_move_it(stand: Stand) -> None:
    stand.ids |= {"request-2"}
    later = [asked(CONTINUATION, "request-2", execution="sent-2", second=9), planned("later", execution="sent-2")]
    native = stand.reads(Look([ASKED, CLEARED, *later], executors=ERROR))
    inventory = stand.inventory(native)
    assert material(inventory) == GOOD
    assert details(inventory) == MATCHED
