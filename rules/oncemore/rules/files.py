"""What does an author write in a rule file?

Strict: no key beyond these, no value of another type. `loading` makes policies of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"

Name = Annotated[str, Field(pattern=NAME)]
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Condition = Annotated[str, Field(min_length=1)]

Age = Annotated[Any, WithJsonSchema({"type": "string"}, mode="validation")]
"""A duration; read by `cases`, which knows what to say of anything else."""

Consequence = Literal["deny", "hold", "wait"]

_GATE, _USE = "<gate>", "<use>"

_FACTS = "Values by fact; `unknown` means that the supplier itself said so."
_MISSING = "Facts that nobody supplied."
_STALE = "How old the evidence of a fact is; its value stands under `facts` or in the base."
_CONFLICT = "Facts about which two readings disagree."
_WAITING = "Since when the case has waited; `now` unless said."


class _Strict(BaseModel):
    # Built when first used: a decision needs but some of the forms.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Words(_Strict):
    """A sentence for people, in English and Chinese."""

    en: Text = Field(description="The sentence in English.")
    zh: Text | None = Field(None, description="The same sentence in Chinese.")

    def by_language(self) -> dict[str, str]:
        """The languages that are there."""
        return {"en": self.en} | ({"zh": self.zh} if self.zh is not None else {})


class GateEntry(_Strict):
    """One condition that must hold."""

    id: Name = Field(description="The gate's name: a-z, 0-9 and hyphens; once per policy, its groups included.")
    require: Condition = Field(description="What must hold: a condition on facts, in the subset of CEL.")
    otherwise: Consequence = Field(description="What happens when the condition is false.")
    unknown: Consequence = Field("wait", description="What happens when it cannot be told.")
    recheck: bool = Field(True, description="Judged again just before the action; false needs `because`.")
    because: Text | None = Field(None, description="Why the gate need not be judged again before the action.")
    why: Words = Field(description="For people: what is the matter when the gate does not pass.")


class UseEntry(_Strict):
    """Takes the gates of `groups/NAME.yaml`."""

    use: Name = Field(description="The group: the name of its file in `groups/`, without `.yaml`.")


def _kind(value: Any) -> str:
    """Which entry is meant; the tags cannot be keys, so that a place found by them is never a key's."""
    if isinstance(value, UseEntry) or (isinstance(value, dict) and "use" in value):
        return _USE
    return _GATE


Entry = Annotated[Annotated[GateEntry, Tag(_GATE)] | Annotated[UseEntry, Tag(_USE)], Discriminator(_kind)]


class Then(_Strict):
    """What follows when every gate passes."""

    action: Literal["continue_work", "review_answer", "retry_business", "settle_turn"] = Field(
        description="What is done, once."
    )
    attempt: Literal["work", "review", "quota", "route"] | None = Field(
        None, description="The kind of try that it spends; `settle_turn` spends none."
    )
    material: Literal["none", "visible_response", "visible_results"] | None = Field(
        None, description="What a review may see of the interrupted answer; for `review_answer` alone."
    )


class PolicyFile(_Strict):
    """`policies/NAME.yaml`."""

    policy: Name = Field(description="The policy's name: a-z, 0-9 and hyphens; at most 64.")
    revision: int = Field(ge=1, lt=2**31, description="A whole number, raised with each change of meaning.")
    summary: Words = Field(description="What the policy does, in one sentence.")
    when: Condition = Field(description="Whom it concerns; names only facts that our own records supply.")
    gates: list[Entry] = Field(min_length=1, description="What must hold, all of it: gates, and groups of gates.")
    then: Then = Field(description="What is done when every gate passes, and the try that it spends.")
    patience: str | None = Field(
        None, description='For how long a case may wait before a person is shown it, such as "24h"; else for ever.'
    )


class GroupFile(_Strict):
    """`policies/groups/NAME.yaml`."""

    group: Name = Field(description="The group's name, which is its file's name without `.yaml`.")
    gates: list[GateEntry] = Field(min_length=1, description="The gates that every policy takes which uses the group.")


