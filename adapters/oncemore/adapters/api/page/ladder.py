"""What does the page of one decision show: the gates with what was read, and what would change the outcome?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from oncemore.adapters import supposing
from oncemore.adapters.api.page.overview import offered
from oncemore.adapters.api.page.words import Language, said
from oncemore.engine import advice, journal_records
from oncemore.engine.errors import EngineFault
from oncemore.engine.explanation import explanation
from oncemore.engine.stored_case import OtherVocabulary
from oncemore.engine.tables import Decision, DecisionPass
from oncemore.rules.cells import Undecided
from oncemore.rules.loading import PolicySet

ID: Final = re.compile(r"[0-9a-f]{8,64}")
"""The digits of a decision's id, or the first of them."""

Record = Mapping[str, Any]


def ladder(decision: str, policies: PolicySet, lang: Language) -> dict[str, Any]:
    """Everything that the page of a decision tells.

    Raises:
        NotFound: no decision, or more than one, begins so.
        NotRenderable: a text that it was judged by is gone.
    """
    kept, whole = journal_records.pass_of(decision)
    stored = journal_records.stored_of(kept)
    records = journal_records.of_pass(kept)
    record = next(one for one in records if one["decision_id"] == whole)
    row = Decision.get_by_id(whole)
    name, digest = record["policy"]["name"], record["policy"]["digest"]
    in_force = policies.get(name)
    look = DecisionPass.get_by_id(kept)
    return {
        "decision": whole.removeprefix("sha256:"),
        "record": record,
        "said": explanation(record, lang, "operator"),
        "nearest": _nearest(stored, record, lang),
        "request": row.request,
        "seen": look.seen,
        "last_seen": look.last_seen,
        "let": advice.let_through(row.request, row.policy, row.level, row.at),
        "others": [
            {
                "decision": str(one["decision_id"]).removeprefix("sha256:"),
                "policy": one["policy"]["name"],
                "outcome": one["outcome"],
            }
            for one in records
            if one["decision_id"] != whole
        ],
        "in_force": in_force is not None and in_force.digest == digest,
        "known": in_force is not None,
        "newer": _newer(row),
        "offer": next((one for one in offered(row.request, policies) if one.policy == name), None),
        "texts": journal_records.texts_of(stored)[digest],
    }


def _nearest(stored: bytes, record: Record, lang: Language) -> str:
    """The nearest change in a sentence; empty where it fires."""
    try:
        return supposing.of_stored(stored, journal_records.texts_of).told(record, lang)
    except OtherVocabulary:
        return said(lang, "nearest.vocabulary")
    except (Undecided, EngineFault):
        return said(lang, "nearest.undecided")


def _newer(row: Decision) -> str | None:
    """The policy's newest decision on the same Request, where it is another one."""
    found = (
        Decision.select(Decision.id)
        .where(Decision.request == row.request, Decision.policy == row.policy, Decision.at > row.at)
        .order_by(Decision.at.desc())
        .scalar()
    )
    return None if found is None else str(found).removeprefix("sha256:")
