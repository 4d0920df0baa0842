"""How are the decisions that the journal keeps shown again?

From what was stored and the policy texts of that day alone; nothing is evaluated a second time.
"""

from __future__ import annotations

import json
from typing import Any

from oncemore.engine.errors import NotFound
from oncemore.engine.records import render
from oncemore.engine.tables import Bundle, Decision, DecisionPass


def newest(request: str) -> list[dict[str, Any]]:
    """The records of a Request's newest pass.

    Raises:
        NotFound: it was never decided.
    """
    row = (
        DecisionPass.select(DecisionPass.id)
        .where(DecisionPass.request == request)
        .order_by(DecisionPass.last_seen.desc(), DecisionPass.at.desc())
        .first()
    )
    if row is None:
        raise NotFound(f"nothing was decided on {request} yet")
    return of_pass(row.id)


def of_pass(decision_pass: str) -> list[dict[str, Any]]:
    """The records of a pass, by its id."""
    stored = DecisionPass.get_by_id(decision_pass).stored
    kept = json.loads(stored)
    digests = [kept["floor"], kept["vocabulary"], *(policy["digest"] for policy in kept["policies"].values())]
    texts = {bundle.digest: json.loads(bundle.body) for bundle in Bundle.select().where(Bundle.digest.in_(digests))}
    return render(stored.encode(), texts)


def of_decision(decision: str) -> dict[str, Any]:
    """One record, by its id or the beginning of it.

    Raises:
        NotFound: no decision, or more than one, begins so.
    """
    prefix = decision if decision.startswith("sha256:") else f"sha256:{decision}"
    found = list(Decision.select(Decision.id, Decision.decision_pass).where(Decision.id.startswith(prefix)).limit(2))
    if len(found) != 1:
        raise NotFound(f"{'no decision begins' if not found else 'more than one decision begins'} with {decision}")
    return next(record for record in of_pass(found[0].decision_pass) if record["decision_id"] == found[0].id)
