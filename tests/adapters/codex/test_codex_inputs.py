"""Is an input that no Turn of ours made told apart?"""

from __future__ import annotations

from tests.adapters.codex.stage import WRITE, Stage, values


def test_an_input_of_somebody_else_after_the_turn_is_foreign(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    other = stage.runtime.start(stage.session, "somebody-else", "and this", WRITE)
    stage.runtime.observe(other, 30)
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "foreign_input", "latest") == {"foreign_input": True, "latest": False}


def test_an_input_of_somebody_else_before_the_turn_is_part_of_what_it_was_asked_on(stage: Stage) -> None:
    stage.load()
    other = stage.runtime.start(stage.session, "somebody-else", "first", WRITE)
    stage.runtime.observe(other, 30)
    native, _ = stage.run("request-1", "hello")
    assert values(stage.inventory("request-1", native), "foreign_input") == {"foreign_input": False}


def test_our_own_later_turns_are_not_foreign(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.run("request-1-work-1", "go on")
    assert values(stage.inventory("request-1", native), "foreign_input") == {"foreign_input": False}


def test_a_message_without_any_client_id_is_foreign_when_the_turn_is_not_there(stage: Stage) -> None:
    stage.run("request-1", "hello")
    stage.ids = frozenset()
    assert values(stage.inventory("request-9"), "foreign_input", "status") == {
        "foreign_input": True,
        "status": "absent",
    }


def test_an_input_merged_into_the_running_turn_is_a_second_and_a_foreign_one(stage: Stage) -> None:
    native = stage.start("request-1", "hang")
    assert stage.model.wait_for_calls(1)
    owner = stage.runtime._processes.named(native.thread_id)
    assert owner is not None
    asked = {"threadId": native.thread_id, "input": [{"type": "text", "text": "more", "text_elements": []}]}
    merged = owner.connection.request("turn/start", {**asked, "clientUserMessageId": "somebody-else"})
    assert merged["turn"]["id"] == native.turn_id
    stage.release.set()
    stage.runtime.observe(native, 30)
    inventory = stage.inventory("request-1", native)
    assert values(inventory, "user_inputs", "foreign_input") == {"user_inputs": 2, "foreign_input": True}
    assert inventory.turns[0].client_ids == ("request-1", "somebody-else")
