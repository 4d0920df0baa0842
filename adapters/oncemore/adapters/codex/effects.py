"""What may a turn have done? Its items say, and the calls in the thread's log, because items leave some out.

A command that the sandbox denied has no item at all; only the log has its call. A command that still runs in the
background has none until it ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oncemore.engine.errors import Unreadable

BENIGN_ITEMS = frozenset(
    {"userMessage", "agentMessage", "reasoning", "plan", "contextCompaction", "imageView", "sleep"}
)
"""Items that tell what was said or looked at, and change nothing."""

EFFECT_ITEMS = frozenset({"commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall"})
"""Items with a status of their own that may have changed something."""

BARE_EFFECT_ITEMS = frozenset({"webSearch", "imageGeneration"})
"""Items that reached outside and bear no status; they are listed once they are done."""

KNOWN_ITEMS = BENIGN_ITEMS | EFFECT_ITEMS | BARE_EFFECT_ITEMS

SHELL_CALLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec", "apply_patch"})
"""Calls that must have an item; one without was denied or never ended."""

HARMLESS_CALLS = frozenset({"update_plan", "view_image", "get_goal"})
"""Calls that change nothing outside the conversation."""

POLL_CALL = "write_stdin"
"""Waits for a running command; it is a command itself only when it sends characters."""

CALL_TYPES: Mapping[str, str | None] = {
    "function_call": None,
    "custom_tool_call": None,
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
    "tool_search_call": "tool_search",
}
"""Records of calls in the log, and the name of those that bear none."""

Effects = Literal["none", "settled", "active", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in the log.

    Attributes:
        call_id: the id of its item, where it has one.
        command: it must have an item (shell, patch, MCP).
        harmless: it changes nothing, whether or not it has an item.
    """

    name: str
    call_id: str
    command: bool
    harmless: bool


def calls(rollout: Path, turn_id: str) -> tuple[Call, ...]:
    """The tool calls that a thread's log holds for a turn.

    Raises:
        Unreadable: the log is missing, cut, or holds a line that is none.
    """
    found: list[Call] = []
    current = ""
    try:
        with rollout.open("rb") as lines:
            for line in lines:
                record = _record(rollout, line)
                payload = record.get("payload")
                if not isinstance(payload, dict):
                    continue
                if record.get("type") == "event_msg" and payload.get("type") == "task_started":
                    current = str(payload.get("turn_id", ""))
                if record.get("type") == "response_item" and _turn_of(payload, current) == turn_id:
                    found += _call(payload)
    except OSError as error:
        raise Unreadable(f"the log {rollout} cannot be read: {error.strerror}") from error
    return tuple(found)


def judge(items: Iterable[Mapping[str, Any]], made: Iterable[Call] | None, running: Collection[str]) -> Effects:
    """The value of `native.effects`.

    Args:
        made: the calls in the log; None when it could not be read.
        running: item ids of commands that run in the background now.
    """
    told = [item for item in items if item["type"] not in BENIGN_ITEMS]
    with_item = {str(item.get("id")) for item in told}
    marks = {_item_mark(item) for item in told}
    for call in made or ():
        if call.call_id in running:
            marks.add("active")
        elif call.call_id not in with_item and not call.harmless:
            marks.add("failed" if call.command else "unknown")
    if made is None:
        marks.add("unknown")
    order: tuple[Effects, ...] = ("active", "failed", "unknown", "settled")
    return next((mark for mark in order if mark in marks), "none")


def _item_mark(item: Mapping[str, Any]) -> Effects:
    if item["type"] in BARE_EFFECT_ITEMS:
        return "settled"
    if item["type"] not in EFFECT_ITEMS:
        return "unknown"
    marks: Mapping[object, Effects] = {
        "inProgress": "active",
        "completed": "settled",
        "failed": "failed",
        "declined": "failed",
    }
    return marks.get(item.get("status"), "unknown")


def _record(rollout: Path, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise Unreadable(f"the log {rollout} holds a line that is cut or is no record")
    return record


def _turn_of(payload: Mapping[str, Any], current: str) -> str:
    passed = payload.get("internal_chat_message_metadata_passthrough")
    named = passed.get("turn_id") if isinstance(passed, dict) else None
    return named if isinstance(named, str) else current


def _call(payload: Mapping[str, Any]) -> list[Call]:
    kind = str(payload.get("type", ""))
    if kind not in CALL_TYPES and not kind.endswith("_call"):
        return []
    name = str(payload.get("name") or CALL_TYPES.get(kind) or kind)
    mcp = name.startswith("mcp__") or str(payload.get("namespace") or "").startswith("mcp__")
    sends = name == POLL_CALL and _characters(payload.get("arguments")) != ""
    harmless = not mcp and (name in HARMLESS_CALLS or (name == POLL_CALL and not sends))
    return [Call(name, str(payload.get("call_id") or payload.get("id")), name in SHELL_CALLS or mcp or sends, harmless)]


def _characters(arguments: object) -> object:
    try:
        decoded = json.loads(arguments) if isinstance(arguments, str) else None
    except ValueError:
        return None
    return decoded.get("chars", "") if isinstance(decoded, dict) else None
