"""What was read of one conversation, and which part of it is one native turn?

A native turn is an invocation: the steps from a user's input to the next input that did not come into the same
invocation. Its id is the invocation's execution id. Our own inputs are known by their client ids.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from oncemore.adapters.antigravity.steps import (
    BROKEN,
    EFFECTS,
    KNOWN_KINDS,
    LIMIT_REASONS,
    LOOKS,
    NORMAL_REASONS,
    NORMAL_STOPS,
    OPAQUE,
    QUIET,
    RUNS,
    TALK,
    TOOLS,
    Executor,
    Step,
)
from oncemore.engine.ports import NativeRecord, NativeStatus, NativeTurn, Observation


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, read completely and twice, or as far as that went.

    Attributes:
        thread_id: the cascade id.
        run: the run status without its prefix, the same in both readings; empty where it was not told or changed.
        steps, executors: as read last.
        client_ids: by the index of an input, the client id that it came under; an input without one is absent.
        complete: in both readings every step was read.
        agree: both are complete and equal.
        answered: the runtime could be asked at all.
        abandoned: provably no process works on it any more, so what is under way in it never ends.
        commands: how many commands of it live; None where that is not told.
        lingering: one may live of which no step tells.
        problem: why not.
        digest: SHA-256 of the content.
    """

    thread_id: str
    run: str = ""
    steps: tuple[Step, ...] = ()
    executors: tuple[Executor, ...] = ()
    client_ids: Mapping[int, str] | None = None
    complete: bool = False
    agree: bool = False
    answered: bool = True
    abandoned: bool = False
    commands: int | None = None
    lingering: bool = False
    problem: str | None = None
    digest: str = ""

    @property
    def run_state(self) -> str | None:
        """`idle`, `active`, or None where the status is no known word."""
        return RUNS.get(self.run)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One native turn within its conversation.

    Attributes:
        execution: empty where no step tells it yet.
        last: nothing but it comes after its input.
        executor: the record of its end; None where there is none.
    """

    conversation: Conversation
    steps: tuple[Step, ...]
    execution: str
    last: bool
    executor: Executor | None

    @property
    def native(self) -> NativeTurn:
        """Its identity."""
        return NativeTurn(self.conversation.thread_id, self.execution)

    @property
    def inputs(self) -> tuple[Step, ...]:
        """The user's inputs in it."""
        return tuple(step for step in self.steps if step.kind == "USER_INPUT")

    @property
    def client_ids(self) -> tuple[str | None, ...]:
        """Of its inputs in order."""
        told = self.conversation.client_ids or {}
        return tuple(told.get(step.index) for step in self.inputs)

    @property
    def final(self) -> Step | None:
        """Its final answer: said to its end, without a tool call, with nothing but book-keeping behind it."""
        behind = len(self.steps)
        while behind and self.steps[behind - 1].kind in QUIET:
            behind -= 1
        answer = self.steps[behind - 1] if behind else None
        if answer is None or answer.kind != "PLANNER_RESPONSE" or answer.state != "DONE":
            return None
        if not answer.response or answer.calls or answer.stop not in NORMAL_STOPS:
            return None
        if self.executor is not None and self.executor.reason not in NORMAL_REASONS:
            return None
        return answer

    @property
    def at_rest(self) -> bool:
        """Both readings agree, the conversation is idle, and no step of this invocation can still move."""
        read = self.conversation
        return read.agree and read.run_state == "idle" and (read.abandoned or not self.may_move)

    @property
    def may_move(self) -> bool:
        """Some step is not provably over."""
        return any(step.may_move for step in self.steps)

    @property
    def foreign_steps(self) -> bool:
        """Some step tells another execution than the input's."""
        return any(step.execution not in ("", self.execution) for step in self.steps)

    @property
    def tool_calls(self) -> int:
        """Tool calls that were made, and steps that carry out one which no planner's step shows."""
        made = {call for step in self.steps for call in step.calls}
        return len(made) + sum(step.kind in TOOLS and step.call not in made for step in self.steps)


def invocations(conversation: Conversation) -> list[Invocation]:
    """The native turns of a conversation, oldest first. Steps before the first input belong to none."""
    steps = conversation.steps
    starts = [place for place, step in enumerate(steps) if _begins(steps, place)]
    ends = [*starts[1:], len(steps)]
    return [
        _invocation(conversation, steps[start:end], end == len(steps)) for start, end in zip(starts, ends, strict=False)
    ]


def _begins(steps: Sequence[Step], place: int) -> bool:
    step = steps[place]
    if step.kind != "USER_INPUT":
        return False
    return place == 0 or not step.execution or steps[place - 1].execution != step.execution


def _invocation(conversation: Conversation, steps: tuple[Step, ...], last: bool) -> Invocation:
    execution = next((step.execution for step in steps if step.execution), "")
    within = range(steps[0].index, steps[-1].index + 1)
    own = [
        executor
        for executor in conversation.executors
        if executor.last_step in within and executor.execution in ("", execution)
    ]
    return Invocation(conversation, steps, execution, last, own[-1] if own else None)


