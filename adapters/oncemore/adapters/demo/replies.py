"""What can a scripted model say, and how does that read on the wire of the Responses interface?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal, TypeAlias

FailKind: TypeAlias = Literal[
    "usage_limit",
    "quota",
    "rate429",
    "http500",
    "http502",
    "http503",
    "http401",
    "http400",
    "ctx",
    "sse_quota",
    "sse_rate",
    "server_error",
    "incomplete",
]


@dataclass(frozen=True, slots=True)
class Say:
    """An answer; without a tool call beside it, it ends the turn.

    Attributes:
        phase: `commentary`, `final_answer`, or None, which counts as final.
    """

    text: str
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Shell:
    """One command in the runtime's shell tool.

    Attributes:
        yield_ms: after so many milliseconds the tool answers though the command still runs.
    """

    command: str
    yield_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch, in the form that begins with `*** Begin Patch`."""

    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """One update of the runtime's plan: a call without an effect."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of any tool by name, offered or not."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Together:
    """Several messages and calls in one response."""

    parts: tuple[Say | Shell | Patch | Plan | Call, ...]


@dataclass(frozen=True, slots=True)
class Fail:
    """A failure of the provider, by HTTP status or inside the stream."""

    kind: FailKind


@dataclass(frozen=True, slots=True)
class Drop:
    """Half an answer, then the connection is reset."""

    text: str = "half an answer that is never finished"


@dataclass(frozen=True, slots=True)
class Eof:
    """Half an answer, then the stream closes as if all were said."""

    text: str = "half an answer that is never finished"


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing but comments that keep the stream alive, until released or until the client leaves.

    Attributes:
        release: set it to let the model go on.
        then: what it says then.
    """

    release: Event
    then: Say | Shell | Patch | Plan | Call | Together = field(default_factory=lambda: Say("released"))


Content: TypeAlias = Say | Shell | Patch | Plan | Call | Together
Reply: TypeAlias = Content | Fail | Drop | Eof | Hang
Script: TypeAlias = Reply | Sequence[Reply]
"""A reply, or the steps of a turn: the one at the number of tool results since the last user text, at most the last."""

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}

HTTP_FAILURES: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "usage_limit": (
        429,
        {"type": "usage_limit_reached", "code": "usage_limit_reached", "message": "The usage limit has been reached"},
    ),
    "quota": (429, {"type": "insufficient_quota", "code": "insufficient_quota", "message": "Quota exceeded."}),
    "rate429": (429, {"type": "rate_limit_exceeded", "code": "rate_limit_exceeded", "message": "Slow down."}),
    "http500": (500, {"type": "server_error", "message": "scripted internal error"}),
    "http502": (502, {"type": "bad_gateway", "message": "scripted: there is no way to the model"}),
    "http503": (503, {"type": "server_is_overloaded", "code": "server_is_overloaded", "message": "scripted overload"}),
    "http401": (401, {"type": "invalid_api_key", "message": "scripted bad key"}),
    "http400": (400, {"type": "invalid_request_error", "message": "scripted bad request"}),
}
"""By kind: status and the `error` of the body. Which class a runtime makes of each is the runtime's own affair."""

STREAM_FAILURES: Mapping[str, tuple[str, str]] = {
    "ctx": ("context_length_exceeded", "Your input exceeds the context window of this model."),
    "sse_quota": ("insufficient_quota", "Quota exceeded."),
    "sse_rate": ("rate_limit_exceeded", "Slow down."),
    "server_error": ("server_error", "scripted failure in the stream"),
}
"""By kind: code and message of a `response.failed` event."""


def step(script: Script, tool_results: int) -> Reply:
    """The reply that a script gives after so many tool results."""
    if isinstance(script, Sequence):
        return script[min(tool_results, len(script) - 1)]
    return script


def name(prefix: str, *seed: object) -> str:
    """An id that is the same for the same conversation."""
    return f"{prefix}_{hashlib.sha256(repr(seed).encode()).hexdigest()[:24]}"


