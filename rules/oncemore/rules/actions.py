"""What may follow from a policy, and which try does it spend?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the executor can do.

    Attributes:
        attempts: the kinds of try that it may spend; empty when it spends none.
        parameters: further words that `then` must give, each with its values.
        starts_model: the floor for model starts applies.
    """

    name: str
    meaning: str
    attempts: tuple[str, ...] = ()
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    starts_model: bool = True


MATERIALS = ("none", "visible_response", "visible_results")

ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        action.name: action
        for action in (
            Action("continue_work", "Goes on, once, with work that a Turn reported as unfinished.", ("work",)),
            Action(
                "review_answer",
                "Writes an answer, once, from what may be seen of the interrupted one, and does nothing else.",
                ("review",),
                {"material": MATERIALS},
            ),
            Action(
                "retry_business", "Runs the same message again, which nothing was done for yet.", ("quota", "route")
            ),
            Action(
                "settle_turn",
                "Ends the record of a Turn whose cancelling the runtime has finished.",
                starts_model=False,
            ),
        )
    }
)
