"""When does a reading of a conversation count as whole, and as the same?"""

from __future__ import annotations

import pytest
from tests.adapters.antigravity.fake import Look, asked, command, planned, step
from tests.adapters.antigravity.stand import NOON, Stand, values

from oncemore.adapters.antigravity.reading import milliseconds, whole_number
from oncemore.engine.ports import Inventory

ASKED = asked("please", "request-1")
DONE = (ASKED, planned("", calls=["call-1"]), command(), planned("done"), step("CHECKPOINT"))


def whole(inventory: Inventory) -> tuple[object, object, bool]:
    """What an inventory says of its own reading."""
    told = inventory.readings
    return told["native.read"].value, told["native.coverage"].value, inventory.complete


def why(inventory: Inventory) -> str:
    """The reason that it gives for not being whole."""
    evidence = inventory.readings["native.coverage"].evidence
    assert evidence is not None
    return evidence.details.get("why", "")


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_every_page_is_read_by_offset_until_all_steps_are_there(stand: Stand, page: int) -> None:
    native = stand.reads(Look(DONE, page=page))
    inventory = stand.inventory(native)
    assert whole(inventory) == ("stable", "complete", True)
    assert inventory.readings["native.steps"].value == len(DONE)
    assert inventory.answer == "done"


def test_the_number_of_steps_may_be_a_text_as_64_bit_numbers_are(stand: Stand) -> None:
    native = stand.reads(Look(DONE, total=str(len(DONE)), page=2))
    assert whole(stand.inventory(native)) == ("stable", "complete", True)


def test_an_empty_conversation_without_any_field_is_read_as_empty(stand: Stand) -> None:
    stand.load()
    inventory = stand.inventory()
    assert whole(inventory) == ("stable", "complete", True)
    assert inventory.turns == ()
    assert inventory.readings["native.status"].value == "absent"


@pytest.mark.parametrize(
    ("look", "reason"),
    [
        (Look(DONE, page=2, refuses_pages=True), "2 of 5 steps and no more"),
        (Look(DONE, total=4), "gave 5 steps, and says that there are 4"),
        (Look(DONE, total=7), "5 of 7 steps and no more"),
        (Look(DONE, total="many"), "did not say how many"),
        (Look(DONE, total=0), "says that there are 0"),
        (Look(DONE, describes="cascade-9"), "described another conversation"),
        (Look(DONE[:4], page=2, repeats=True), "gave a step twice"),
        (Look([ASKED, planned("done", place=3)]), "says that it is step 3"),
        (Look([ASKED, {**planned(), "plannerResponse": "done"}]), "of another form"),
    ],
)
def test_steps_that_do_not_add_up_make_it_partial_and_never_shorter(stand: Stand, look: Look, reason: str) -> None:
    native = stand.reads(look)
    inventory = stand.inventory(native)
    assert whole(inventory) == ("unreadable", "partial", False)
    assert reason in why(inventory)
    assert (inventory.answer, inventory.observation, inventory.turns) == (None, None, ())
    assert set(inventory.readings) == {"native.read", "native.coverage"}


@pytest.mark.parametrize(
    "second",
    [
        Look([*DONE[:3], planned("done indeed"), DONE[4]]),
        Look(DONE[:4]),
        Look(DONE, run="RUNNING"),
        Look(DONE, executors=[("NO_TOOL_CALL", 4)]),
    ],
    ids=["another text", "a step less", "another status", "an executor more"],
)
def test_two_readings_that_differ_are_changing_and_prove_nothing(stand: Stand, second: Look) -> None:
    native = stand.reads()
    stand.server.script(Look(DONE), second)
    inventory = stand.inventory(native)
    assert whole(inventory) == ("changing", "complete", False)
    assert inventory.observation is None
    stand.server.script(Look(DONE), second)
    assert stand.observe(native).readings == {}


def test_a_step_of_an_unknown_kind_is_counted_and_fails_no_reading(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, step("TELEPATHY"), {**step("X"), "type": 4711}, planned("done")]))
    inventory = stand.inventory(native)
    assert whole(inventory) == ("stable", "complete", True)
    assert values(inventory.readings, "native.unknown_items", "native.effects") == {
        "native.unknown_items": 2,
        "native.effects": "reported",
    }
    assert inventory.answer == "done"


