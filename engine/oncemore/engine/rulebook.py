"""Which policies are in force in this process?

They are compiled and tried in another process before they are used; a decision names the digest it was made by, and
their texts are kept beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from oncemore.engine.decision import Pass, Stage, decide
from oncemore.engine.errors import Conflict
from oncemore.engine.evaluation import Evaluator
from oncemore.engine.observing import SILENT, Observer, watched
from oncemore.engine.records import judged_by
from oncemore.engine.smoke import publish
from oncemore.rules.case import Case
from oncemore.rules.loading import PolicySet
from oncemore.rules.policy import Policy


class Rulebook:
    """A published set of policies.

    Args:
        policies: what loaded.

    Attributes:
        observer: learns of every decision.
        trouble: why a newer content of the folder that they come from is not in force; None when there is none.

    Raises:
        PolicyRefused: a policy is beyond the engine.
        EngineUnavailable: durable-rules cannot be loaded.
    """

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies
        self._evaluator: Evaluator = publish(policies)
        self.observer: Observer = SILENT
        self.trouble: str | None = None

    @property
    def published(self) -> PolicySet:
        """What was published."""
        return self._policies

    @property
    def names(self) -> tuple[str, ...]:
        """The policies' names, sorted."""
        return tuple(policy.name for policy in self._policies.policies)

    @property
    def digest(self) -> str:
        """`sha256:` over the names and digests of all policies."""
        return self._policies.digest

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies themselves, sorted by name."""
        return tuple(self._policies.policies)

    @property
    def bundles(self) -> Mapping[str, str]:
        """The texts that a decision is made by, as JSON by digest: each policy's, the floor's and the vocabulary's."""
        texts = {policy.digest: dict(policy.texts) for policy in self._policies.policies} | judged_by()
        return {digest: json.dumps(files, sort_keys=True, ensure_ascii=False) for digest, files in texts.items()}

    def decide(self, case: Case, *, stage: Stage, request: str, levels: Mapping[str, str]) -> Pass:
        """Judge facts that were read back, by all policies at their levels."""

        def judge() -> Pass:
            return decide(self._evaluator, case, stage=stage, origin="read_back", request=request, levels=levels)

        return watched(self.observer, case, judge, evidence=True, request=request, stage=stage)

    def ask(self, case: Case, *, levels: Mapping[str, str] | None = None, only: str | None = None) -> Pass:
        """Judge facts that somebody posted; nothing that acts ever takes such a pass.

        Args:
            levels: by policy; None lets all compete.
            only: this policy alone, without competition.

        Raises:
            KeyError: `only` names no policy.
        """

        def judge() -> Pass:
            return decide(self._evaluator, case, stage="asked", origin="posted", levels=levels, only=only)

        return watched(self.observer, case, judge, evidence=False, stage="asked")

    def action(self, policy: str) -> str | None:
        """What the policy does; None when there is no such policy."""
        found = self._policies.get(policy)
        return None if found is None else found.action

    def material(self, policy: str) -> str:
        """Which material a review policy hands over: `none`, `visible_response` or `visible_results`."""
        found = self._policies.get(policy)
        return "none" if found is None else found.parameters.get("material", "none")

    def patience(self, policy: str) -> int | None:
        """For how long the policy may wait, milliseconds; None for ever, and for a policy that is no longer there."""
        found = self._policies.get(policy)
        return None if found is None else found.patience

    def attempt(self, policy: str) -> str:
        """The kind of Attempt that the policy spends.

        Raises:
            Conflict: there is no such policy, or it spends none.
        """
        found = self._policies.get(policy)
        if found is None or found.attempt is None:
            raise Conflict(f"the policy {policy} spends no Attempt")
        return found.attempt
