"""Rows U: a completed Turn that reported unfinished work on a real Codex is continued once, and what comes between."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.executor.world import BACKOFF, World, reported, turn_of_another_program
from tests.rows.continuation_world import CODEX, CONTINUE, continuations, run
from tests.rows.removals import all_of, clause, gate, guard, ledger, without_policy
from tests.rows.row import row

from oncemore.adapters.demo.model import Fail, Say, Shell
from oncemore.engine import intake, prompts, response

PERSON_FIRST = gate(
    "people-first",
    "nobody-went-on",
    "latest-turn",
    "native-known",
    "floor/people-first",
    "floor/nothing-newer",
    "floor/latest",
)
ENDED = guard(
    "oncemore.engine.running.parse",
    lambda answer, word: replace(response.parse(answer, word), report_state="valid"),
    "that only a report in an envelope counts",
)


def edit(w: World, text: str) -> None:
    with w.house() as house:
        house.inbox.edit(w.rows("select message from request order by position")[0]["message"], text)


def nothing_continued(w: World, held: str | None = None) -> None:
    """The first answer stands, and neither model nor runtime was asked for more."""
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, 2, 1)
    assert w.replies() == ["Part one is written."]
    assert not (w.workspace / "two.md").exists()
    if held is not None:
        assert held in str(w.row("select held from request")["held"])


@row("U1", "A completed Turn without a report keeps its answer; nothing is continued.", on=CODEX, removed=ENDED)
def test_U01_without_a_report_nothing_is_continued(w: World) -> None:
    w.plot.first = lambda r: [Shell("printf one > one.md"), Say("Part one is written.")]
    w.ask()
    run(w, 0)
    artifact = w.artifact()
    run(w, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)
    assert w.artifact() == artifact


@row(
    "U2",
    "A valid report with every proof gets one continuation; what was there stays, and both answers stand.",
    on=CODEX,
    removed=without_policy(CONTINUE),
)
def test_U02_a_valid_report_with_every_proof_is_continued_once(w: World) -> None:
    request = w.ask()
    run(w, 0)
    artifact, first = w.artifact(), w.first_turn(request)
    reply = w.row("select * from inbox_reply")
    run(w, BACKOFF, 2 * BACKOFF, 100 * BACKOFF)
    assert (w.model.calls, len(w.native_turns())) == (4, 2)
    assert (w.artifact(), w.first_turn(request)) == (artifact, first)
    assert w.artifact("two.md")[0] == b"two"
    assert w.replies() == ["Part one is written.", "Part two is written."]
    assert w.rows("select * from inbox_reply order by at, id")[0] == reply


@row(
    "U3",
    "After a crash behind the enqueue, a newer instruction runs and the old continuation starts no model.",
    on=CODEX,
    removed=PERSON_FIRST,
)
def test_U03_a_newer_instruction_after_a_crash_goes_first_and_alone(w: World) -> None:
    request = w.ask()
    run(w, 0)
    artifact, first = w.artifact(), w.first_turn(request)
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", request))
    w.ask("Thanks, say hello.")
    run(w, BACKOFF, 2 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, 3, 2)
    assert (w.artifact(), w.first_turn(request)) == (artifact, first)
    assert w.replies() == ["Part one is written.", "You said: Thanks, say hello."]


@row(
    "U4",
    "After a crash behind the enqueue, a native history that went on starts no model for the old continuation.",
    on=CODEX,
    removed=PERSON_FIRST,
)
def test_U04_a_native_history_that_went_on_after_a_crash_is_not_continued(w: World) -> None:
    request = w.ask()
    run(w, 0)
    artifact, first = w.artifact(), w.first_turn(request)
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", request))
    turn_of_another_program(w)
    run(w, BACKOFF, 2 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, 3, 2)
    assert (w.artifact(), w.first_turn(request)) == (artifact, first)


@row(
    "U5",
    "A crash behind the reservation and one behind the enqueue leave exactly one continuation, which is adopted.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.executor.admission.enqueue",
        lambda context, request: True,
        "that a reservation left behind is taken up",
    ),
)
def test_U05_two_crashes_leave_one_continuation(w: World) -> None:
    request = w.ask()
    run(w, 0)
    artifact = w.artifact()
    w.offset = BACKOFF
    w.kill(w.work_until("after_reserve", request))
    run(w, BACKOFF, 2 * BACKOFF)
    assert (w.model.calls, len(w.native_turns())) == (4, 2)
    assert w.artifact() == artifact
    assert w.replies() == ["Part one is written.", "Part two is written."]
    assert len(w.rows("select * from attempt")) == 1


@row(
    "U6",
    "A message that was edited holds its case; the answer that was given stays.",
    on=CODEX,
    removed=gate("source-unchanged", "floor/source"),
)
def test_U06_an_edited_message_holds_the_case(w: World) -> None:
    w.ask()
    run(w, 0)
    artifact = w.artifact()
    edit(w, "Write only one.md.")
    run(w, BACKOFF, 2 * BACKOFF)
    nothing_continued(w, "source-unchanged")
    assert w.artifact() == artifact


@row(
    "U7",
    "A permission that was taken back holds the case.",
    on=CODEX,
    removed=gate("grant-intact", "grant-readable", "floor/grant"),
)
def test_U07_a_permission_taken_back_holds_the_case(w: World) -> None:
    w.ask()
    run(w, 0)
    w.configure(level="workspace_read", revision=2)
    run(w, BACKOFF)
    nothing_continued(w, "grant-intact")
    w.revoke()
    run(w, 2 * BACKOFF)
    nothing_continued(w, "grant-intact")


@row(
    "U8",
    "A stop on the request lets no continuation start.",
    on=CODEX,
    removed=gate("still-open", "floor/open", "floor/stopped"),
)
def test_U08_a_stop_lets_no_continuation_start(w: World) -> None:
    request = w.ask()
    run(w, 0)
    w.offset = BACKOFF
    w.kill(w.work_until("after_enqueue", request))
    with w.house() as house:
        intake.stop(house.journal, request, "user")
    run(w, BACKOFF, 2 * BACKOFF)
    assert (continuations(w), len(w.native_turns())) == (0, 1)
    assert w.replies() == ["Part one is written.", prompts.STOPPED["en"]]


@row(
    "U10",
    "A continuation that reports unfinished work again is the last one; the request stays open.",
    on=CODEX,
    removed=all_of(
        "that only a person's own Turn is continued, and that one try is the only one",
        clause(CONTINUE, 'turn.phase == "business"'),
        gate("nothing-used"),
        ledger(),
    ),
)
def test_U10_a_second_report_is_not_continued(w: World) -> None:
    w.plot.second = lambda r: [Shell("printf two > two.md"), Say(f"Nearly. {reported(r, 'three.md')}")]
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF, 100 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (2, 4, 2)
    assert w.replies() == ["Part one is written.", "Nearly."]
    assert w.row("select state, held, due_at from request") == {"state": "open", "held": None, "due_at": None}


@row(
    "U11",
    "A continuation that failed leaves the request open; neither a quota nor a route retry follows.",
    on=CODEX,
    removed=all_of(
        "that quota retries follow only a person's own Turn or one another, and no other try",
        clause("retry-quota", 'turn.phase in ["business", "quota"]'),
        gate("nothing-else-used"),
        ledger(),
    ),
)
def test_U11_a_failed_continuation_is_not_tried_again(w: World) -> None:
    w.configure(policies=(CONTINUE, "retry-quota", "retry-route"))
    w.plot.second = lambda r: Fail("usage_limit")
    w.ask()
    run(w, 0, BACKOFF, 10 * BACKOFF, 100 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (1, 3, 2)
    assert w.replies() == ["Part one is written.", prompts.FAILED["en"]]
    assert w.row("select state, held, due_at from request") == {"state": "open", "held": None, "due_at": None}
    assert [row["kind"] for row in w.rows("select kind from attempt")] == ["work"]


@row(
    "U15",
    "An answer that promises the rest in prose is an answer; nothing is continued.",
    on=CODEX,
    removed=ENDED,
)
def test_U15_a_promise_in_prose_is_no_report(w: World) -> None:
    promise = "Part one is done. Remaining: two.md. I will finish it later."
    w.plot.first = lambda r: [Shell("printf one > one.md"), Say(promise)]
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, 2, 1)
    assert w.replies() == [promise]
    assert w.row("select state from request")["state"] == "answered"


@row(
    "U17",
    "Less than sixty seconds after the end it is waited for; at exactly sixty it is continued.",
    on=CODEX,
    removed=gate("backoff"),
)
def test_U17_the_minute_is_waited_for_to_the_millisecond(w: World) -> None:
    request = w.ask()
    run(w, 0)
    turn = w.first_turn(request)
    ended = max(turn["ended_at"], turn["native_ended_at"])
    for after, calls in ((59_999, 2), (60_000, 4)):
        w.now = lambda after=after: ended + after  # type: ignore[method-assign, misc]
        run(w, 0)
        assert w.model.calls == calls
    assert w.replies() == ["Part one is written.", "Part two is written."]


@row(
    "U18",
    "A newer message of the person that waits goes first, and what the old Turn left is then theirs.",
    on=CODEX,
    removed=PERSON_FIRST,
)
def test_U18_a_queued_message_goes_first(w: World) -> None:
    w.ask()
    run(w, 0)
    w.offset = BACKOFF
    w.ask("Thanks, say hello.")
    run(w, BACKOFF, 2 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, 3, 2)
    assert w.replies() == ["Part one is written.", "You said: Thanks, say hello."]
