"""What happened to a Request, in an order that nobody can rearrange?

Every event carries the digest of the one before; the last digest stands in the Request's row, which every writer
locks anyway. Whoever changes, drops or inserts one breaks the chain.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from oncemore.engine.errors import NotFound
from oncemore.engine.locks import locking
from oncemore.engine.statements import Prepared
from oncemore.engine.tables import Event, Request, database

_HEAD = Prepared(
    database, 1, lambda one: locking(Request.select(Request.head, Request.events).where(Request.id == one))
)
_ADD = Prepared(
    database,
    7,
    lambda request, seq, at, kind, body, previous, digest: Event.insert(
        request=request, seq=seq, at=at, kind=kind, body=body, previous=previous, digest=digest
    ),
)
_ADVANCE = Prepared(
    database, 3, lambda head, events, one: Request.update(head=head, events=events).where(Request.id == one)
)


def append(request: str, kind: str, at: int, **body: Any) -> None:
    """Add one event. Call it inside the transaction that does what the event says. Bodies hold digests, never texts."""
    [(head, events)] = _HEAD(request)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = _digest(request, events + 1, at, kind, text, head)
    _ADD(request, events + 1, at, kind, text, head, digest)
    _ADVANCE(digest, events + 1, request)


def latest(request: str, kind: str) -> dict[str, Any]:
    """The body of the newest event of a kind.

    Raises:
        NotFound: there is none.
    """
    body = (
        Event.select(Event.body).where(Event.request == request, Event.kind == kind).order_by(Event.seq.desc()).scalar()
    )
    if body is None:
        raise NotFound(f"{request} has no event {kind}")
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


def happened(request: str, kind: str, **body: Any) -> bool:
    """Whether an event of a kind has these values in its body."""
    found = Event.select(Event.body).where(Event.request == request, Event.kind == kind)
    return any(body.items() <= json.loads(event.body).items() for event in found)


def verify(request: str) -> str | None:
    """None when the Request's chain is whole; else a sentence that says where it breaks."""
    previous, count = "", 0
    for event in Event.select().where(Event.request == request).order_by(Event.seq):
        count += 1
        if event.seq != count:
            return f"{request}: event {count} is missing"
        if event.previous != previous:
            return f"{request}: event {count} does not follow the one before it"
        if event.digest != _digest(request, event.seq, event.at, event.kind, event.body, event.previous):
            return f"{request}: event {count} was changed"
        previous = event.digest
    row = Request.get_or_none(Request.id == request)
    if row is None:
        return f"{request}: events of a Request that is not there"
    if (row.head, row.events) != (previous, count):
        return f"{request}: the chain ends at event {count}, the Request knows {row.events}"
    return None


def _digest(request: str, seq: int, at: int, kind: str, body: str, previous: str) -> str:
    content = json.dumps([request, seq, at, kind, body, previous], separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
