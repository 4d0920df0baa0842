"""Where are the words that people and models wrote?

In one table, keyed by SHA-256, apart from the rows that refer to them; deleting a text leaves its digest and length,
so that the history around it stays whole.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from oncemore.engine.errors import NotFound
from oncemore.engine.tables import Text

RENEWED = 86_400_000
"""By how much the time at which a text was stored may lie before its last use, milliseconds: texts that many Requests
share are not written to by each of them."""


class Stored(NamedTuple):
    """A text's place: its digest and its length in characters."""

    digest: str
    length: int


def digest(text: str) -> str:
    """The key of a text: the SHA-256 of its UTF-8 bytes. Lone surrogates are kept apart rather than refused."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def store(text: str, at: int) -> Stored:
    """Keep a text; the same text is kept once, its time is renewed, and it comes back if retention had dropped it."""
    key = digest(text)
    Text.insert(digest=key, length=len(text), body=text, stored_at=at).on_conflict_ignore().execute()
    old = Text.body.is_null() | (Text.stored_at < at - RENEWED)
    Text.update(body=text, stored_at=at).where(Text.digest == key, old).execute()
    return Stored(key, len(text))


def fetch(key: str) -> str:
    """A kept text.

    Raises:
        NotFound: it was never kept, or retention has dropped it.
    """
    body = Text.select(Text.body).where(Text.digest == key).scalar()
    if body is None:
        raise NotFound(f"the text {key} is no longer kept")
    return str(body)
