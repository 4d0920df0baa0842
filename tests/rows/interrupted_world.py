"""A steward's question to Antigravity that was interrupted, and the review of what it left, on a real Codex."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import RAW, Look, planned, viewed
from tests.rows.antigravity_world import WORKING, Desk, desk
from tests.rows.removals import gate, guard

from oncemore.adapters.codex import count
from oncemore.adapters.demo.model import ModelRequest, Say, Script
from oncemore.engine import prompts

REVIEW, RESULTS = "review-interrupted-answer", "review-interrupted-results"
READING = "by reading only"
"""Words of every review's input."""

ON = "fake language server, real Codex"
MINUTE = 60_000
HOUR = 60 * MINUTE
DRAFT = "There are two parts, and the second is"
ANSWER = "There are two parts."
CLEARED = planned(DRAFT, "CLEARED", stop="")
NOTES = "one.md\ntwo.md\n"
LOOKED = (planned("", calls=["call-1"]), viewed(NOTES))
"""What is left where no answer came behind the tools."""

MATERIAL = "oncemore.adapters.antigravity.material"
CLOSED = guard(f"{MATERIAL}.segment", lambda one, terms: "closed", "asking whether the segment is closed")
IDLE_OR_NOT = gate("native-idle", "session-idle", "floor/session")
REJECTION = guard(
    "oncemore.engine.running._rejection",
    lambda context, turn, native, view, seen: None,
    "checking what a review did before its answer counts",
)

_BETWEEN = re.compile(r"^=====material-(\w+)=====\n(.*)\n=====material-\1=====$", re.DOTALL | re.MULTILINE)


@contextmanager
def steward_desk(folder: Path, monkeypatch: pytest.MonkeyPatch, *policies: str) -> Iterator[Desk]:
    """A steward's conversation, with room for reviews and a model that answers them."""
    with desk(folder, monkeypatch, *policies, level="portfolio_read", role="steward") as made:
        made.hurried = False
        made.w.model.capacity = "available"
        reviewed(made, Say(ANSWER))
        yield made


def reviewed(d: Desk, reply: Script) -> None:
    """What the model says to a review; to anything else it says hello."""

    def answer(request: ModelRequest) -> Script:
        return reply if READING in request.last_user else Say("Hello.")

    d.w.plot.first = d.w.plot.other = answer


def interrupted(d: Desk, *steps: RAW, **asked: Any) -> str:
    """A Turn that ended with an error of the runtime; what it left visible is its draft, unless steps are given."""
    d.server.after_send(WORKING, Look(steps or (CLEARED,), executors=[("ERROR", len(steps or (1,)) - 1)]))
    request = d.ask(**asked)
    d.work(0)
    turn = d.w.first_turn(request)
    assert (turn["status"], turn["error"]) == ("failed", "runtime_error")
    return request


def kept(d: Desk, request: str) -> object:
    """What nothing may change: the failed Turn, and the notice about it with its reply."""
    notice = d.w.rows("select * from delivery where request = ? and stage = 'notice' and state = 'verified'", request)
    return d.w.first_turn(request), notice, d.w.replies()[:1]


def held(d: Desk, request: str, *more: str) -> None:
    """No review, whatever time goes by: no model, no message but these, and nothing of the old Turn changed."""
    before = d.w.first_turn(request)
    d.work(2 * MINUTE, HOUR)
    assert d.w.model.calls == 0
    assert d.w.replies() == [prompts.FAILED["en"], *more]
    assert d.w.first_turn(request) == before
    assert d.books() == (1, 0)


def codex_turns(d: Desk) -> list[dict[str, Any]]:
    """What Codex's own store holds of reviews, read by a process of its own."""
    threads = d.w.rows("select thread from session_thread where runtime = 'codex'")
    return [turn for one in threads for turn in count.turns(d.w.folder / "codex", one["thread"])]


def edit(d: Desk, request: str) -> None:
    """The person edits the message that asked."""
    with d.w.house() as house:
        message = d.w.row("select message from request where id = ?", request)["message"]
        house.inbox.edit(message, "How many chapters?")


def handed(d: Desk) -> list[str]:
    """What stood between the markers of each review's input, at its first request."""
    asked = dict.fromkeys(entry.last_user for entry in d.w.model.requests if READING in entry.last_user)
    return [str(part[1]) for text in asked for part in _BETWEEN.findall(text)]
