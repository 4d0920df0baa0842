"""What did people write in the App, and what was answered there?

The inbox is a Source like any other: the executor reads it back, and stores its own intent and receipt around each
reply. Its book is complete, so that here the absence of a reply can be proven by reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import peewee as pw

from oncemore.engine import texts
from oncemore.engine.errors import NotFound, Refused
from oncemore.engine.journal import Journal
from oncemore.engine.locks import one_at_a_time
from oncemore.engine.ports import Newer, Receipt, Search, SourceRef
from oncemore.engine.tables import InboxMessage, InboxReply
from oncemore.rules.case import Evidence, Reading


@dataclass(frozen=True, slots=True)
class Post:
    """A message or a reply as a person sees it in the conversation.

    Attributes:
        author: who wrote it; None for a reply of ours.
        answers: the message that a reply stands under.
        text: None when it is no longer kept.
    """

    id: str
    author: str | None
    answers: str | None
    text: str | None
    at: int
    recalled: bool = False


class Inbox:
    """The Source `inbox`."""

    name = "inbox"
    # Its book is complete: what is not in it was not sent, and no promise about keys is needed.
    key_window = 0

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def post(self, conversation: str, author: str, text: str, *, command: bool = False) -> str:
        """Add a person's message at the end of a conversation; its id.

        Args:
            command: it asks Oncemore itself something (`/status`) and is no input for an agent.
        """
        with self._journal.transaction():
            one_at_a_time(f"inbox\0{conversation}")
            now = self._journal.advance_clock().ms
            last = (
                InboxMessage.select(pw.fn.MAX(InboxMessage.position))
                .where(InboxMessage.conversation == conversation)
                .scalar()
            )
            position = (last or 0) + 1
            message = "m-" + hashlib.sha256(f"{conversation}\0{position}".encode()).hexdigest()[:12]
            stored = texts.store(text, now)
            InboxMessage.insert(
                id=message,
                conversation=conversation,
                position=position,
                author=author,
                digest=stored.digest,
                length=stored.length,
                recalled=False,
                command=command,
                at=now,
            ).execute()
        return message

    def edit(self, message: str, text: str) -> None:
        """The person changed the message. Raises `NotFound`."""
        with self._journal.transaction():
            now = self._journal.advance_clock().ms
            self._row(message)
            stored = texts.store(text, now)
            InboxMessage.update(digest=stored.digest, length=stored.length).where(InboxMessage.id == message).execute()

    def recall(self, message: str) -> None:
        """The person took the message back. Raises `NotFound`."""
        with self._journal.transaction():
            self._journal.advance_clock()
            self._row(message)
            InboxMessage.update(recalled=True).where(InboxMessage.id == message).execute()

    def conversation(self, conversation: str) -> list[Post]:
        """Messages in order, each with our replies under it."""
        posts: list[Post] = []
        messages = (
            InboxMessage.select().where(InboxMessage.conversation == conversation).order_by(InboxMessage.position)
        )
        for message in messages:
            posts.append(
                Post(message.id, message.author, None, _text(message.digest), message.at, bool(message.recalled))
            )
            replies = InboxReply.select().where(InboxReply.message == message.id).order_by(InboxReply.at, InboxReply.id)
            posts.extend(Post(reply.id, None, message.id, _text(reply.digest), reply.at) for reply in replies)
        return posts

    def read(self, ref: SourceRef) -> Mapping[str, Reading]:
        """`source.state` and `source.sender_verified`, by comparing the message with what was accepted."""
        now = self._journal.now().ms
        row = InboxMessage.get_or_none(InboxMessage.id == ref.message)
        evidence = Evidence(source=self.name, observed_at=now, digest=None if row is None else row.digest)
        if row is None:
            return {"source.state": Reading("known", "missing", evidence)}
        state = "recalled" if row.recalled else "unchanged" if row.digest == ref.digest else "edited"
        return {
            "source.state": Reading("known", state, evidence),
            "source.sender_verified": Reading("known", row.author == ref.sender, evidence),
        }

    def newer(self, ref: SourceRef) -> Newer:
        """Messages of people after this one; commands and recalled ones do not count.

        Raises:
            Refused: the message itself is not in the inbox, so nothing can be after it.
        """
        row = InboxMessage.get_or_none(InboxMessage.id == ref.message)
        if row is None:
            raise Refused(f"the inbox has no message {ref.message}")
        later = (
            InboxMessage.select(InboxMessage.id)
            .where(
                InboxMessage.conversation == row.conversation,
                InboxMessage.position > row.position,
                InboxMessage.recalled == False,  # noqa: E712
                InboxMessage.command == False,  # noqa: E712
            )
            .order_by(InboxMessage.position)
        )
        return Newer(messages=tuple(message.id for message in later), observed_at=self._journal.now().ms)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        """Put a reply under the message; the same key again gives the same reply.

        Raises:
            Refused: the message is gone, or the key was used for another reply.
        """
        with self._journal.transaction():
            now = self._journal.advance_clock().ms
            row = InboxMessage.get_or_none(InboxMessage.id == ref.message)
            if row is None or row.recalled:
                raise Refused(f"the message {ref.message} is gone")
            there = InboxReply.get_or_none(InboxReply.key == key)
            if there is not None:
                if (there.message, there.digest) != (ref.message, texts.digest(text)):
                    raise Refused(f"the key {key} was used for another reply")
                return Receipt(reply=there.id, at=there.at)
            stored = texts.store(text, now)
            reply = "a-" + hashlib.sha256(key.encode()).hexdigest()[:12]
            InboxReply.insert(
                id=reply, message=ref.message, key=key, digest=stored.digest, length=stored.length, at=now
            ).execute()
        return Receipt(reply=reply, at=now)

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        """Look for our reply with this text under the message."""
        now = self._journal.now().ms
        there = InboxReply.get_or_none(
            InboxReply.key == key, InboxReply.message == ref.message, InboxReply.digest == texts.digest(text)
        )
        if there is None or (receipt is not None and receipt.reply != there.id):
            return Search(receipt=None, absence_proven=there is None, observed_at=now)
        return Search(receipt=Receipt(reply=there.id, at=there.at), absence_proven=False, observed_at=now)

    def _row(self, message: str) -> InboxMessage:
        row = InboxMessage.get_or_none(InboxMessage.id == message)
        if row is None:
            raise NotFound(f"the inbox has no message {message}")
        assert isinstance(row, InboxMessage)
        return row


def _text(key: str) -> str | None:
    try:
        return texts.fetch(key)
    except NotFound:
        return None
