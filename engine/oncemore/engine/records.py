"""What does a stored pass say, policy by policy?

Decision records are rendered from the stored bytes and the policies' texts alone; nothing is evaluated. Rendering at
once or years later gives the same bytes, because it is the same function of the same input.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from oncemore.engine import record_text
from oncemore.engine.competition import Verdict, settle
from oncemore.engine.errors import OncemoreError
from oncemore.engine.fired import Fired, read
from oncemore.rules.leaf_rules import FactType
from oncemore.rules.ruleset import Plan

Record = dict[str, Any]


class NotRenderable(OncemoreError):
    """A stored pass cannot be shown: a text that it was judged by is gone, or is another one."""

    code: ClassVar[str] = "E104"


def render(stored: bytes, texts_by_digest: Mapping[str, Mapping[str, str]]) -> list[Record]:
    """The decision records of a stored pass, sorted by policy.

    Args:
        texts_by_digest: the kept texts of each policy, by file name, by the policy's digest; and those of the floor
            and the vocabulary of that day, as `judged_by` gives them, where they are no longer today's.

    Raises:
        NotRenderable: a text is missing, is another one, or does not load.
    """
    from oncemore.rules.digests import digest_of
    from oncemore.rules.floor import FLOOR_FILE, floor_gates
    from oncemore.rules.loading import policy_from_texts
    from oncemore.rules.ruleset import compile_policy
    from oncemore.rules.vocabulary import facts_from_text

    kept = json.loads(stored)
    there = {**judged_by(), **texts_by_digest}
    for name in ("floor", "vocabulary"):
        if kept[name] not in there:
            raise NotRenderable(f"the {name} that it was judged by, {kept[name]}, is not kept")
    floor, vocabulary = there[kept["floor"]][FLOOR_FILE], there[kept["vocabulary"]][VOCABULARY_FILE]
    if digest_of({FLOOR_FILE: floor}) != kept["floor"] or _sha256(vocabulary) != kept["vocabulary"]:
        raise NotRenderable("the floor or vocabulary kept beside it is another one")
    facts = facts_from_text(vocabulary)
    plans = {}
    for entry in kept["policies"].values():
        texts = texts_by_digest.get(entry["digest"])
        if texts is None:
            raise NotRenderable(f"the text of policy {entry['digest']} is not kept")
        policy = policy_from_texts(next(file for file in texts if "/groups/" not in file), texts)
        if policy.digest != entry["digest"]:
            raise NotRenderable(f"the text kept for policy {entry['digest']} is another one")
        plans[policy.digest] = compile_policy(policy, floor_gates(policy.action, floor), facts)
    found: list[Record] = json.loads(b"[" + b",".join(written(stored, plans, facts)) + b"]")
    return found


VOCABULARY_FILE = "vocabulary.json"


def judged_by() -> dict[str, dict[str, str]]:
    """Today's floor and vocabulary by their digests, to be kept beside the policies' texts."""
    from oncemore.rules.floor import FLOOR_DIGEST, FLOOR_FILE, FLOOR_TEXT
    from oncemore.rules.vocabulary import DIGEST, TEXT

    return {FLOOR_DIGEST: {FLOOR_FILE: FLOOR_TEXT}, DIGEST: {VOCABULARY_FILE: TEXT}}


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def written(stored: bytes, plans: Mapping[str, Plan], facts: Mapping[str, FactType]) -> list[bytes]:
    """As `render`, each record as its canonical JSON, with policies that are compiled already, by digest."""
    kept = json.loads(stored)
    policies = kept["policies"]
    fired = {name: _fired(plans, entry) for name, entry in policies.items()}
    until = {name: entry["until"] for name, entry in policies.items()}
    status = record_text.StoredCase(kept["case"], facts).status
    return settled(stored, kept, settle(fired, status, kept["levels"], until).verdicts, facts)


def settled(
    stored: bytes, kept: Mapping[str, Any], verdicts: Mapping[str, Verdict], facts: Mapping[str, FactType]
) -> list[bytes]:
    """As `written`, of a pass whose outcomes are at hand, as they are when it was just made.

    Args:
        kept: what `stored` says.
    """
    case = record_text.StoredCase(kept["case"], facts)
    frame = record_text.frame(kept)
    identity = hashlib.sha256(b'{"pass":' + stored + b',"policy":"')
    records = []
    for name, verdict in verdicts.items():
        own = identity.copy()
        own.update(name.encode() + b'"}')
        records.append(record_text.write(frame, case, verdict, f"sha256:{own.hexdigest()}"))
    return records


def _fired(plans: Mapping[str, Plan], entry: Mapping[str, Any]) -> Fired:
    plan = plans.get(entry["digest"])
    if plan is None:
        raise NotRenderable(f"policy {entry['digest']} is not at hand")
    if entry["fault"] is not None:
        return Fired(plan, b"", (), None, entry["fault"])
    return read(plan, entry["fired"])
