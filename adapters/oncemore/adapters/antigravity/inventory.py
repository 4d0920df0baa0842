"""What does one reading of a Session's conversations say of a Turn, whichever way it was read?"""

from __future__ import annotations

from oncemore.adapters.antigravity import conversation, facts, material
from oncemore.adapters.antigravity.facts import Seen
from oncemore.adapters.antigravity.material import Terms
from oncemore.engine.ports import Inventory, TurnView


def take(seen: Seen, turn: TurnView, terms: Terms, *, settled: bool) -> Inventory:
    """The inventory of what was seen; see `Runtime.inventory`.

    It is complete only where both readings agree and every native turn has a name. Where they do not agree, nothing is
    known of what the Turn did not do.

    Args:
        settled: whether nothing more can come of what was begun before. Each way of reading knows that differently.
    """
    one = seen.bound
    every = seen.invocations
    observed = conversation.observation(one, one.native in seen.cancelled) if one is not None else None
    return Inventory(
        readings=facts.readings(seen) | material.readings(seen, turn, terms),
        complete=seen.agree and settled and all(other.execution for other in every),
        turns=tuple(conversation.record(other, seen.cancelled) for other in every if other.execution),
        digest=seen.digest,
        observed_at=seen.observed_at,
        answer=one.final.response if one is not None and one.final is not None else None,
        observation=observed if observed is not None and observed.ended else None,
        only_reading=conversation.only_reading(one) if one is not None and seen.agree else None,
    )
