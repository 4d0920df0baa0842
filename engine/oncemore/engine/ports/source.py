"""What does the engine need of the place where people write and are answered?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from oncemore.rules.case import Reading


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A message as it was accepted.

    Attributes:
        message: the Source's own id of it.
        sender: who wrote it, as verified at acceptance.
        digest: SHA-256 of its accepted content.
    """

    source: str
    message: str
    sender: str
    digest: str


@dataclass(frozen=True, slots=True)
class Newer:
    """Human messages of the same conversation after a message, in the Source's order.

    Attributes:
        messages: their ids; commands that end nothing (`/status`, `/help`, `/why`), reactions and our own posts do
            not count.
    """

    messages: tuple[str, ...]
    observed_at: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The Source's word that a reply arrived.

    Attributes:
        reply: the Source's id of our reply; None when it took it without naming it.
    """

    reply: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Search:
    """The result of looking for a reply of ours.

    Attributes:
        receipt: the reply by our own bot, under this message, with the frozen text.
        absence_proven: the read was complete and would have shown it.
    """

    receipt: Receipt | None
    absence_proven: bool
    observed_at: int


class Source(Protocol):
    """Where the human message lives and the answer goes."""

    @property
    def name(self) -> str:
        """Its configured id."""

    @property
    def key_window(self) -> int:
        """For how long after the first try the Source keeps at most one reply under one key with one text, in
        milliseconds. Within it, a try whose answer was lost may be made again. Zero where there is no such promise."""

    def read(self, ref: SourceRef) -> Mapping[str, Reading]:
        """`source.state` and `source.sender_verified`, the message read back and compared with what was accepted."""

    def newer(self, ref: SourceRef) -> Newer:
        """Human messages after this one. Raises `Unreadable`."""

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        """Send one reply to the message, under a key that is the same for every try.

        Raises:
            Refused: the Source said no; nothing was sent.
            Uncertain: no answer arrived; it may have been sent.
        """

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        """Look for our reply: by its receipt, else by key or frozen text. Raises `Unreadable`."""