def test_a_kind_that_is_given_by_its_known_number_is_known(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, {**command(), "type": 21, "status": 3}, planned("done")]))
    told = stand.inventory(native).readings
    assert values(told, "native.unknown_items", "native.effects") == {
        "native.unknown_items": 0,
        "native.effects": "settled",
    }


def test_unknown_kinds_of_earlier_turns_do_not_count(stand: Stand) -> None:
    earlier = [asked("before", execution="earlier"), step("TELEPATHY", execution="earlier")]
    native = stand.reads(Look([*earlier, ASKED, planned("done")]))
    assert stand.inventory(native).readings["native.unknown_items"].value == 0


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([planned("done")], "none"),
        ([step("VIEW_FILE"), step("LIST_DIRECTORY"), planned("done")], "none"),
        ([planned("", calls=["call-1"]), command(), planned("done")], "settled"),
        ([command(state="RUNNING"), planned("done")], "active"),
        ([command(exit_code=2), planned("done")], "failed"),
        ([step("MCP_TOOL"), step("CODE_ACTION"), step("SEARCH_WEB")], "settled"),
        ([step("GENERIC"), planned("done")], "reported"),
        ([planned("", calls=["call-without-a-step"]), planned("done")], "reported"),
        ([step("ERROR_MESSAGE")], "none"),
        *[([command(), planned("", state)], "reported") for state in ("CANCELED", "ERROR", "INVALID", "CLEARED")],
        ([command(state="CANCELED")], "reported"),
        ([planned("done", "INTERRUPTED")], "reported"),
        ([planned("", "GENERATING")], "reported"),
    ],
)
def test_what_a_turn_did_is_told_only_where_its_steps_prove_it(
    stand: Stand, steps: list[dict[str, object]], told: str
) -> None:
    native = stand.reads(Look([ASKED, *steps]))
    assert values(stand.inventory(native).readings, "native.effects") == {"native.effects": told}


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([planned("", calls=["c"]), step("VIEW_FILE", metadata={"toolCall": {"id": "c"}}), planned("seen")], True),
        ([planned("said")], True),
        ([command(), planned("done")], False),
        ([step("MCP_TOOL", "ERROR"), planned("done")], False),
        ([step("GENERIC"), planned("done")], None),
        ([step("TELEPATHY"), planned("done")], None),
        ([planned("", calls=["without-a-step"]), planned("done")], None),
        ([planned("", "GENERATING")], None),
    ],
)
def test_whether_a_turn_only_looked_is_told_only_where_its_steps_prove_it(
    stand: Stand, steps: list[dict[str, object]], told: bool | None
) -> None:
    native = stand.reads(Look([ASKED, *steps]))
    assert stand.inventory(native).only_reading is told


LOOKED = (planned("", calls=["c"]), step("VIEW_FILE", metadata={"toolCall": {"id": "c"}}), planned("seen"))


@pytest.mark.parametrize(("before", "after"), [(LOOKED[:2], LOOKED), (LOOKED, (command(), *LOOKED))])
def test_where_two_readings_differ_it_is_not_known_whether_a_turn_only_looked(
    stand: Stand, before: tuple[dict[str, object], ...], after: tuple[dict[str, object], ...]
) -> None:
    native = stand.reads(Look([ASKED, *before]))
    stand.server.script(Look([ASKED, *before]), Look([ASKED, *after]))
    changing = stand.inventory(native)
    assert (whole(changing), changing.only_reading) == (("changing", "complete", False), None)
    settled = stand.inventory(native)
    assert (whole(settled)[0], settled.only_reading) == ("stable", after == LOOKED)


def test_no_limits_are_reported(stand: Stand) -> None:
    stand.load()
    assert stand.runtime.restricted(stand.session).status == "missing"


def test_a_turn_of_nothing_but_the_input_is_user_only(stand: Stand) -> None:
    native = stand.reads(Look([ASKED]), Look([ASKED, step("ERROR_MESSAGE")]))
    assert stand.inventory(native).readings["native.user_only"].value is True
    assert stand.inventory(native).readings["native.user_only"].value is False


