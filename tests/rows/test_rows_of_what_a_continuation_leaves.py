"""Rows U: a continuation on a real Codex changes nothing of what was said before it, and is delivered once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.executor.world import BACKOFF, CONTINUES, World
from tests.rows.continuation_world import CODEX, run
from tests.rows.removals import guard
from tests.rows.row import row

from oncemore.adapters.demo.model import ModelRequest, Say
from oncemore.adapters.inbox import Inbox
from oncemore.engine import prompts
from oncemore.engine.context import Context
from oncemore.engine.errors import Uncertain
from oncemore.engine.journal_records import newest
from oncemore.engine.ports import Receipt, Search, SourceRef
from oncemore.engine.tables import Request
from oncemore.rules import floor
from oncemore.rules.digests import digest_of


def in_the_message(context: Context, request: str, word: str) -> str:
    """A continuation's input put into the person's own message, as it must never be."""
    message = Request.get_by_id(request).message
    Inbox(context.journal).edit(message, "Write one.md and two.md. Go on.")
    return prompts.continuation_input(word)


@row(
    "U26",
    "The continuation's words go to the model alone; the stored message keeps its bytes.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.inputs.recovery_input",
        in_the_message,
        "that the continuation's words stand beside the message, not in it",
    ),
)
def test_U26_the_message_keeps_its_bytes(w: World) -> None:
    request = w.ask()
    run(w, 0)
    message, row = w.row("select * from inbox_message"), w.row("select digest, length from request")
    text = w.row("select * from text where digest = ?", row["digest"])
    run(w, BACKOFF, 2 * BACKOFF)
    assert w.row("select * from inbox_message") == message
    assert w.row("select * from text where digest = ?", row["digest"]) == text
    assert w.row("select digest, length from request") == row
    word = w.row("select word from turn where id = ?", f"{request}-work-1")["word"]
    given = [entry.last_user for entry in w.model.requests if CONTINUES in entry.last_user]
    assert given == [prompts.continuation_input(word)] * 2


class Lossy:
    """The real inbox, which keeps no keys and whose answer to a continuation's reply is lost."""

    name = "inbox"
    key_window = 0

    def __init__(self, inbox: Inbox, *, done: bool) -> None:
        self._inbox, self._done, self._sent = inbox, done, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inbox, name)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        self._sent += 1
        if self._sent == 1 and not self._done:
            raise Uncertain("no answer")
        receipt = self._inbox.reply(ref, text, f"{key}/{self._sent}")
        if self._sent == 1:
            raise Uncertain("no answer")
        return receipt

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        found = [self._inbox.find(ref, text, f"{key}/{number}", receipt) for number in range(1, self._sent + 1)]
        return next((one for one in found if one.receipt is not None), found[-1])


@pytest.mark.parametrize("done", [True, False], ids=["it-was-sent", "it-was-not-sent"])
@row(
    "U28",
    "When the answer to the result's delivery is lost, one message stands in the end.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.deliveries._search",
        lambda context, delivery, receipt: Search(receipt, receipt is None, 0) if receipt or DONE[-1] else None,
        "that the Source is read before anything is sent again",
    ),
)
def test_U28_a_lost_answer_to_the_delivery_leaves_one_message(w: World, done: bool) -> None:
    DONE.append(done)
    w.ask()
    run(w, 0)
    with w.worker(source=lambda inbox: Lossy(inbox, done=done)) as worker:  # type: ignore[arg-type, return-value]
        for offset in (BACKOFF, 2 * BACKOFF, 3 * BACKOFF):
            w.offset = offset
            worker.run_due()
    assert w.replies() == ["Part one is written.", "Part two is written."]
    assert w.row("select state from request")["state"] == "answered"


DONE: list[bool] = []
"""Whether the reply that is lost was sent: without its reading the one is sent twice, the other never."""


@row(
    "U27",
    "An answer without an envelope is read as ever, and decisions of an earlier release are shown as they were.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.rulebook.judged_by", dict, "that the floor and vocabulary are kept beside the decisions"
    ),
)
def test_U27_old_answers_and_old_records_still_load(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(request: ModelRequest) -> Say:
        return Say('Hello <b>you</b>, {"report": 1}.')

    w.plot.other = plain
    asked = w.ask("Hello.")
    run(w, 0)
    assert w.replies() == ['Hello <b>you</b>, {"report": 1}.']
    assert w.first_turn(asked)["report_state"] == "none"
    request = w.ask()
    run(w, 0)
    with w.house():
        before = newest(request)
    later = floor.FLOOR_TEXT + "# a later release\n"
    monkeypatch.setattr(floor, "FLOOR_TEXT", later)
    monkeypatch.setattr(floor, "FLOOR_DIGEST", digest_of({floor.FLOOR_FILE: later}))
    with w.house():
        assert newest(request) == before
