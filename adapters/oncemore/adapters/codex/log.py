"""What does a thread's log hold of one turn, and is it whole?

Codex appends one record a line to the log and numbers them from zero without a gap (`ordinal`). A turn begins with
`task_started` and ends with `task_complete` or `turn_aborted`, both under its id; every item that Codex lists of it is
there as an `item_completed`, for the list is made from the log. A log in which any of this is missing was cut or
changed: it may have lost a call, so nothing may be concluded from the calls that it does not hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncemore.adapters.codex.projection import Place

BENIGN_ITEMS = frozenset(
    {"userMessage", "agentMessage", "reasoning", "plan", "contextCompaction", "imageView", "sleep"}
)
"""Items that tell what was said or looked at, and change nothing."""

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

OUTPUT_TYPES = frozenset({"function_call_output", "custom_tool_call_output"})
"""Records of what a call gave back; each follows its call."""

STATE_RECORDS = frozenset({"session_meta", "turn_context", "world_state", "token_usage_record", "compacted"})
"""Records of what the model is told and what it costs. All but the last are in every log that was looked at, the
last in that of a thread that was compacted."""

SAID_RECORDS = frozenset({"message", "reasoning", "tool_search_output"}) | OUTPUT_TYPES
"""`response_item`s that call nothing. Messages are in every log; reasoning in those of models that show it; outputs
follow calls of functions, of freeform tools and of the search for tools."""

ENDS = frozenset({"task_complete", "turn_aborted"})
"""A turn's end: by itself or by a failure; by an interrupt or an orderly end of the process."""

EVENTS = frozenset({"task_started", "item_completed", "token_count", "thread_settings_applied"}) | ENDS
"""`event_msg`s that say nothing beside the items; all of them are in the log of any thread with an interrupt.
Retries, the naming of a thread and background commands that still run leave no event there."""


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


@dataclass(frozen=True, slots=True)
class Logged:
    """What the log holds of a turn.

    Attributes:
        calls: in order; as far as they could be read.
        problem: why there may have been more; None when the log holds the turn whole.
    """

    calls: tuple[Call, ...] = ()
    problem: str | None = None


def read_log(path: Path, thread_id: str, native: Mapping[str, Any], place: Place | None = None) -> Logged:
    """What a thread's log holds of a turn.

    Args:
        native: the turn as Codex lists it, with all its items.
        place: where Codex's own index says that the turn stands in the log; None when it does not say.
    """
    walk = _Walk(thread_id, str(native["id"]))
    try:
        with path.open("rb") as lines:
            for line in lines:
                walk.take(line)
    except OSError as error:
        return Logged((), f"the thread's log cannot be read: {error.strerror}")
    walk.compare(native.get("items", []), place)
    return Logged(tuple(walk.calls), walk.problem)


def unlisted(path: Path, thread_id: str, turns: Iterable[Mapping[str, Any]]) -> str | None:
    """What the log holds of a thread and Codex does not list, in words; None when it lists everything.

    A process that only reads lists from an index that may be behind the log after its writer was killed; the next
    process that loads the thread brings it up to date.
    """
    listed = {str(turn.get("id")): {str(item.get("id")) for item in turn.get("items", [])} for turn in turns}
    try:
        with path.open("rb") as lines:
            for line in lines:
                payload = (_record(line) or {"payload": {}})["payload"]
                event, turn_id, item = payload.get("type"), payload.get("turn_id"), payload.get("item")
                if event == "task_started" and turn_id not in listed:
                    return "the thread's log holds a turn that codex does not list yet"
                if event != "item_completed" or payload.get("thread_id") != thread_id or not isinstance(item, dict):
                    continue
                if str(item.get("id")) not in listed.get(str(turn_id), ()):
                    return "the thread's log holds an item that codex does not list yet"
    except OSError as error:
        return f"the thread's log cannot be read: {error.strerror}"
    return None


