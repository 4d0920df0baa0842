"""Stops, releases and closings that come in the middle of a step, and messages behind one that cannot run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.engine.executor.world import BACKOFF, World, hanging, reported

from oncemore.adapters.demo.model import Say, Shell
from oncemore.engine import intake, prompts
from oncemore.engine.deliveries import PERSON_FIRST
from oncemore.engine.errors import Conflict

STOPPED = prompts.STOPPED["en"]


def at(w: World, point: str, action: Callable[[], None], about: str = "") -> Callable[[str, str], None]:
    done: list[bool] = []

    def checkpoint(reached: str, subject: str) -> None:
        if reached == point and subject.endswith(about) and not done:
            done.append(True)
            action()

    return checkpoint


def stop(w: World, request: str) -> Callable[[], None]:
    def act() -> None:
        with w.house() as house:
            intake.stop(house.journal, request, "user")

    return act


def edit(w: World, text: str) -> None:
    with w.house() as house:
        house.inbox.edit(w.rows("select message from request order by position")[0]["message"], text)


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("point", ["after_observe", "after_decide"])
def test_a_stop_during_an_admission_pass_is_answered(w: World, point: str, holds: bool) -> None:
    if holds:
        w.plot.first = lambda r: [Shell("exit 7"), Say(f"Part one is written. {reported(r)}")]
    request = w.ask()
    if not holds:
        w.work()
        w.offset = BACKOFF
    with w.worker(checkpoint=at(w, point, stop(w, request))) as worker:
        worker.run_due()
        w.offset = 2 * BACKOFF
        worker.run_due()
    assert w.replies()[-1] == STOPPED
    assert w.row("select state from request")["state"] == "stopped"


def test_a_release_during_a_pass_that_holds_is_not_overwritten(w: World) -> None:
    request = w.ask()
    w.work()
    w.offset = BACKOFF
    edit(w, "Something else.")

    def release() -> None:
        edit(w, "Write one.md and two.md.")
        with w.house() as house:
            intake.release(house.journal, request, "edited back")

    with w.worker(checkpoint=at(w, "after_decide", release)) as worker:
        while worker.run_due():
            pass
    w.offset = 3 * BACKOFF
    w.work()
    assert w.replies() == ["Part one is written.", "Part two is written."]


def test_a_stop_while_a_message_turns_out_to_be_edited_is_answered(w: World) -> None:
    request = w.ask()
    edit(w, "Something else.")
    with w.worker(checkpoint=at(w, "after_load", stop(w, request))) as worker:
        while worker.run_due():
            pass
    assert w.first_turn(request)["status"] == "withdrawn"
    assert w.model.calls == 0


@pytest.mark.parametrize("killed", [True, False])
@pytest.mark.parametrize("stage", ["answer", "recovery:work-1"])
def test_a_stop_before_a_reply_is_sent_lets_only_its_own_answer_out(w: World, stage: str, killed: bool) -> None:
    request = w.ask()
    if stage != "answer":
        w.work()
        w.offset = BACKOFF
    before = w.replies() if stage != "answer" else []
    if killed:
        w.kill(w.work_until("after_delivery_intent", stage))
        stop(w, request)()
    else:
        with w.worker(checkpoint=at(w, "after_delivery_intent", stop(w, request), stage)) as worker:
            worker.run_due()
    w.work()
    assert w.replies() == [*before, STOPPED]


def test_a_request_closed_by_hand_gets_no_reply_afterwards(w: World) -> None:
    request = w.ask()

    def close() -> None:
        with w.house() as house:
            intake.release(house.journal, request, "told by telephone", close=True)

    with w.worker(checkpoint=at(w, "after_freeze", close)) as worker:
        worker.run_due()
        worker.run_due()
    assert w.replies() == []
    assert w.row("select state, held from request") == {"state": "answered", "held": None}


def test_a_request_closed_just_after_the_reservation_rests(w: World) -> None:
    request = w.ask()
    w.work()
    w.offset = BACKOFF

    def close() -> None:
        with w.house() as house:
            intake.release(house.journal, request, "told by telephone", close=True)

    with w.worker(checkpoint=at(w, "after_reserve", close)) as worker:
        worker.run_due()
    assert w.row("select state, held, due_at from request") == {"state": "answered", "held": None, "due_at": None}
    assert w.model.calls == 2


def test_a_stopped_request_whose_answer_cannot_be_sent_can_be_closed(w: World) -> None:
    request = w.ask()
    edit(w, "Something else.")
    stop(w, request)()
    w.work()
    assert w.row("select held from request")["held"] == "not delivered: source.state is edited"
    with w.house() as house:
        intake.release(house.journal, request, "no answer needed", close=True)
    assert w.row("select state, held, due_at from request") == {"state": "stopped", "held": None, "due_at": None}


def test_nobody_waits_behind_a_message_that_needs_a_person(w: World) -> None:
    w.ask("First.")
    edit(w, "First, edited.")
    w.ask("Second.")
    w.work()
    w.work()
    assert w.replies() == ["You said: Second."]
    held = w.rows("select held, state from request order by position")
    assert held[0] == {"held": "not started: source.state is edited", "state": "open"}
    assert held[1] == {"held": None, "state": "answered"}
    assert len(w.rows("select * from event where kind = 'claimed'")) == 2


def test_behind_a_message_that_waits_for_the_outside_everybody_keeps_their_place(w: World) -> None:
    w.ask("First.")
    w.ask("Second.")
    away = w.workspace.rename(w.folder / "away")
    w.work()
    assert w.replies() == []
    assert len(w.rows("select * from event where kind = 'claimed'")) <= 2
    away.rename(w.workspace)
    for offset in (10_000, 20_000, 30_000):
        w.offset = offset
        w.work()
    assert w.replies() == ["You said: First.", "You said: Second."]


def test_a_stop_of_the_first_frees_the_second_at_once(w: World) -> None:
    first = w.ask("First.")
    w.ask("Second.")
    away = w.workspace.rename(w.folder / "away")
    w.work()
    away.rename(w.workspace)
    stop(w, first)()
    w.work()
    assert sorted(w.replies()) == sorted([STOPPED, "You said: Second."])


@pytest.mark.parametrize(
    ("waits", "reason"),
    [("48h", "patience"), ("1h", PERSON_FIRST)],
    ids=["it is over first", "the message's time is over first"],
)
def test_a_recovery_behind_a_held_message_is_withdrawn_when_its_patience_is_over(
    w: World, waits: str, reason: str
) -> None:
    w.configuration.write_text(f"queue_patience: {waits}\n{w.configuration.read_text()}")
    w.ask()
    w.work()
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", ""))
    w.ask("Second.")
    with w.house() as house:
        house.inbox.edit(w.rows("select message from request order by position")[1]["message"], "Second, edited.")
    w.work()
    assert w.row("select state from attempt")["state"] == "reserved"
    w.offset = BACKOFF + 86_400_000
    w.work()
    assert w.row("select state, reason from attempt") == {"state": "withdrawn", "reason": reason}
    assert w.model.calls == 2


def test_nobody_says_that_a_start_did_not_run_while_a_worker_is_starting_it(w: World) -> None:
    request = w.ask()
    said: list[str] = []

    def release() -> None:
        with w.house() as house, pytest.raises(Conflict, match="is starting") as error:
            intake.release(house.journal, request, "looks dead", saw="did-not-run")
        said.append(str(error.value))

    with w.worker(checkpoint=at(w, "after_start_call", release)) as worker:
        worker.run_due()
    assert said
    assert w.first_turn(request)["status"] == "completed"


def test_a_folder_put_in_the_workspaces_place_after_the_start_ends_the_turn(w: World) -> None:
    w.ask()
    w.work()
    w.offset = BACKOFF
    w.plot.second = hanging(w)

    def swap() -> None:
        w.workspace.rename(w.folder / "real")
        w.workspace.mkdir()

    with w.worker(checkpoint=at(w, "after_start_call", swap)) as worker:
        worker.run_due()
    assert w.row("select state from attempt")["state"] == "failed"
    assert w.row("select status from turn where phase = 'work'")["status"] == "interrupted"
    assert list(w.workspace.iterdir()) == []
    assert len(w.rows("select * from event where kind = 'workspace_changed'")) == 1


def test_a_text_that_is_no_longer_kept_is_said_in_words(w: World) -> None:
    from oncemore.engine.tables import Text

    w.plot.first = lambda r: Say("An answer.")
    w.ask()
    w.kill(w.work_until("after_settle", ""))
    with w.house():
        Text.update(body=None).where(Text.body == "An answer.").execute()
    w.work()
    assert "no longer kept" in w.row("select held from request")["held"]


def test_an_input_that_is_no_longer_kept_spends_no_try(w: World) -> None:
    from oncemore.engine.tables import Text

    w.ask()
    with w.house():
        Text.update(body=None).execute()
    w.work()
    assert "no longer kept" in w.row("select held from request")["held"]
    assert w.rows("select * from start_intent") == []


def test_a_command_is_answered_while_a_turn_runs(w: World) -> None:
    w.plot.first = hanging(w)
    w.ask()
    seen: list[list[str]] = []

    def checkpoint(point: str, about: str) -> None:
        if point == "while_running":
            assert w.model.wait_for_calls(1)
            w.ask("/status")
        if point == "after_verify" and about.endswith("/command"):
            seen.append(w.replies())
            w.release.set()

    with w.worker(checkpoint=checkpoint, slice=50) as worker:
        while worker.run_due():
            pass
    assert len(seen) == 1
    assert len(seen[0]) == 1
    assert w.replies()[-1] == "Too late."