class FloorFile(_Strict):
    """The engine's own floor: gates that hold whatever a policy says."""

    floor: Annotated[int, Field(ge=1)]
    every: list[GateEntry]
    actions: dict[str, list[GateEntry]]


class ExpectEntry(_Strict):
    """What a test says about the decision; at least one of these."""

    outcome: Literal["fire", "wait", "hold", "deny", "not_concerned"] | None = Field(
        None, description="The policy's answer."
    )
    blocked_by: list[str] | None = Field(None, description="Exactly the gates that are false.")
    unknown: list[str] | None = Field(None, description="Exactly the gates that are unknown.")
    until: str | None = Field(
        None, description="When it is looked at again: a duration from `now`, or a moment; empty for none."
    )
    action: str | None = Field(None, description="What would be done; empty for none.")


class CaseEntry(_Strict):
    """One case of a test file; its facts are laid over the file's `base`."""

    name: Text = Field(description="A sentence, once per file.")
    facts: dict[str, Any] = Field({}, description=_FACTS)
    missing: list[str] = Field([], description=_MISSING)
    stale: dict[str, Age] = Field({}, description=_STALE)
    conflict: list[str] = Field([], description=_CONFLICT)
    waiting_since: str | int | None = Field(None, description=_WAITING)
    now: str | int | None = Field(None, description="The moment of the case; 2026-01-01T00:00:00Z unless said.")
    expect: ExpectEntry = Field(description="What the case says about the decision; at least one key.")


class TestsEntry(_Strict):
    """`policies/NAME_test.yaml`."""

    policy: Name = Field(description="The policy that is tested.")
    base: dict[str, Any] = Field({}, description="The facts that every case begins with.")
    cases: list[CaseEntry] = Field(description="One case each; what neither it nor the base names is missing.")


class FactsEntry(_Strict):
    """A facts file: one case."""

    now: str | int | None = Field(None, description="The moment of the case; the clock's unless said.")
    facts: dict[str, Any] = Field({}, description=_FACTS)
    missing: list[str] = Field([], description=_MISSING)
    stale: dict[str, Age] = Field({}, description=_STALE)
    conflict: list[str] = Field([], description=_CONFLICT)
    waiting_since: str | int | None = Field(None, description=_WAITING)


PARTS: Mapping[str, type[BaseModel]] = {
    _GATE: GateEntry,
    _USE: UseEntry,
    "gates": GateEntry,
    "every": GateEntry,
    "why": Words,
    "summary": Words,
    "then": Then,
    "cases": CaseEntry,
    "expect": ExpectEntry,
}
"""The models by the key, or the label, under which they stand."""

EXAMPLES: Mapping[str, str] = {
    "policy": "policy: NAME",
    "group": "group: NAME",
    "revision": "revision: 1",
    "summary": "summary: {en: A sentence., zh: 一句话。}",
    "when": 'when: turn.status == "completed"',
    "gates": "gates: with a list below it, whose elements begin with `- id: NAME`",
    "then": "then: {action: continue_work, attempt: work}",
    "action": "action: continue_work",
    "id": "id: NAME",
    "use": "use: NAME",
    "require": 'require: source.state == "unchanged"',
    "otherwise": "otherwise: wait, or hold, or deny",
    "recheck": "recheck: false",
    "why": "why: {en: A sentence., zh: 一句话。}",
    "en": "en: A sentence.",
    "zh": "zh: 一句话。",
    "base": "base: with facts below it, such as `turn.status: completed`",
    "cases": "cases: with a list below it, whose elements begin with `- name: A SENTENCE`",
    "name": "name: A SENTENCE",
    "expect": "expect: {outcome: wait}",
    "facts": "facts: with facts below it, such as `turn.status: completed`",
    "missing": "missing: [turn.status]",
    "conflict": "conflict: [turn.status]",
    "stale": "stale: {turn.status: 90s}",
    "blocked_by": "blocked_by: [NAME]",
    "now": "now: 2026-11-30T12:00:00Z",
    "waiting_since": "waiting_since: 2026-11-30T12:00:00Z",
}
"""How a key is written, for those who left it out or gave it something else."""