def bound(found: Sequence[Invocation], client_id: str, native: NativeTurn | None) -> Invocation | None:
    """The invocation of a Turn: the only one with an input under its client id, else the recorded one."""
    same = [one for one in found if client_id in one.client_ids]
    if not same and native is not None:
        same = [one for one in found if one.native == native]
    return same[0] if len(same) == 1 else None


def observation(one: Invocation, cancelled: bool) -> Observation:
    """What the invocation does.

    An end is told for a final answer, for an executor that ended without one, and for a turn that we cancelled
    ourselves or that its process left behind. Steps that were cancelled otherwise are told as what they are: whether
    that ends the Turn is for a policy to say.
    """
    deltas = any(step.response for step in one.steps)
    status = status_of(one, cancelled)
    if status == "completed" and one.final is not None:
        return Observation(status, True, one.final.response, "none", deltas, ended_at(one))
    if status == "failed":
        limit = one.executor is not None and one.executor.reason in LIMIT_REASONS
        return Observation(status, True, None, "other" if limit else "runtime_error", deltas, ended_at(one))
    if status == "interrupted" and (cancelled or _left(one)):
        return Observation(status, True, None, "none", deltas, ended_at(one))
    return Observation("in_progress", False, None, "none", deltas)


def status_of(one: Invocation, cancelled: bool = False) -> NativeStatus | None:
    """How it ended, or `in_progress`; None where it is over and nothing says how."""
    over = not one.last and one.conversation.agree and not one.may_move
    if not one.at_rest and not over:
        return "in_progress" if one.conversation.run_state == "active" or one.may_move else None
    reason = one.executor.reason if one.executor is not None else ""
    if reason == "ERROR" or reason in LIMIT_REASONS:
        return "failed"
    if one.final is not None:
        return "completed"
    if reason in NORMAL_REASONS and one.steps[-1].state != "CANCELED":
        return "failed"  # it went to its end, and what it left there is no answer
    return "interrupted" if cancelled or reason == "USER_CANCELED" or _left(one) else None


def _left(one: Invocation) -> bool:
    """It was under way when its process ended: no end of it is recorded, and none will be."""
    return one.conversation.abandoned and one.executor is None


def with_commands(read: Conversation, living: int | None, over: Collection[NativeTurn]) -> Conversation:
    """The conversation with the number of its commands that live, as the kernel counts them; None where it does not.

    While one lives, a command whose step says that it broke off may be that one: the step is taken for under way. Not
    so in a turn whose commands are known to be over.
    """
    if not living:
        return replace(read, commands=living, lingering=living is None)
    proven = {step.index for one in invocations(read) if one.native in over for step in one.steps}
    steps = tuple(
        replace(step, state="RUNNING")
        if step.kind == "RUN_COMMAND" and step.state in BROKEN and step.index not in proven
        else step
        for step in read.steps
    )
    return replace(read, steps=steps, commands=living, lingering=True)


def ended_at(one: Invocation) -> int | None:
    """When its last step was completed, as the runtime recorded it."""
    return one.steps[-1].completed_at


def record(one: Invocation, cancelled: Collection[NativeTurn]) -> NativeRecord:
    """The invocation in an inventory."""
    status = status_of(one, one.native in cancelled)
    return NativeRecord(one.native, one.client_ids, status or "in_progress", ended_at(one) if status else None)


def effects(one: Invocation) -> tuple[str | None, str]:
    """The value of `native.effects`, None where it is not known, and the steps that it is taken from."""
    acted = [step for step in one.steps if step.kind in EFFECTS]
    told = ", ".join(f"{step.kind} {step.state}" for step in acted)
    if any(step.active for step in acted):
        return (None if one.conversation.abandoned else "active"), told
    unproven = any(
        step.state in BROKEN or step.kind in OPAQUE or step.kind not in KNOWN_KINDS or step.turned_down
        for step in one.steps
    )
    calls = {call for step in one.steps for call in step.calls}
    if unproven or one.may_move or not calls <= {step.call for step in one.steps}:
        return None, told
    if acted and one.conversation.lingering:
        return None, f"{told}; a command of the conversation may live on"
    if any(step.failed for step in acted):
        return "failed", told
    return ("settled" if acted else "none"), told


def only_reading(one: Invocation) -> bool | None:
    """Whether the invocation did nothing but look; None while it may move, or where a call of it has no step or was
    turned down: it may have tried to do more."""
    if any(step.kind in EFFECTS for step in one.steps):
        return False
    calls = {call for step in one.steps for call in step.calls}
    harmless = all(step.kind in LOOKS | TALK | QUIET and not step.turned_down for step in one.steps)
    if one.may_move or not harmless or not calls <= {step.call for step in one.steps}:
        return None
    return True
