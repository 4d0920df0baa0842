"""What would have to be otherwise for the policies of a decision to fire? Asked by every face."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncemore.engine.supposing import Supposed
    from oncemore.rules.case import Case
    from oncemore.rules.policy import Policy
    from oncemore.rules.ruleset import Plan

Texts = Mapping[str, Mapping[str, str]]
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Supposing:
    """A case, and the policies that decided on it by their digests."""

    case: Case
    policies: Mapping[str, Policy]

    def as_json(self, record: Record) -> dict[str, Any] | None:
        """The nearest change for the policy of a record; None when it fires."""
        from oncemore.engine.supposing import as_json

        supposed = self._supposed(record)
        return None if supposed is None else as_json(supposed)

    def told(self, record: Record, lang: str) -> str:
        """The same as a sentence; empty when it fires."""
        from oncemore.engine.supposing import told

        supposed = self._supposed(record)
        return "" if supposed is None else told(supposed, self.case, lang)  # type: ignore[arg-type]

    def _supposed(self, record: Record) -> Supposed | None:
        from oncemore.engine.evaluation import Evaluator
        from oncemore.engine.supposing import suppose

        if record["outcome"] == "fire":
            return None
        policy = self.policies[record["policy"]["digest"]]
        evaluator = Evaluator([policy])
        try:
            return suppose(evaluator, policy.name, self.case)
        finally:
            evaluator.close()


def of_pass(stored: bytes, plans: Iterable[Plan]) -> Supposing:
    """Of decisions that were made just now."""
    from oncemore.engine.stored_case import case_of

    return Supposing(case_of(stored), {plan.policy.digest: plan.policy for plan in plans})


def of_stored(stored: bytes, texts_of: Callable[[bytes], Texts]) -> Supposing:
    """Of decisions of the journal, with the policies of that day.

    Raises:
        OtherVocabulary: the case was told in facts that are not those of today.
    """
    from oncemore.engine.stored_case import case_of
    from oncemore.rules.loading import policy_from_texts

    case = case_of(stored)
    policies = {
        digest: policy_from_texts(next(file for file in texts if "/groups/" not in file), texts)
        for digest, texts in texts_of(stored).items()
        if all(file.endswith(".yaml") and "/" in file for file in texts)
    }
    return Supposing(case, policies)
