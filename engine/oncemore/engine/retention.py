"""What is kept no longer, and what stays of it?

Messages, answers, prompts and notices of Requests that ended long ago lose their bodies; digest, length and every row
that refers to them stay, so that the history is whole and verifies. Nothing of a Request that is open goes, whatever
its age. Decisions on posted cases go whole: no Request and no history refers to them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import peewee as pw

from oncemore.engine import texts as texts_kept
from oncemore.engine.journal import Journal
from oncemore.engine.locks import free, one_at_a_time
from oncemore.engine.service_tables import PostedDecision, PostedPass
from oncemore.engine.tables import Delivery, Event, Request, Text, Turn

log = logging.getLogger("oncemore.retention")

BATCH = 500
"""Most that go in one transaction: others write in between."""

EVERY = 3_600_000
"""How often a worker looks for texts that have had their time, milliseconds."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What one round did.

    Attributes:
        texts: how many lost their bodies, or would have.
        characters: how long they were altogether.
    """

    texts: int
    characters: int


class Retention:
    """Drops what has had its time, now and then.

    Args:
        keep: for how long texts of ended Requests are kept, milliseconds; None for ever.
        posted: for how long decisions on posted cases are kept; None for ever.
        also: told until when contents outside the journal, such as logs of runtimes, are to go as well.
    """

    def __init__(
        self,
        journal: Journal,
        keep: int | None,
        also: Callable[[int], None] = lambda before: None,
        *,
        posted: int | None = None,
    ) -> None:
        self._journal = journal
        self._keep = keep
        self._posted = posted
        self._also = also
        self._next = 0

    def look(self) -> None:
        """Drop what is to be dropped, where the last look was long enough ago."""
        now = self._journal.now()
        if not now.trusted or now.ms < self._next:
            return
        self._next = now.ms + EVERY
        if self._posted is not None:
            drop_posted(self._journal, now.ms - self._posted)
        if self._keep is None:
            return
        drop(self._journal, now.ms - self._keep)
        try:
            self._also(now.ms - self._keep)
        except OSError:
            log.exception("what lies outside the journal could not be dropped")


def drop(journal: Journal, before: int, *, only_count: bool = False) -> Dropped:
    """Take the bodies of texts that were last stored more than a day before a moment, and belong to nothing that is
    open or has ended since.

    Args:
        before: milliseconds since the epoch.
        only_count: say what would be dropped, and drop nothing.
    """
    texts = characters = 0
    last: tuple[int, str] = (-1, "")
    while True:
        with journal.transaction():
            one_at_a_time("retention")
            rows = _old(before - texts_kept.RENEWED, last)
            if not rows:
                return Dropped(texts, characters)
            last = (rows[-1].stored_at, rows[-1].digest)
            kept = _needed(before)
            gone = [row for row in rows if row.digest not in kept]
            texts, characters = texts + len(gone), characters + sum(row.length for row in gone)
            if not only_count:
                Text.update(body=None).where(Text.digest.in_([row.digest for row in gone])).execute()


def drop_posted(journal: Journal, before: int, *, only_count: bool = False) -> int:
    """Delete the decisions on cases that were last posted before a moment; how many cases that are.

    Args:
        before: milliseconds since the epoch.
        only_count: say what would be deleted, and delete nothing.
    """
    old = PostedPass.at < before
    if only_count:
        return int(PostedPass.select().where(old).count())
    gone = 0
    while True:
        with journal.transaction():
            one_at_a_time("retention")
            # One that is posted again at this moment is passed by.
            found = free(PostedPass.select(PostedPass.id).where(old).order_by(PostedPass.at).limit(BATCH))
            passes = [row.id for row in found]
            if not passes:
                return gone
            PostedDecision.delete().where(PostedDecision.posted_pass.in_(passes)).execute()
            PostedPass.delete().where(PostedPass.id.in_(passes)).execute()
            gone += len(passes)


def _old(before: int, last: tuple[int, str]) -> list[Text]:
    at, digest = last
    return list(
        Text.select(Text.digest, Text.length, Text.stored_at)
        .where(Text.body.is_null(False), Text.stored_at < before)
        .where((Text.stored_at > at) | (Text.stored_at == at) & (Text.digest > digest))
        .order_by(Text.stored_at, Text.digest)
        .limit(BATCH)
    )


def _needed(before: int) -> set[str]:
    """The digests of old texts that something open, or ended since, still speaks of.

    A text's time is renewed when it is used again, so that only Requests from before have to be looked at.
    """
    moved = Event.select(Event.request).where(Event.at >= before)
    alive = Request.select(Request.id).where(
        Request.created_at < before, (Request.state == "open") | Request.due_at.is_null(False) | Request.id.in_(moved)
    )
    return set(_digests(alive))


def _digests(requests: pw.ModelSelect[Request]) -> Iterator[str]:
    for row in Request.select(Request.digest).where(Request.id.in_(requests)):
        yield row.digest
    for delivery in Delivery.select(Delivery.text_digest).where(Delivery.request.in_(requests)):
        yield delivery.text_digest
    for turn in Turn.select(Turn.input_digest, Turn.reply_digest, Turn.response_digest).where(
        Turn.request.in_(requests)
    ):
        yield from (one for one in (turn.input_digest, turn.reply_digest, turn.response_digest) if one is not None)
