"""What is a policy, once its file is read and found good?

These are the loaded forms that evaluation, explanation and tests share; `files` describes what an author writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oncemore.rules.expression import Expression
from oncemore.rules.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Gate:
    """One named condition, with what happens otherwise.

    Attributes:
        text: the expression as the author wrote it, white space folded.
        otherwise: the outcome when the condition is false: deny, hold or wait.
        unknown: the outcome when it is unknown; wait unless the author says hold or deny.
        recheck: judged again just before dispatch; false needs a reason in the file.
        why: one sentence for people, by language.
        at: `policies/NAME.yaml:LINE:COLUMN` of the expression, into the group's file for a group's gate.
        group: the group it came from.
        floor: a gate of the engine's own floor, which a policy cannot remove.
    """

    id: str
    condition: Expression
    text: str
    otherwise: Outcome
    why: Mapping[str, str]
    at: str
    unknown: Outcome = Outcome.WAIT
    recheck: bool = True
    group: str | None = None
    floor: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule file that loads.

    Attributes:
        action: `continue_work`, `review_answer`, `retry_business` or `settle_turn`.
        attempt: the kind of Attempt it spends: work, review, quota, route; None for `settle_turn`.
        parameters: further words of `then`, such as `material`.
        patience: for how long it may wait, milliseconds; None for ever.
        digest: `sha256:` of the policy's and its groups' texts.
        texts: the texts themselves by file name as in `Gate.at`, so that a decision can be rendered again later.
        file: the policy's own name in `texts`.
    """

    name: str
    revision: int
    summary: Mapping[str, str]
    when: Expression
    when_text: str
    when_at: str
    gates: tuple[Gate, ...]
    action: str
    attempt: str | None
    patience: int | None
    digest: str
    file: str
    texts: Mapping[str, str]
    parameters: Mapping[str, str] = field(default_factory=dict)
