"""What is a recovery Turn's input?

A continuation's is fixed, a retry's is the person's message again, a review's is the question with what an earlier try
left. Nothing else ever goes in.
"""

from __future__ import annotations

from collections.abc import Mapping

from oncemore.engine import events, facts, prompts, texts
from oncemore.engine.context import Context
from oncemore.engine.errors import OtherThanDecided
from oncemore.engine.intake import random_word
from oncemore.engine.tables import Request, Session


def recovery_input(context: Context, request: str, word: str) -> str:
    """The input of the Attempt that is reserved for the Request.

    Raises:
        OtherThanDecided: what an earlier try left is other than what the policy reviews.
        PortError: it cannot be read.
        NotFound: the message is no longer kept.
    """
    policy = events.latest(request, "reserved")["policy"]
    action = context.rules.action(policy)
    if action == "continue_work":
        return prompts.continuation_input(word)
    message = texts.fetch(Request.get_by_id(request).digest)
    if action == "retry_business":
        return prompts.request_input(message, word)
    kind = context.rules.material(policy)
    return prompts.review_input(message, kind, _material(context, request, kind), word, random_word())


def material_stands(context: Context, request: str, text: str) -> bool:
    """Whether what a review was handed is still what the runtime holds.

    Raises:
        PortError: it cannot be read.
    """
    kind = context.rules.material(events.latest(request, "reserved")["policy"])
    try:
        left = _material(context, request, kind)
    except OtherThanDecided:
        return False
    return left is None or left == prompts.material_in(text)


def _material(context: Context, request: str, kind: str) -> str | None:
    if kind == "none":
        return None
    session = Session.get_by_id(Request.get_by_id(request).session)
    turn = facts.turn_view(facts.last_ended(request))
    return _exactly(context.runtime(session).material(facts.session_view(session.id), turn), kind)


def _exactly(left: Mapping[str, str], kind: str) -> str:
    """The text of the one kind; a runtime that gives another kind, one more, or no text gives nothing to review.

    Raises:
        OtherThanDecided: it does.
    """
    text = left.get(kind)
    if set(left) != {kind} or not isinstance(text, str) or not text:
        raise OtherThanDecided(f"an earlier try left {' and '.join(sorted(left)) or 'nothing'}, not {kind} alone")
    try:
        text.encode()
    except UnicodeEncodeError:
        # It could not be kept as it is, and another text is not what the runtime holds.
        raise OtherThanDecided("what an earlier try left is no text that can be written down") from None
    if "\0" in text:
        raise OtherThanDecided("what an earlier try left is no text that can be written down")
    return text
