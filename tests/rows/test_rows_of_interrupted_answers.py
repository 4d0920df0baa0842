"""Rows V: an answer that an interrupted Turn left visible is reviewed once, by reading, and settles nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import Look, command, planned
from tests.rows.antigravity_world import WORKING, Desk
from tests.rows.interrupted_world import (
    ANSWER,
    DRAFT,
    HOUR,
    MINUTE,
    ON,
    READING,
    REJECTION,
    REVIEW,
    codex_turns,
    edit,
    interrupted,
    kept,
    reviewed,
    steward_desk,
)
from tests.rows.overreach import MORE_THAN_READING
from tests.rows.removals import guard, without_policy
from tests.rows.row import row

from oncemore.adapters.demo.model import Call, ModelRequest, Patch, Say, Script
from oncemore.adapters.inbox import Inbox
from oncemore.engine import deliveries, dispatch, prompts, response
from oncemore.engine.context import Context
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.errors import Uncertain
from oncemore.engine.ports import Receipt, SourceRef, Thread
from oncemore.engine.response import Response
from oncemore.engine.tables import Delivery


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Desk]:
    with steward_desk(tmp_path, monkeypatch, REVIEW) as made:
        taken_out(made.w)
        yield made


@row(
    "V1",
    "An answer left visible by an error of the runtime is reviewed once; the failed Turn and its notice stay the same.",
    on=ON,
    removed=without_policy(REVIEW),
)
def test_V01_an_answer_left_visible_is_reviewed_once_beside_the_notice(d: Desk) -> None:
    request = interrupted(d)
    before, files = d.w.first_turn(request), sorted(d.w.workspace.iterdir())
    d.work(2 * MINUTE)
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.first_turn(request) == before
    (asked,) = d.w.model.requests
    assert READING in asked.last_user and f"\n{DRAFT}\n" in asked.last_user
    profile = d.w.row("select profile from turn where phase = 'review'")["profile"]
    assert (json.loads(profile)["sandbox"], sorted(d.w.workspace.iterdir())) == ("read_only", files)
    assert (d.books(), len(codex_turns(d))) == ((1, 0), 1)


def _verified_too(request: str) -> Delivery | None:
    found = Delivery.select().where(Delivery.request == request).order_by(Delivery.frozen_at.desc()).first()
    assert found is None or isinstance(found, Delivery)
    return found


@row(
    "V2",
    "Looked at again and again, the reviewed question gets no second review and no second message.",
    on=ON,
    removed=guard("oncemore.engine.deliveries.unsettled", _verified_too, "leaving a verified reply alone"),
)
def test_V02_looked_at_again_it_gets_no_second_review_and_no_second_message(d: Desk) -> None:
    request = interrupted(d)
    d.work(2 * MINUTE)
    before = kept(d, request)
    d.work(HOUR, 24 * HOUR)
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.model.calls == 1
    assert len(d.w.rows("select * from turn")) == 2
    assert kept(d, request) == before


def _without_gates(text: str, word: str) -> Response:
    return replace(PARSE(text, word), gates=())


PARSE = response.parse


@row(
    "V14",
    "A draft that looks complete beside an older tool whose effect is unknown is reviewed, and settles nothing else.",
    on=ON,
    removed=guard("oncemore.engine.running.parse", _without_gates, "keeping what a review leaves to a person"),
)
def test_V14_a_draft_that_looks_complete_settles_nothing_else(d: Desk) -> None:
    old = interrupted(d, planned("I build it.", "CLEARED", calls=["call-1"], stop=""), command(state="ERROR"))
    before = d.w.first_turn(old)
    d.server.after_send(WORKING, Look([planned("It is all built.", "CLEARED", stop="")], executors=[("ERROR", 0)]))
    later = d.ask("Is it built?")
    d.work(MINUTE)
    word = "oncemore-"

    def partly(request: ModelRequest) -> Script:
        mark = request.last_user.rsplit(f"<{word}", 1)[1].split(">")[0]
        return Say(f'Perhaps. <{word}{mark}>{{"gate": {{"summary": "look at the build"}}}}</{word}{mark}>')

    d.w.plot.first = d.w.plot.other = partly
    d.work(4 * MINUTE, HOUR)
    assert d.w.model.calls == 1
    assert d.w.replies()[-1] == "Perhaps."
    rows = {row["id"]: row for row in d.w.rows("select id, state, held from request")}
    assert rows[old] == {"id": old, "state": "open", "held": f"{REVIEW}: segment-closed"}
    assert rows[later]["state"] == "open" and "leaves something to a person" in rows[later]["held"]
    assert d.w.first_turn(old) == before
    assert d.books() == (2, 0)


@row(
    "V17",
    "A question that was edited while its review ran gets no answer of it.",
    on=ON,
    removed=guard(
        "oncemore.engine.deliveries._may_send",
        lambda context, row, session: None,
        "reading message and grant once more before a reply",
    ),
)
def test_V17_a_question_edited_during_the_review_gets_no_answer_of_it(d: Desk) -> None:
    request = interrupted(d)

    def act(point: CrashPoint, about: str) -> None:
        if point is CrashPoint.AFTER_NATIVE_END and "review" in about:
            edit(d, request)

    d.on = act
    d.work(2 * MINUTE, HOUR)
    assert d.w.model.calls == 1
    assert d.w.replies() == [prompts.FAILED["en"]]
    assert d.w.row("select held from request")["held"] == "not delivered: source.state is edited"


def _as_the_conversations_own(session: str, thread: Thread, now: int, *, set_aside: bool = False) -> None:
    RECORD(session, thread, now)


RECORD = dispatch._record_thread


@row(
    "V18",
    "The next ordinary question goes on in its own conversation, and bears nothing of the review.",
    on=ON,
    removed=guard(
        "oncemore.engine.dispatch._record_thread", _as_the_conversations_own, "setting the review's thread aside"
    ),
)
def test_V18_the_next_question_bears_nothing_of_the_review(d: Desk) -> None:
    interrupted(d)
    d.work(2 * MINUTE)
    assert d.w.replies()[-1] == ANSWER
    d.server.after_send(WORKING, Look([planned("Fine.")], executors=[("NO_TOOL_CALL", 0)]))
    d.ask("And how are you?")
    d.work(3 * MINUTE)
    assert d.w.replies()[-1] == "Fine."
    first, second = d.server.sends
    assert READING not in second["items"][0]["text"]
    assert (first["cascadeId"], first["cascadeConfig"]) == (second["cascadeId"], second["cascadeConfig"])


class Deaf:
    """The Inbox, whose answer to the review's reply is lost after it was taken."""

    def __init__(self, inbox: Inbox, replies: list[str]) -> None:
        self._inbox, self._replies = inbox, replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inbox, name)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        receipt = self._inbox.reply(ref, text, key)
        if "recovery" in key:
            self._replies.append(key)
            if len(self._replies) == 1:
                raise Uncertain("no answer came")
        return receipt