def items(reply: Content, tools: frozenset[str], seed: str) -> list[dict[str, Any]]:
    """The output items of a reply."""
    parts = reply.parts if isinstance(reply, Together) else (reply,)
    return [_item(part, tools, f"{seed}/{index}") for index, part in enumerate(parts)]


def _item(part: Say | Shell | Patch | Plan | Call, tools: frozenset[str], seed: str) -> dict[str, Any]:
    match part:
        case Say(text, phase):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            message = {"type": "message", "id": name("msg", seed), "role": "assistant", "status": "completed"}
            return {**message, "content": content, **({"phase": phase} if phase else {})}
        case Shell(command, yield_ms):
            return _shell(command, yield_ms, tools, seed)
        case Patch(text) if "apply_patch" in tools:
            called = {"type": "custom_tool_call", "id": name("ctc", seed), "call_id": name("call", seed)}
            return {**called, "name": "apply_patch", "input": text}
        case Patch(text):
            return _shell(f"apply_patch <<'PATCH'\n{text}\nPATCH", 30_000, tools, seed)
        case Plan():
            steps = [{"step": "look", "status": "in_progress"}, {"step": "write", "status": "pending"}]
            return _call("update_plan", {"plan": steps}, seed)
        case Call(tool, arguments):
            return _call(tool, arguments, seed)


def _shell(command: str, yield_ms: int, tools: frozenset[str], seed: str) -> dict[str, Any]:
    if "shell_command" in tools and "exec_command" not in tools:
        return _call("shell_command", {"command": command}, seed)
    return _call("exec_command", {"cmd": command, "yield_time_ms": yield_ms}, seed)


def _call(tool: str, arguments: Mapping[str, Any], seed: str) -> dict[str, Any]:
    called = {"type": "function_call", "id": name("fc", seed), "call_id": name("call", seed)}
    return {**called, "name": tool, "arguments": json.dumps(arguments, sort_keys=True)}


def opening(seed: str) -> dict[str, Any]:
    """The first event of every stream."""
    response = {"id": name("resp", seed), "object": "response", "status": "in_progress"}
    return {"type": "response.created", "response": response}


def spoken(reply: Content, tools: frozenset[str], seed: str) -> Iterator[dict[str, Any]]:
    """The events of a reply that is said to its end."""
    output = items(reply, tools, seed)
    for index, item in enumerate(output):
        yield from _announced(index, item)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    done = {"id": name("resp", seed), "object": "response", "status": "completed", "output": output, "usage": USAGE}
    yield {"type": "response.completed", "response": done}


def half(text: str, seed: str) -> Iterator[dict[str, Any]]:
    """The events of an answer that is never finished."""
    item = _item(Say(text), frozenset(), seed)
    yield from _announced(0, item)


def _announced(index: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    started = {**item, "status": "in_progress", "content": []} if item["type"] == "message" else dict(item)
    yield {"type": "response.output_item.added", "output_index": index, "item": started}
    if item["type"] != "message":
        return
    text = item["content"][0]["text"]
    at = {"item_id": item["id"], "output_index": index, "content_index": 0}
    for part in filter(None, (text[: len(text) // 2], text[len(text) // 2 :])):
        yield {"type": "response.output_text.delta", **at, "delta": part}


def failed(kind: FailKind, seed: str) -> Iterator[dict[str, Any]]:
    """The events of a failure inside the stream."""
    response = {"id": name("resp", seed), "object": "response"}
    if kind != "incomplete":
        code, message = STREAM_FAILURES[kind]
        failure = {**response, "status": "failed", "error": {"code": code, "message": message}}
        yield {"type": "response.failed", "response": failure}
        return
    item = {**_item(Say("cut sho"), frozenset(), seed), "status": "incomplete"}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    reason = {"incomplete_details": {"reason": "max_output_tokens"}, "usage": USAGE}
    yield {"type": "response.incomplete", "response": {**response, "status": "incomplete", **reason}}