def test_what_the_server_cannot_tell_is_absent_or_unknown(stand: Stand) -> None:
    native = stand.reads(Look(DONE))
    told = stand.inventory(native).readings
    assert values(told, "native.live_owner", "native.background", "route.restricted_profile", "route.state") == {
        "native.live_owner": "missing",
        "native.background": "reported",
        "route.restricted_profile": "missing",
        "route.state": "missing",
    }


def test_an_input_whose_execution_is_not_told_yet_may_still_become_a_turn(stand: Stand) -> None:
    native = stand.reads(Look([*DONE, asked("and more", "request-1", execution="")]))
    inventory = stand.inventory(native)
    assert inventory.readings["native.read"].value == "stable"
    assert not inventory.complete
    assert [record.native.turn_id for record in inventory.turns] == ["sent-1"]


def test_a_command_that_still_runs_is_told_as_background(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, command(state="RUNNING"), planned("it runs")]))
    assert stand.inventory(native).readings["native.background"].value == "running"


def test_another_conversation_of_the_session_is_read_too(stand: Stand) -> None:
    native = stand.reads(Look(DONE))
    second = stand.server.begin()
    stand.threads = (*stand.threads, type(stand.threads[0])("antigravity", "/nowhere", second))
    stand.server.twice(Look([asked("elsewhere", "request-0", execution="other")], run="RUNNING"), cascade=second)
    inventory = stand.inventory(native)
    assert [record.native.turn_id for record in inventory.turns] == ["sent-1", "other"]
    assert values(inventory.readings, "native.run_state", "native.foreign_input", "native.latest") == {
        "native.run_state": "active",
        "native.foreign_input": True,
        "native.latest": False,
    }


def test_a_conversation_that_the_server_does_not_know_is_not_absent(stand: Stand) -> None:
    native = stand.reads(Look(DONE))
    stand.threads = (type(stand.threads[0])("antigravity", "/nowhere", "another"),)
    inventory = stand.inventory(native)
    assert whole(inventory) == ("unreadable", "partial", False)
    assert "404 (not_found)" in why(inventory)


def test_a_session_without_a_conversation_has_nothing_and_that_is_known(stand: Stand) -> None:
    inventory = stand.inventory()
    assert whole(inventory) == ("stable", "complete", True)
    assert values(inventory.readings, "native.run_state", "native.status") == {
        "native.run_state": "idle",
        "native.status": "absent",
    }
    assert stand.server.calls.total() == 0


def test_two_programs_read_the_same_content(stand: Stand) -> None:
    native = stand.reads(Look(DONE))
    mine = stand.inventory(native)
    theirs = stand.another().inventory(stand.session, stand.turn(native))
    assert (mine.digest, mine.turns) == (theirs.digest, theirs.turns)


def test_the_recorded_end_is_the_last_steps_rounded_up(stand: Stand) -> None:
    native = stand.reads(Look(DONE))
    (record,) = stand.inventory(native).turns
    assert record.ended_at == NOON + 2_124


def test_reading_never_writes(stand: Stand) -> None:
    native = stand.reads(Look(DONE))
    before = (len(stand.server.sends), len(stand.server.cancels), stand.server.starts)
    stand.inventory(native)
    stand.observe(native)
    assert (len(stand.server.sends), len(stand.server.cancels), stand.server.starts) == before


@pytest.mark.parametrize(
    ("given", "number"), [(None, 0), (7, 7), ("12", 12), ("-3", -3), ("", None), ("x", None), (True, None), (1.5, None)]
)
def test_numbers_are_read_as_proto3_writes_them(given: object, number: int | None) -> None:
    assert whole_number(given) == number


@pytest.mark.parametrize(
    ("given", "down", "up"),
    [
        ("2026-11-30T12:00:01.123456789Z", NOON + 1_123, NOON + 1_124),
        ("2026-11-30T12:00:01Z", NOON + 1_000, NOON + 1_000),
        ("2026-11-30T12:00:01.5Z", NOON + 1_500, NOON + 1_500),
        ("2026-13-30T12:00:01Z", None, None),
        ("yesterday", None, None),
        (None, None, None),
    ],
)
def test_times_are_rounded_against_nobody(given: object, down: int | None, up: int | None) -> None:
    assert (milliseconds(given, up=False), milliseconds(given, up=True)) == (down, up)
