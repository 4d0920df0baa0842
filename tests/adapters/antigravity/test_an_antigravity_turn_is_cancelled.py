"""Is a turn cancelled by one call, and confirmed by reading it back?"""

from __future__ import annotations

import pytest
from tests.adapters.antigravity.fake import RAW, Look, asked, command, planned
from tests.adapters.antigravity.stand import Stand

from oncemore.engine.errors import Uncertain, Unreadable

ASKED = asked("please", "request-1")
WORKING = Look([ASKED, planned("", calls=["call-1"]), command(state="RUNNING")], run="RUNNING")


def test_a_running_turn_is_cancelled_once_with_its_background_tasks_and_then_is_interrupted(stand: Stand) -> None:
    native = stand.reads(WORKING)
    stand.runtime.cancel(native)
    assert stand.server.cancels == [{"cascadeId": "cascade-1", "killBackgroundTasks": True}]
    seen = stand.observe(native)
    assert (seen.status, seen.ended) == ("interrupted", True)
    assert stand.inventory(native).observation is not None


def test_a_cancellation_without_an_answer_is_confirmed_by_what_is_read(stand: Stand) -> None:
    native = stand.reads(WORKING)
    stand.server.faults.reset_after_cancel = 1
    stand.runtime.cancel(native)
    assert len(stand.server.cancels) == 1
    assert stand.observe(native).status == "interrupted"


def test_a_cancellation_that_does_not_show_is_not_confirmed(stand: Stand) -> None:
    native = stand.reads(WORKING)
    stand.server.faults.cancel_ignored = 1
    with pytest.raises(Uncertain, match="does not show"):
        stand.runtime.cancel(native)
    assert not stand.observe(native).ended


def test_a_cancellation_that_is_refused_is_not_confirmed(stand: Stand) -> None:
    native = stand.reads(WORKING)
    stand.server.faults.cancel_refused = 1
    with pytest.raises(Uncertain, match="not taken"):
        stand.runtime.cancel(native)
    assert stand.server.cancels == []


def test_a_conversation_that_cannot_be_read_is_not_cancelled(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    native = stand.reads(WORKING)
    monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", "an-old-token")
    with pytest.raises(Uncertain, match="it was not found there; nothing was cancelled"):
        stand.runtime.cancel(native)
    assert stand.server.cancels == []


def test_a_turn_that_ended_meanwhile_is_not_cancelled_and_keeps_its_answer(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("done")]))
    stand.runtime.cancel(native)
    assert stand.server.cancels == []
    seen = stand.observe(native)
    assert (seen.status, seen.answer) == ("completed", "done")


def test_a_turn_whose_last_step_was_cancelled_is_not_cancelled_again(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("", calls=["call-1"]), command(state="CANCELED")]))
    stand.runtime.cancel(native)
    assert stand.server.cancels == []
    assert stand.observe(native).status == "interrupted"


def test_a_turn_that_rests_between_two_steps_is_cancelled_all_the_same(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("", calls=["call-1"]), command()]))
    stand.runtime.cancel(native)
    assert len(stand.server.cancels) == 1


THEIRS = [asked("not ours", execution="theirs"), planned("", "GENERATING", stop="", execution="theirs")]


@pytest.mark.parametrize(
    "own",
    [[planned("", calls=["call-1"]), command(state="RUNNING")], [planned("I look", "GENERATING", stop="")], []],
    ids=["a command runs", "words come", "nothing yet"],
)
def test_what_somebody_else_began_behind_it_is_not_cancelled(stand: Stand, own: list[RAW]) -> None:
    native = stand.reads(Look([ASKED, *own, *THEIRS], run="RUNNING"))
    with pytest.raises(Uncertain, match="nothing was cancelled"):
        stand.runtime.cancel(native)
    assert stand.server.cancels == []


def test_a_conversation_in_which_the_turn_is_not_found_is_not_cancelled(stand: Stand) -> None:
    native = stand.reads(WORKING)
    stand.server.twice(Look(THEIRS, run="RUNNING"))
    with pytest.raises(Uncertain, match="nothing was cancelled"):
        stand.runtime.cancel(native)
    assert stand.server.cancels == []


def test_a_closed_runtime_forgets_and_the_server_goes_on(stand: Stand) -> None:
    native = stand.reads(Look([ASKED, planned("done")]))
    stand.runtime.close()
    assert stand.observe(native).answer == "done"
    assert stand.server.cancels == []


def test_a_server_that_is_gone_is_unreadable(stand: Stand) -> None:
    native = stand.reads(Look([ASKED], run="RUNNING"))
    stand.server.faults.broken = 1_000
    with pytest.raises(Unreadable):
        stand.observe(native)
