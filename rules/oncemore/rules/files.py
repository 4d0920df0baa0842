"""What does an author write in a rule file?

Strict: no key beyond these, no value of another type. `loading` makes policies of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"

Name = Annotated[str, Field(pattern=NAME, description="Lower case letters, digits and hyphens; at most 64.")]
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Condition = Annotated[str, Field(min_length=1, description="A condition on facts, in the subset of CEL.")]

Age = Annotated[Any, WithJsonSchema({"type": "string"}, mode="validation")]
"""A duration; read by `cases`, which knows what to say of anything else."""

Consequence = Literal["deny", "hold", "wait"]

_GATE, _USE = "<gate>", "<use>"


class _Strict(BaseModel):
    # Built when first used: a decision needs but some of the forms.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Words(_Strict):
    """A sentence for people, in English and Chinese."""

    en: Text
    zh: Text | None = None

    def by_language(self) -> dict[str, str]:
        """The languages that are there."""
        return {"en": self.en} | ({"zh": self.zh} if self.zh is not None else {})


class GateEntry(_Strict):
    """One condition that must hold."""

    id: Name
    require: Condition
    otherwise: Consequence = Field(description="What happens when the condition is false.")
    unknown: Consequence = Field("wait", description="What happens when it cannot be told.")
    recheck: bool = Field(True, description="Judged again just before the action; false needs `because`.")
    because: Text | None = None
    why: Words


class UseEntry(_Strict):
    """Takes the gates of `groups/NAME.yaml`."""

    use: Name


def _kind(value: Any) -> str:
    """Which entry is meant; the tags cannot be keys, so that a place found by them is never a key's."""
    if isinstance(value, UseEntry) or (isinstance(value, dict) and "use" in value):
        return _USE
    return _GATE


Entry = Annotated[Annotated[GateEntry, Tag(_GATE)] | Annotated[UseEntry, Tag(_USE)], Discriminator(_kind)]


class Then(_Strict):
    """What follows when every gate passes."""

    action: Literal["continue_work", "review_answer", "retry_business", "settle_turn"]
    attempt: Literal["work", "review", "quota", "route"] | None = None
    material: Literal["none", "visible_response", "visible_results"] | None = None


class PolicyFile(_Strict):
    """`policies/NAME.yaml`."""

    policy: Name
    revision: Annotated[int, Field(ge=1, lt=2**31)]
    summary: Words
    when: Condition
    gates: Annotated[list[Entry], Field(min_length=1)]
    then: Then
    patience: Annotated[str, Field(description='For how long it may wait, such as "24h".')] | None = None


class GroupFile(_Strict):
    """`policies/groups/NAME.yaml`."""

    group: Name
    gates: Annotated[list[GateEntry], Field(min_length=1)]


class FloorFile(_Strict):
    """The engine's own floor: gates that hold whatever a policy says."""

    floor: Annotated[int, Field(ge=1)]
    every: list[GateEntry]
    actions: dict[str, list[GateEntry]]


class ExpectEntry(_Strict):
    """What a test says about the decision; at least one of these."""

    outcome: Literal["fire", "wait", "hold", "deny", "not_concerned"] | None = None
    blocked_by: list[str] | None = None
    unknown: list[str] | None = None
    until: str | None = None
    action: str | None = None


class CaseEntry(_Strict):
    """One case of a test file; its facts are laid over the file's `base`."""

    name: Text
    facts: dict[str, Any] = {}
    missing: list[str] = []
    stale: dict[str, Age] = {}
    conflict: list[str] = []
    waiting_since: str | int | None = None
    now: str | int | None = None
    expect: ExpectEntry


class TestsEntry(_Strict):
    """`policies/NAME_test.yaml`."""

    policy: Name
    base: dict[str, Any] = {}
    cases: list[CaseEntry]


class FactsEntry(_Strict):
    """A facts file: one case."""

    now: str | int | None = None
    facts: dict[str, Any] = {}
    missing: list[str] = []
    stale: dict[str, Age] = {}
    conflict: list[str] = []
    waiting_since: str | int | None = None


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