def _send_again(context: Context, delivery: Delivery) -> bool:
    deliveries._set_state(context, delivery, "frozen", "no receipt")
    return True


@row(
    "V19",
    "When the answer to the review's reply is lost, it is looked for, found, and not sent again.",
    on=ON,
    removed=guard("oncemore.engine.deliveries._settle", _send_again, "looking for a reply whose receipt was lost"),
)
def test_V19_a_review_reply_whose_receipt_was_lost_is_found_and_not_sent_again(d: Desk) -> None:
    replies: list[str] = []
    interrupted(d)
    d.source = lambda inbox: Deaf(inbox, replies)
    d.work(2 * MINUTE, HOUR)
    assert len(replies) == 1
    assert d.w.replies() == [prompts.FAILED["en"], ANSWER]
    assert d.w.row("select state from delivery where stage like 'recovery%'")["state"] == "verified"


@row(
    "V20",
    "A review that writes, asks for more than reading or hands work on changes nothing, and its answer is rejected.",
    on=ON,
    removed=REJECTION,
)
@MORE_THAN_READING
def test_V20_a_review_that_does_more_than_read_is_rejected(d: Desk, deed: Patch | Call) -> None:
    request = interrupted(d)
    before = kept(d, request)
    reviewed(d, [deed, Say("It is written down.")])
    d.work(2 * MINUTE, HOUR)
    assert list(d.w.workspace.iterdir()) == []
    assert "It is written down." not in d.w.replies()
    assert d.w.row("select state, reason from attempt") == {
        "state": "failed",
        "reason": "the review did more than read",
    }
    assert kept(d, request) == before
