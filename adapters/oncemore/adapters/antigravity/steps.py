"""What is one step of an Antigravity conversation, and what do its words mean?

Both ways of reading Antigravity give steps in this form. Kinds, states and reasons are an open set: a word that is not
known here is kept, counted, and never taken for one that is. What the model thought is not read into a step at all.
The words are those of the program's own wire format, as public clients describe it; the numbers of kinds and states
that the harness stores were read off its store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from oncemore.adapters.antigravity.results import Result

KINDS: Mapping[int, str] = {
    5: "CODE_ACTION",
    7: "GREP_SEARCH",
    8: "VIEW_FILE",
    9: "LIST_DIRECTORY",
    14: "USER_INPUT",
    15: "PLANNER_RESPONSE",
    17: "ERROR_MESSAGE",
    21: "RUN_COMMAND",
    23: "CHECKPOINT",
    25: "FIND",
    33: "SEARCH_WEB",
    81: "TASK_BOUNDARY",
    82: "NOTIFY_USER",
    83: "CODE_ACKNOWLEDGEMENT",
    98: "CONVERSATION_HISTORY",
    101: "SYSTEM_MESSAGE",
    132: "GENERIC",
    138: "ASK_QUESTION",
}
"""Kinds by their stored number, where it is known."""

QUIET = frozenset(
    {
        "CHECKPOINT",
        "CODE_ACKNOWLEDGEMENT",
        "CONVERSATION_HISTORY",
        "EPHEMERAL_MESSAGE",
        "FINISH",
        "NOTIFY_USER",
        "SYSTEM_MESSAGE",
        "TASK_BOUNDARY",
    }
)
"""Book-keeping: it may stand behind a final answer and changes nothing."""

TALK = frozenset({"USER_INPUT", "PLANNER_RESPONSE", "ERROR_MESSAGE", "ASK_QUESTION"})
"""What people, the model and the program say."""

LOOKS = frozenset({"COMMAND_STATUS", "FIND", "GREP_SEARCH", "LIST_DIRECTORY", "VIEW_FILE", "WAIT"})
"""Calls of tools that change nothing."""

EFFECTS = frozenset({"CODE_ACTION", "MCP_TOOL", "RUN_COMMAND", "SEARCH_WEB"})
"""Calls of tools that may change something, or reach outside."""

OPAQUE = frozenset({"GENERIC"})
"""Known as a word; what stands behind it is not."""

KNOWN_KINDS = QUIET | TALK | LOOKS | EFFECTS | OPAQUE
TOOLS = LOOKS | EFFECTS | OPAQUE

STATES: Mapping[int, str] = {
    0: "UNSPECIFIED",
    1: "PENDING",
    2: "RUNNING",
    3: "DONE",
    4: "INVALID",
    5: "CLEARED",
    6: "CANCELED",
    7: "ERROR",
    8: "GENERATING",
    9: "WAITING",
    10: "HALTED",
    11: "QUEUED",
    12: "INTERRUPTED",
}
"""States by their stored number."""

ACTIVE = frozenset({"PENDING", "RUNNING", "GENERATING", "WAITING", "QUEUED"})
BROKEN = frozenset({"CANCELED", "ERROR", "INVALID", "CLEARED", "INTERRUPTED"})
"""States that prove neither that something happened nor that it did not."""

KNOWN_STATES = frozenset(STATES.values()) - {"UNSPECIFIED"}

RUNS: Mapping[str, Literal["idle", "active"]] = {
    "IDLE": "idle",
    "RUNNING": "active",
    "CANCELING": "active",
    "BUSY": "active",
}
"""What the run status of a conversation means; any other word is not known."""

STOPS: Mapping[int, str] = {2: "STOP_PATTERN"}
"""Stop reasons by their stored number, where it is known."""

NORMAL_STOPS = frozenset({"", "UNSPECIFIED", "STOP_PATTERN"})
"""Stop reasons of an answer that was said to its end. A cancelled or broken one ends DONE as well, with another."""

REASONS: Mapping[int, str] = {1: "ERROR", 2: "USER_CANCELED", 3: "MAX_INVOCATIONS", 4: "NO_TOOL_CALL"}
"""Reasons why an executor ended, by their stored number, where it is known."""

NORMAL_REASONS = frozenset({"NO_TOOL_CALL", "TERMINAL_STEP_TYPE"})
LIMIT_REASONS = frozenset({"MAX_INVOCATIONS", "MAX_FORCED_INVOCATIONS", "MAX_TOKEN_BUDGET_EXCEEDED"})


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        index: its place in the whole conversation, from zero.
        told_index: the place that the step itself tells; None when it tells none.
        kind, state: words without their prefix; empty where none is given.
        execution: the invocation that it belongs to; empty where none is given.
        created_at, completed_at: milliseconds since the epoch, the first rounded down and the second up.
        text: of a user's input; None where it bears none.
        tags: of a user's input.
        response: what the planner shows; empty where it bears none.
        calls: ids of the tool calls that the planner makes.
        call: the id of the tool call that this step carries out; empty where it is none.
        stop: the planner's stop reason, without its prefix.
        result: what its tool gave back, as far as that is still there; None where nothing is.
        failed: it is done and says itself that it failed (a command's exit code).
        waits_for: `approval`, `question`, or `unknown`; empty where it waits for nobody.
    """

    index: int
    kind: str
    state: str
    execution: str = ""
    told_index: int | None = None
    created_at: int | None = None
    completed_at: int | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()
    response: str = ""
    calls: tuple[str, ...] = ()
    call: str = ""
    stop: str = ""
    result: Result | None = None
    failed: bool = False
    waits_for: str = ""

    @property
    def active(self) -> bool:
        """It is not over, as far as its state says."""
        return self.state in ACTIVE

    @property
    def turned_down(self) -> bool:
        """It is what came of a call that was not carried out, such as one of a tool that was not given: an error in
        the place of the tool's own step. What was tried is not in it."""
        return self.kind == "ERROR_MESSAGE" and bool(self.call)

    @property
    def may_move(self) -> bool:
        """It is not provably over: it is active, halted, or in a state that is not known."""
        return self.active or self.state == "HALTED" or self.state not in KNOWN_STATES


@dataclass(frozen=True, slots=True)
class Executor:
    """The record of an executor that ended.

    Attributes:
        reason: without its prefix.
        last_step: the place of its last step.
        execution: the invocation, where the record tells it.
    """

    reason: str
    last_step: int
    execution: str = ""


def word(value: object, prefix: str, numbers: Mapping[int, str]) -> str:
    """A word of an enum without its prefix. A number that is not known stays a number; zero and absent are empty."""
    if value is None or value == 0 or isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return numbers.get(value, str(value))
    return str(value).removeprefix(prefix)
