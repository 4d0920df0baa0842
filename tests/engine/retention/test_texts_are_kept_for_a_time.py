"""Texts of what ended long ago lose their bodies and nothing else, on either database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import both

from oncemore.engine import deliveries, events, intake, retention, texts
from oncemore.engine.errors import NotFound
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Workspace
from oncemore.engine.retention import Retention, drop
from oncemore.engine.tables import Request, Text, Turn

DAY = 86_400_000
START = 1_800_000_000_000


class Years:
    """A journal that lives long."""

    def __init__(self, place: Path | str) -> None:
        self.time = START
        self.journal = Journal(place, clock=lambda: self.time)
        grant = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
        self.session = intake.open_session(
            self.journal, grant, runtime="codex", home="/h", source="inbox", conversation="c"
        )

    def ask(self, text: str) -> str:
        arrival = intake.Arrival(message=f"m-{self.time}-{text}", sender="ann", text=text)
        return intake.accept(self.journal, self.session, arrival)

    def answer(self, request: str, text: str) -> None:
        """Its Turn ends with this text, which was delivered."""
        with self.journal.transaction():
            now = self.journal.advance_clock().ms
            stored = texts.store(text, now)
            Turn.update(status="completed", ended_at=now, reply_digest=stored.digest, reply_length=stored.length).where(
                Turn.request == request
            ).execute()
            deliveries.put(request, "answer", text, now)
            Request.update(state="answered", due_at=None).where(Request.id == request).execute()
            events.append(request, "answered", now)

    def later(self, days: int) -> None:
        self.time += days * DAY
        with self.journal.transaction():
            self.journal.advance_clock()

    def drop(self, days: int) -> retention.Dropped:
        return drop(self.journal, self.time - days * DAY)

    def said(self) -> set[str]:
        """What is still kept, without prompts."""
        return {row.body for row in Text.select() if row.body and "<oncemore" not in row.body}


@pytest.fixture
def years(place: Path | str) -> Iterator[Years]:
    made = Years(place)
    yield made
    made.journal.close()


@both
def test_bodies_go_and_everything_else_stays_and_verifies(years: Years) -> None:
    request = years.ask("what is it?")
    years.answer(request, "it is this")
    before = [(row.digest, row.length) for row in Text.select().order_by(Text.digest)]
    years.later(100)
    counted = drop(years.journal, years.time - 90 * DAY, only_count=True)
    assert years.said() == {"what is it?", "it is this"}
    assert years.drop(90) == counted
    assert counted.texts == 3  # the message, the prompt that it became, and the answer
    assert years.said() == set()
    assert [(row.digest, row.length) for row in Text.select().order_by(Text.digest)] == before
    assert events.verify(request) is None
    with pytest.raises(NotFound, match="no longer kept"):
        texts.fetch(Request.get_by_id(request).digest)
    assert years.drop(90).texts == 0


@both
def test_what_is_open_or_ended_lately_keeps_its_texts_whatever_their_age(years: Years) -> None:
    years.ask("still open")
    ended = years.ask("ended lately")
    years.later(100)
    years.answer(ended, "at last")
    years.later(10)
    assert years.drop(90).texts == 0
    assert years.said() == {"still open", "ended lately", "at last"}
    years.later(100)
    years.drop(90)
    assert years.said() == {"still open"}


def test_a_text_that_somebody_says_again_is_kept_for_both(years: Years) -> None:
    years.answer(years.ask("hello"), "hello yourself")
    years.later(60)
    years.answer(years.ask("hello"), "hello again")
    years.later(50)
    years.drop(90)
    assert years.said() == {"hello", "hello again"}


def test_a_text_that_was_dropped_comes_back_when_it_is_said_again(years: Years) -> None:
    years.answer(years.ask("hello"), "hello yourself")
    years.later(100)
    years.drop(90)
    years.ask("hello")
    assert years.said() == {"hello"}


def test_many_texts_go_in_parts(years: Years, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    for number in range(5):
        years.answer(years.ask(f"question {number}"), f"answer {number}")
    years.later(100)
    assert years.drop(90).texts == 15
    assert years.said() == set()


def test_a_worker_looks_every_hour_and_takes_the_outside_along(years: Years) -> None:
    told: list[int] = []
    kept = Retention(years.journal, 90 * DAY, told.append)
    years.answer(years.ask("hello"), "hello yourself")
    years.later(100)
    kept.look()
    kept.look()
    assert told == [years.time - 90 * DAY]
    assert years.said() == set()
    years.time += retention.EVERY
    kept.look()
    assert len(told) == 2


def test_a_clock_that_runs_backwards_drops_nothing(years: Years) -> None:
    years.answer(years.ask("hello"), "hello yourself")
    years.later(100)
    years.time -= DAY
    Retention(years.journal, 90 * DAY).look()
    assert years.said() == {"hello", "hello yourself"}
