"""Which case was a stored pass about? Read back, so that it can be asked about again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from oncemore.engine.errors import OncemoreError
from oncemore.rules.case import Case, Evidence, Reading, Value
from oncemore.rules.vocabulary import DIGEST, FACTS


class OtherVocabulary(OncemoreError):
    """A pass was decided under another vocabulary than today's, so that its case says nothing today."""

    code: ClassVar[str] = "E105"


def case_of(stored: bytes) -> Case:
    """The case of a stored pass, with its evidence.

    Raises:
        OtherVocabulary: its facts are not those of today.
    """
    kept = json.loads(stored)
    if kept["vocabulary"] != DIGEST:
        raise OtherVocabulary("it was decided under another vocabulary, so its case cannot be asked about today")
    case = kept["case"]
    readings = {fact: _reading(fact, found) for fact, found in case["facts"].items()}
    return Case(case["now"], readings, case["waiting_since"])


def _reading(fact: str, found: Mapping[str, Any]) -> Reading:
    evidence = None
    if "source" in found:
        evidence = Evidence(
            found["source"],
            found["observed_at"],
            found.get("max_age"),
            found.get("digest"),
            found.get("details", {}),
        )
    return Reading(found["status"], _value(fact, found.get("value")), evidence)


def _value(fact: str, kept: bool | int | str | None) -> Value | None:
    """A value as it was; numbers beyond what JSON holds exactly were kept as text."""
    return int(kept) if kept is not None and FACTS[fact].type in ("int", "duration") else kept
