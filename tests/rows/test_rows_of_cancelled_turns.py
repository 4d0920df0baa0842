"""Rows K: a Turn at Antigravity whose trajectory was cancelled is ended once, and only when it is really over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.adapters.antigravity.fake import RAW, Look, asked, command, planned, step
from tests.rows.antigravity_world import FINAL, WORKING, Desk, Killed, desk
from tests.rows.removals import begun_anew, gate, guard, the_first_page, without_policy
from tests.rows.row import row

from oncemore.adapters.antigravity.language_server import AntigravityRuntime
from oncemore.adapters.antigravity.steps import NORMAL_STOPS
from oncemore.engine import prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.ports import NativeTurn

ON = "fake language server"
SETTLE = "settle-cancelled-turn"
HOUR = 3_600_000
CANCELLED = Look([planned("I will", calls=["call-1"]), command(state="CANCELED"), planned("", "CANCELED", stop="")])


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with desk(tmp_path, monkeypatch, SETTLE, "retry-route", "retry-quota") as made:
        taken_out(made.w)
        yield made


def settled_at_once(d: Desk, tail: Look) -> None:
    d.server.after_send(WORKING, tail)
    request = d.ask()
    d.work()
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"], turn["settled_cancel"]) == ("failed", "upstream_transport_failure", 1)
    assert "may have been executed" in turn["detail"]
    assert d.books() == (1, 0)
    # One look, which is two readings, between the start's receipt and the Turn's end.
    assert d.at[CrashPoint.AFTER_SETTLE] - d.at[CrashPoint.AFTER_START_RECEIPT] == 2


def waited_for(d: Desk, *looks: Look, answer: str = "Two parts.") -> None:
    """The looks are not taken for an end; the answer that comes later is delivered."""
    d.server.after_send(WORKING, *looks, FINAL)
    request = d.ask()
    d.work()
    assert d.w.first_turn(request)["status"] == "completed"
    assert d.w.replies() == [answer]
    assert d.books() == (1, 0)


@row(
    "K1",
    "A tail of a command that was cancelled ends the Turn at the first complete look, without another cancel.",
    on=ON,
    removed=without_policy(SETTLE),
)
def test_K01_a_cancelled_command_ends_the_turn_at_the_first_look(d: Desk) -> None:
    settled_at_once(d, Look([planned("I will", calls=["call-1"]), command(state="CANCELED")]))


@row(
    "K2",
    "A tail of an answer that was cancelled after a cancelled command ends the Turn at the first complete look.",
    on=ON,
    removed=without_policy(SETTLE),
)
def test_K02_a_cancelled_answer_behind_a_cancelled_command_ends_the_turn_at_the_first_look(d: Desk) -> None:
    settled_at_once(d, CANCELLED)


@row(
    "K3",
    "A tail of half an answer that was cancelled ends the Turn at the first complete look, and is not delivered.",
    on=ON,
    removed=without_policy(SETTLE),
)
def test_K03_half_an_answer_that_was_cancelled_ends_the_turn_and_is_not_delivered(d: Desk) -> None:
    settled_at_once(d, Look([planned("There are tw", "CANCELED", stop="")]))
    assert d.w.replies() == [prompts.FAILED["en"]]


@row(
    "K4",
    "While an earlier step is still generating, a cancelled tail is waited out and the later answer is delivered.",
    on=ON,
    removed=gate("steps-ended"),
)
def test_K04_an_earlier_step_that_generates_is_waited_for(d: Desk) -> None:
    waited_for(d, *[Look([planned("Two", "GENERATING", stop=""), command(state="CANCELED")])] * 3)


@row(
    "K5",
    "A conversation that is idle for a moment between a tool and the answer is waited for.",
    on=ON,
    removed=gate("last-canceled"),
)
def test_K05_a_moment_of_idleness_behind_a_tool_is_waited_for(d: Desk) -> None:
    waited_for(d, *[Look([planned("I look", calls=["call-1"]), command()])] * 3)


@row(
    "K6",
    "An idle conversation whose last step is a complete answer is a success.",
    on=ON,
    removed=guard(
        "oncemore.adapters.antigravity.conversation.Invocation.final",
        property(lambda invocation: None),
        "telling a complete answer from any other last step",
    ),
)
def test_K06_a_complete_answer_is_a_success(d: Desk) -> None:
    waited_for(d)


@row(
    "K7",
    "A cancelled tail is not taken for an end while any step is in another state than done or cancelled.",
    on=ON,
    removed=gate("steps-ended", "nothing-pending"),
)
@pytest.mark.parametrize("state", ["WAITING", "UNHEARD_OF", "ERROR", "INVALID", "CLEARED"])
def test_K07_a_step_that_is_neither_done_nor_cancelled_keeps_the_turn_open(d: Desk, state: str) -> None:
    waited_for(d, *[Look([command(state=state), command("call-2", state="CANCELED")])] * 3)


@row(
    "K8",
    "A cancelled tail is not taken for an end while the conversation is not known to be idle.",
    on=ON,
    removed=gate("idle"),
)
@pytest.mark.parametrize("run", ["RUNNING", "CANCELING", "BUSY", "UNHEARD_OF"])
def test_K08_a_conversation_that_is_not_idle_keeps_the_turn_open(d: Desk, run: str) -> None:
    waited_for(d, *[Look([command(state="CANCELED")], run=run)] * 3)


THEIRS = asked("not ours", execution="theirs")
CUT = planned("Two", "CANCELED", stop="")


@row(
    "K9",
    "Somebody else's input in the conversation comes first: a Turn that was cut off there fails by it, at once, and no"
    " cancel reaches their work.",
    on=ON,
    removed=guard(
        "oncemore.engine.running._somebody_elses", lambda observation: False, "failing by somebody else's input"
    ),
)
@pytest.mark.parametrize(
    ("tail", "run"),
    [
        ([planned("Two"), asked("not ours"), command(state="CANCELED")], "IDLE"),
        ([CUT, THEIRS, planned("", "GENERATING", stop="", execution="theirs")], "RUNNING"),
        ([CUT, THEIRS, planned("Yours.", execution="theirs")], "IDLE"),
    ],
    ids=["within it", "behind it and at work", "behind it and answered"],
)
def test_K09_a_turn_cut_off_where_somebody_else_wrote_fails_by_that_at_once(d: Desk, tail: list[RAW], run: str) -> None:
    d.server.after_send(WORKING)
    request = d.ask()
    d.on = lambda point, about: (
        d.change(lambda steps: [*steps[:1], *tail], run) if point is CrashPoint.WHILE_RUNNING else None
    )
    d.work(0, HOUR)
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"], turn["settled_cancel"]) == ("failed", "other", 0)
    assert "somebody else wrote" in turn["detail"]
    assert d.w.replies() == [prompts.FAILED["en"]]
    assert d.books() == (1, 0)
    # Two looks, each of two readings: the one that still found it at work, and the one that found it cut off.
    assert d.at[CrashPoint.AFTER_SETTLE] - d.at[CrashPoint.AFTER_START_RECEIPT] == 4


@row(
    "K9",
    "Somebody else's input alone ends nothing: while the answer can still come, it is waited for.",
    on=ON,
    removed=guard(
        "oncemore.engine.running._somebody_elses",
        lambda observation: (
            "native.foreign_input" in observation.readings
            and observation.readings["native.foreign_input"].value is True
        ),
        "the proof that the Turn was cut off",
    ),
)
@pytest.mark.parametrize(
    "look",
    [
        Look([planned("I look", calls=["call-1"]), command(), asked("not ours")]),
        Look([CUT, asked("not ours")], run="RUNNING"),
        Look([planned("Two", "GENERATING", stop=""), asked("not ours"), command(state="CANCELED")]),
    ],
    ids=["idle for a moment", "at work", "a step still open"],
)
def test_K09_somebody_elses_input_alone_ends_nothing(d: Desk, look: Look) -> None:
    waited_for(d, *[look] * 3)


@row(
    "K10",
    "A conversation that could not be read to its last step shows no end, whatever its first steps look like.",
    on=ON,
    removed=guard(
        "oncemore.adapters.antigravity.reading._read", the_first_page, "reading on until all steps are there"
    ),
)
def test_K10_a_conversation_that_was_read_in_part_shows_no_end(d: Desk) -> None:
    part = Look([command(state="CANCELED"), planned("Two", "GENERATING", stop="")], page=2, refuses_pages=True)
    waited_for(d, *[part] * 3)


def _remember_only(runtime: AntigravityRuntime, native: NativeTurn) -> None:
    runtime._mine.cancelled.add(native)


@row(
    "K11",
    "A Turn whose time is over is cancelled at the server, also while it waits for a permission.",
    on=ON,
    removed=guard(
        "oncemore.adapters.antigravity.language_server.AntigravityRuntime.cancel",
        _remember_only,
        "cancelling at the server when the time is over",
    ),
)
@pytest.mark.parametrize(
    "stays",
    [
        WORKING,
        Look(
            [
                planned("I will", calls=["call-1"]),
                step("RUN_COMMAND", "WAITING", requestedInteraction={"permission": {}}),
            ]
        ),
    ],
    ids=["it-works-on", "it-waits-for-a-permission"],
)
def test_K11_a_turn_whose_time_is_over_is_still_cancelled_at_the_server(d: Desk, stays: Look) -> None:
    d.server.after_send(WORKING, stays)
    request = d.ask()
    d.work()
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"], turn["settled_cancel"]) == ("timed_out", "hard_timeout", 0)
    assert d.books() == (1, 1)


@row(
    "K11",
    "A cancellation that does not show is not believed: the Turn stays, is shown as one that may have run, and waits.",
    on=ON,
    removed=guard(
        "oncemore.adapters.antigravity.language_server.AntigravityRuntime._ended",
        lambda runtime, native, cancelled=False: True,
        "proving that a Turn moves no more",
    ),
)
def test_K11_a_cancellation_that_does_not_show_is_not_believed(d: Desk) -> None:
    d.server.faults.cancel_ignored = 1_000
    d.server.after_send(WORKING, WORKING)
    request = d.ask()
    d.work()
    assert len(d.server.cancels) >= 1 and len(d.server.sends) == 1
    assert d.w.first_turn(request)["status"] == "running"
    assert "may have run" in d.w.row("select held from request")["held"]
    assert d.w.replies() == []


@row(
    "K12",
    "A Turn settled as cancelled fails, frees its place, is answered by a notice alone and is never sent again.",
    on=ON,
    removed=without_policy(SETTLE),
)
def test_K12_the_next_message_runs_and_nothing_is_sent_again_in_a_day(d: Desk) -> None:
    d.server.after_send(WORKING, CANCELLED)
    d.server.after_send(WORKING, Look([planned("Here.")], executors=[("NO_TOOL_CALL", 0)]))
    first, second = d.ask("Write it."), d.ask("Are you there?")
    d.work()
    assert (d.w.first_turn(first)["error"], d.w.first_turn(second)["status"]) == (
        "upstream_transport_failure",
        "completed",
    )
    assert sorted(d.w.replies()) == sorted([prompts.FAILED["en"], "Here."])
    assert d.w.row("select active_turn from session") == {"active_turn": None}
    d.work(*(hour * HOUR for hour in (1, 6, 12, 24)))
    assert d.books() == (2, 0)
    assert len(d.w.replies()) == 2


@row(
    "K13",
    "After a crash before the settling, the same look gives the same answer, and nothing is sent again.",
    on=ON,
    removed=guard(
        "oncemore.engine.reconciliation._settle_run",
        begun_anew,
        "going on with a Turn that was left running, instead of beginning it anew",
    ),
)
def test_K13_after_a_crash_the_same_look_gives_the_same_answer(d: Desk) -> None:
    d.server.after_send(WORKING, CANCELLED)
    request = d.ask()

    def kill(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.WHILE_RUNNING:
            raise Killed

    d.on = kill
    with pytest.raises(Killed):
        d.work()
    assert d.w.first_turn(request)["status"] == "running"
    d.on = lambda point, about: None
    d.work()
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"], turn["settled_cancel"]) == ("failed", "upstream_transport_failure", 1)
    assert d.books() == (1, 0)


@row(
    "K14",
    "An answer that ends done because its stream broke is no complete answer, and no cancelled tail either.",
    on=ON,
    removed=guard(
        "oncemore.adapters.antigravity.conversation.NORMAL_STOPS",
        NORMAL_STOPS | {"CLIENT_STREAM_ERROR"},
        "telling a broken stream from an answer's own end",
    ),
)
def test_K14_an_answer_whose_stream_broke_is_no_complete_answer(d: Desk) -> None:
    waited_for(d, *[Look([planned("There are tw", stop="CLIENT_STREAM_ERROR")])] * 3)
