"""How are the decisions that the journal keeps shown again?

From what was stored and the policy texts of that day alone; nothing is evaluated a second time.
"""

from __future__ import annotations

import json
from typing import Any

from oncemore.engine.canonical import digest
from oncemore.engine.errors import NotFound
from oncemore.engine.records import NotRenderable, render
from oncemore.engine.tables import Bundle, Decision, DecisionPass, Request


def newest(request: str) -> list[dict[str, Any]]:
    """The records of a Request's newest pass.

    Raises:
        NotFound: it was never decided.
    """
    return of_pass(newest_pass(request))


def newest_pass(request: str) -> str:
    """The id of a Request's newest pass.

    Raises:
        NotFound: nothing was decided on it yet.
    """
    return str(max(_passes(request), key=lambda one: (one.last_seen, one.at)).id)


def pass_at(request: str, at: int) -> str:
    """The id of the pass that was a Request's newest at a time, or of its first one where that came later.

    Args:
        at: milliseconds since the epoch.

    Raises:
        NotFound: nothing was decided on it yet.
    """
    rows = _passes(request)
    earlier = [one for one in rows if one.at <= at]
    if not earlier:
        return str(min(rows, key=lambda one: one.at).id)
    # A pass that gave the same again was not stored a second time, but seen.
    return str(max(earlier, key=lambda one: (min(one.last_seen, at), one.at)).id)


def _passes(request: str) -> list[DecisionPass]:
    rows = list(
        DecisionPass.select(DecisionPass.id, DecisionPass.at, DecisionPass.last_seen).where(
            DecisionPass.request == request
        )
    )
    if not rows and not Request.select().where(Request.id == request).exists():
        raise NotFound(f"there is no Request {request}")
    if not rows:
        raise NotFound(f"nothing was decided on {request} yet")
    return rows


def pass_of(decision: str) -> tuple[str, str]:
    """The ids of a decision's pass and of the decision, by its id or the beginning of it.

    Raises:
        NotFound: no decision, or more than one, begins so.
    """
    prefix = decision if decision.startswith("sha256:") else f"sha256:{decision}"
    found = list(Decision.select(Decision.id, Decision.decision_pass).where(Decision.id.startswith(prefix)).limit(2))
    if len(found) != 1:
        raise NotFound(f"{'no decision begins' if not found else 'more than one decision begins'} with {decision}")
    return found[0].decision_pass, found[0].id


def stored_of(decision_pass: str) -> bytes:
    """What was kept of a pass, by its id.

    Raises:
        NotRenderable: it is not what was stored: its digest is another than its id.
    """
    stored = str(DecisionPass.get_by_id(decision_pass).stored).encode()
    if digest(stored) != decision_pass:
        raise NotRenderable(
            f"what is kept of the decisions {decision_pass} is not what was stored; bring back a backup"
        )
    return stored


def texts_of(stored: bytes) -> dict[str, dict[str, str]]:
    """The texts that a pass was judged by, by their digests.

    Raises:
        NotRenderable: one of them cannot be read.
    """
    kept = json.loads(stored)
    digests = [kept["floor"], kept["vocabulary"], *(policy["digest"] for policy in kept["policies"].values())]
    return {bundle.digest: _texts(bundle) for bundle in Bundle.select().where(Bundle.digest.in_(digests))}


def _texts(bundle: Bundle) -> dict[str, str]:
    try:
        texts = json.loads(bundle.body)
    except ValueError:
        texts = None
    if not isinstance(texts, dict) or not texts or not all(isinstance(text, str) for text in texts.values()):
        raise NotRenderable(f"what is kept of the text {bundle.digest} is not what was stored; bring back a backup")
    return texts


def of_pass(decision_pass: str) -> list[dict[str, Any]]:
    """The records of a pass, by its id."""
    stored = stored_of(decision_pass)
    return render(stored, texts_of(stored))


def of_decision(decision: str) -> dict[str, Any]:
    """One record, by its id or the beginning of it.

    Raises:
        NotFound: no decision, or more than one, begins so.
    """
    decision_pass, whole = pass_of(decision)
    return next(record for record in of_pass(decision_pass) if record["decision_id"] == whole)
