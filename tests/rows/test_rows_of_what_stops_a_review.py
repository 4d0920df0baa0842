"""Rows V: what a person did, or the runtime did, since an answer was interrupted stops the review of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.adapters.antigravity.fake import RAW, asked
from tests.rows.antigravity_world import FINAL, WORKING, Desk
from tests.rows.interrupted_world import (
    ANSWER,
    CLEARED,
    HOUR,
    LOOKED,
    MATERIAL,
    MINUTE,
    ON,
    REVIEW,
    edit,
    held,
    interrupted,
    steward_desk,
)
from tests.rows.removals import all_of, gate, guard
from tests.rows.row import row

from oncemore.adapters.antigravity import material
from oncemore.adapters.demo.model import ModelRequest, Say, Script
from oncemore.engine import dispatch, intake, prompts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.tables import Turn


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with steward_desk(tmp_path, monkeypatch, REVIEW) as made:
        taken_out(made.w)
        yield made


def _whatever_there_is(left: Mapping[str, str], kind: str) -> str:
    return next(iter(left.values()))


EXACTLY = guard("oncemore.engine.inputs._exactly", _whatever_there_is, "taking the one kind that was decided on")


@row(
    "V12",
    "What tools gave back is no visible answer, and is not reviewed as one.",
    on=ON,
    removed=all_of("the gates `visible-response`, `no-tool-calls`", gate("visible-response", "no-tool-calls"), EXACTLY),
)
def test_V12_results_are_not_reviewed_as_an_answer(d: Desk) -> None:
    request = interrupted(d, *LOOKED)
    held(d, request)
    assert d.w.rows("select * from attempt") == []


def _one_more(left: dict[str, str]) -> dict[str, str]:
    return {**left, "visible_results": "one.md"}


def _another(left: dict[str, str]) -> dict[str, str]:
    return {"visible_results": left["visible_response"]}


def _empty(left: dict[str, str]) -> dict[str, str]:
    return dict.fromkeys(left, "")


@row("V12", "Material with anything beside one visible answer is rejected before a model.", on=ON, removed=EXACTLY)
@pytest.mark.parametrize("otherwise", [_one_more, _another, _empty], ids=["one-more", "another", "no-text"])
def test_V12_anything_but_exactly_one_visible_answer_is_rejected(
    d: Desk, monkeypatch: pytest.MonkeyPatch, otherwise: Callable[[dict[str, str]], dict[str, str]]
) -> None:
    request = interrupted(d)
    take = material.take
    monkeypatch.setattr(material, "take", lambda *asked: otherwise(take(*asked)))
    held(d, request)
    _rejected(d, request)


def _rejected(d: Desk, request: str) -> None:
    """The one try is spent, without a Turn; the question stays open."""
    attempt = d.w.row("select state, open, reason from attempt where request = ?", request)
    assert (attempt["state"], attempt["open"]) == ("withdrawn", 0)
    assert "not visible_response alone" in attempt["reason"]
    assert d.w.rows("select * from turn where phase = 'review'") == []
    assert d.w.row("select state, due_at from request") == {"state": "open", "due_at": None}


@row(
    "V12",
    "An answer in whose place results stand once its review is reserved is not reviewed, and neither are they.",
    on=ON,
    removed=EXACTLY,
)
def test_V12_results_in_the_answers_place_behind_the_reservation_are_rejected(d: Desk) -> None:
    request = interrupted(d)

    def change(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_RESERVE:
            d.change(lambda steps: [*steps[:-1], *(_in_the_place_of(steps[-1], one) for one in LOOKED)])

    d.on = change
    held(d, request)
    assert d.passed[CrashPoint.AFTER_RESERVE] == 1
    _rejected(d, request)


def _in_the_place_of(old: RAW, new: RAW) -> RAW:
    times = {name: old["metadata"][name] for name in ("createdAt", "completedAt", "executionId")}
    return {**new, "metadata": {**new["metadata"], **times}}


def _nothing(d: Desk, request: str) -> None:
    """The attachment came with the question, and the correction while it ran."""


def _opt_out(d: Desk, request: str) -> None:
    with d.w.house() as house:
        intake.opt_out(house.journal, request)


def _write_more(d: Desk, request: str) -> None:
    """A newer message, which waits: it was edited before it could run."""
    edit(d, d.ask("And how many chapters?"))


AS_ASKED = all_of(
    "the gates that ask whether the question, its person and the conversation are as they were",
    gate(
        "no-attachments",
        "source-unchanged",
        "not-opted-out",
        "people-first",
        "native-known",
        "material-ours",
        "floor/attachments",
        "floor/source",
        "floor/opted-out",
        "floor/people-first",
        "still-open",
        "floor/open",
        "floor/stopped",
    ),
    guard(f"{MATERIAL}.identity", lambda *asked: {"range": "matched"}),
)


@row(
    "V13",
    "A question with an attachment, that was corrected or edited, or whose person opted out or wrote again, waits.",
    on=ON,
    removed=AS_ASKED,
)
@pytest.mark.parametrize(
    ("what", "then"),
    [
        ("attachment", _nothing),
        ("corrected", _nothing),
        ("edited", edit),
        ("opted out", _opt_out),
        ("wrote again", _write_more),
    ],
)
def test_V13_a_question_that_is_not_as_it_was_is_not_reviewed(
    d: Desk, what: str, then: Callable[[Desk, str], None]
) -> None:
    # A correction is the person's own word at the desktop, into the Turn that runs.
    left = [asked("No, how many chapters?"), CLEARED] if what == "corrected" else [CLEARED]
    request = interrupted(d, *left, attachments=int(what == "attachment"))
    then(d, request)
    held(d, request)
    assert d.w.rows("select * from attempt") == []


def _stop(d: Desk, request: str) -> None:
    with d.w.house() as house:
        intake.stop(house.journal, request, "user")


@row(
    "V13",
    "A question that is stopped or edited, or whose person opts out, once its review is reserved, starts no model.",
    on=ON,
    removed=AS_ASKED,
)
@pytest.mark.parametrize("point", [CrashPoint.AFTER_RESERVE, CrashPoint.AFTER_ENQUEUE])
@pytest.mark.parametrize(
    ("then", "more"),
    [(_stop, [prompts.STOPPED["en"]]), (edit, []), (_opt_out, [])],
    ids=["stopped", "edited", "opted-out"],
)
def test_V13_what_a_person_does_behind_the_reservation_stops_the_review(
    d: Desk, point: CrashPoint, then: Callable[[Desk, str], None], more: list[str]
) -> None:
    request = interrupted(d)
    d.on = lambda reached, about: then(d, request) if reached is point else None
    held(d, request, *more)
    assert d.passed[point] == 1
    assert d.w.row("select state from attempt where request = ?", request)["state"] == "withdrawn"


def _the_review_first(session: str, request: str, now: int) -> Turn | None:
    queued = Turn.select().where(Turn.session == session, Turn.status == "queued")
    return next(iter(queued.where(Turn.phase == "review")), None) or NEXT(session, request, now)


NEXT = dispatch._next


@row(
    "V13",
    "A newer message that comes once the review is in the queue goes before it.",
    on=ON,
    removed=guard("oncemore.engine.dispatch._next", _the_review_first, "that a person's Turn goes first"),
)
def test_V13_a_newer_message_goes_before_a_review_that_is_queued(d: Desk) -> None:
    request = interrupted(d)
    sent: list[int] = []
    claims: list[str] = []

    def counting(asked: ModelRequest) -> Script:
        sent.append(len(d.server.sends))
        return Say(ANSWER)

    def write_more(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_ENQUEUE and about == request:
            d.server.after_send(WORKING, FINAL)
            d.ask("And how many chapters?")
        if point is CrashPoint.AFTER_CLAIM and about.endswith("-review-1"):
            claims.append(about)
            if len(claims) > 3:
                pytest.fail("the review is claimed again and again")

    d.w.plot.first = d.w.plot.other = counting
    d.on = write_more
    d.work(2 * MINUTE, 4 * MINUTE)
    assert d.passed[CrashPoint.AFTER_ENQUEUE] == 1
    assert sent == [2]
    assert sorted(d.w.replies()) == sorted([prompts.FAILED["en"], "Two parts.", ANSWER])


@row(
    "V16",
    "When what was left changes between the reservation and the dispatch, no model is started.",
    on=ON,
    removed=guard(
        "oncemore.engine.inputs.material_stands",
        lambda context, request, text: True,
        "comparing what the review was handed with what the runtime holds",
    ),
)
def test_V16_what_changes_between_reservation_and_dispatch_starts_no_model(d: Desk) -> None:
    request = interrupted(d)

    def change(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_ENQUEUE:
            d.change(lambda steps: [*steps[:-1], {**steps[-1], "plannerResponse": {"response": "There are three."}}])

    d.on = change
    d.work(2 * MINUTE, HOUR)
    assert d.passed[CrashPoint.AFTER_ENQUEUE] == 1
    assert d.w.model.calls == 0
    assert ANSWER not in d.w.replies()
    assert d.w.row("select state from attempt where request = ?", request)["state"] == "withdrawn"