class _Walk:
    """One pass over a log; the first problem is kept, and calls are collected all the same."""

    def __init__(self, thread_id: str, turn_id: str) -> None:
        self._thread_id = thread_id
        self._turn_id = turn_id
        self._number = 0
        self._offset = 0
        self._current: object = None
        self._begin: int | None = None
        self._end: int | None = None
        self._items: dict[str, str] = {}
        self.calls: list[Call] = []
        self.problem: str | None = None

    def take(self, line: bytes) -> None:
        """Read the next line."""
        start, self._offset = self._offset, self._offset + len(line)
        number, self._number = self._number, self._number + 1
        record = _record(line)
        if record is None:
            self._wrong("the thread's log holds a line that is cut or is no record")
            return
        kind, payload = str(record.get("type")), record["payload"]
        if record.get("ordinal") != number:
            self._wrong(f"the thread's log lacks the record {number}")
        if number == 0 and (kind != "session_meta" or payload.get("id") != self._thread_id):
            self._wrong("the thread's log does not begin as one of this thread")
        if kind == "event_msg":
            self._mark(payload, start)
        if self._belongs(payload):
            self._understand(kind, payload)

    def _mark(self, payload: Mapping[str, Any], start: int) -> None:
        """Note where turns begin and end."""
        event = payload.get("type")
        if event == "task_started":
            self._current = payload.get("turn_id")
        if payload.get("turn_id") != self._turn_id:
            return
        if event == "task_started":
            if self._begin is not None:
                self._wrong("the thread's log holds the beginning of the turn twice")
            self._begin = start
        elif event in ENDS:
            if self._begin is None or self._end is not None:
                self._wrong("the thread's log holds an end of the turn in a wrong place")
            self._end = self._offset

    def _belongs(self, payload: Mapping[str, Any]) -> bool:
        """Whether a record is the turn's: it bears its id, or bears none, or stands between its beginning and end."""
        passed = payload.get("internal_chat_message_metadata_passthrough")
        named = payload.get("turn_id", passed.get("turn_id") if isinstance(passed, dict) else None)
        if named == self._turn_id:
            return True
        return self._current == self._turn_id and (named is None or self._end is None)

    def _understand(self, kind: str, payload: Mapping[str, Any]) -> None:
        name = str(payload.get("type"))
        if kind == "event_msg":
            if name not in EVENTS:
                self._wrong(f"the thread's log holds an event that is not known here: {name}")
            if name == "item_completed":
                self._complete(payload.get("item"))
        elif kind != "response_item":
            if kind not in STATE_RECORDS:
                self._wrong(f"the thread's log holds a record that is not known here: {kind}")
        elif name in CALL_TYPES or name.endswith("_call"):
            self.calls.append(_call(name, payload))
        elif name not in SAID_RECORDS:
            self._wrong(f"the thread's log holds a response that is not known here: {name}")
        elif name in OUTPUT_TYPES and payload.get("call_id") not in {call.call_id for call in self.calls}:
            self._wrong("the thread's log holds what a call gave back, but not the call")

    def _complete(self, item: object) -> None:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            self._wrong("the thread's log holds an item that is none")
            return
        kind = str(item["type"])
        self._items[str(item.get("id"))] = kind[:1].lower() + kind[1:]  # CommandExecution is listed as commandExecution

    def compare(self, items: list[Mapping[str, Any]], place: Place | None) -> None:
        """Hold what was read against what Codex lists and where it says that the turn stands."""
        if self._begin is None:
            self._wrong("the thread's log does not hold the beginning of the turn")
        if self._end is None:
            self._wrong("the thread's log does not hold the end of the turn")
        listed = {str(item.get("id")) for item in items}
        if not listed <= self._items.keys():
            self._wrong("the thread's log lacks an item that codex lists")
        if any(kind not in BENIGN_ITEMS and one not in listed for one, kind in self._items.items()):
            self._wrong("the thread's log holds an item that codex does not list")
        if place is not None and not place.fits(self._begin, self._end):
            self._wrong("the turn stands elsewhere in the thread's log than codex says")

    def _wrong(self, problem: str) -> None:
        self.problem = self.problem or problem


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("payload"), dict) else None


def _call(kind: str, payload: Mapping[str, Any]) -> Call:
    name = str(payload.get("name") or CALL_TYPES.get(kind) or kind)
    mcp = name.startswith("mcp__") or str(payload.get("namespace") or "").startswith("mcp__")
    sends = name == POLL_CALL and _characters(payload.get("arguments")) != ""
    harmless = not mcp and (name in HARMLESS_CALLS or (name == POLL_CALL and not sends))
    return Call(name, str(payload.get("call_id") or payload.get("id")), name in SHELL_CALLS or mcp or sends, harmless)


def _characters(arguments: object) -> object:
    try:
        decoded = json.loads(arguments) if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        return None
    return decoded.get("chars", "") if isinstance(decoded, dict) else None
