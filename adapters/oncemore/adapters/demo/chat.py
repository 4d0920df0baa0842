"""How does the scripted model speak to a runtime that knows OpenAI's older chat interface?

`POST …/chat/completions`, streamed. The script, the book and everything else are those of the other dialect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from oncemore.adapters.demo.model import ModelRequest, ScriptedModel, _Handler
from oncemore.adapters.demo.replies import (
    HTTP_FAILURES,
    STREAM_FAILURES,
    Call,
    Content,
    Drop,
    Eof,
    Fail,
    Hang,
    Patch,
    Plan,
    Reply,
    Say,
    Script,
    Shell,
    Together,
    name,
)

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

_ASKED = re.compile(r"<USER_REQUEST>\n(.*?)\n</USER_REQUEST>", re.DOTALL)
"""Antigravity puts the user's text between these, with metadata of its own behind."""


class ChatModel(ScriptedModel):
    """The scripted model behind the chat interface; use it as a context manager."""

    def __init__(self, script: Callable[[ModelRequest], Script]) -> None:
        super().__init__(script)
        self._server.RequestHandlerClass = type("BoundChatHandler", (_ChatHandler,), {"model": self})


class _ChatHandler(_Handler):
    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self._body())
        if not self.path.partition("?")[0].endswith("/chat/completions"):
            self._json(404, {"error": {"message": "not here", "type": "invalid_request_error"}})
            return
        request = read_request(body)
        reply, seed = self.model.answer(request)
        try:
            self._chat(reply, seed)
        except OSError:
            self.close_connection = True

    def _chat(self, reply: Reply, seed: str) -> None:
        if isinstance(reply, Fail):
            self._refuse(reply)
            return
        self._begin_stream()
        self._chunks([_chunk(seed, {"role": "assistant", "content": ""})])
        match reply:
            case Drop(text):
                self._chunks([_chunk(seed, {"content": text})])
                self._reset()
            case Eof(text):
                self._chunks([_chunk(seed, {"content": text})])
            case Hang(release, then):
                if self._keep_alive(release):
                    self._chunks(spoken(then, seed))
                    self._end()
            case _:
                self._chunks(spoken(reply, seed))
                self._end()

    def _refuse(self, reply: Fail) -> None:
        if reply.kind in HTTP_FAILURES:
            status, error = HTTP_FAILURES[reply.kind]
            self._json(status, {"error": error})
            return
        code, message = STREAM_FAILURES.get(reply.kind, ("incomplete", "the answer was cut"))
        self._json(400, {"error": {"type": "invalid_request_error", "code": code, "message": message}})

    def _chunks(self, chunks: Iterator[Mapping[str, Any]] | list[Mapping[str, Any]]) -> None:
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"data: [DONE]\n\n")
        self.wfile.flush()


def read_request(body: Mapping[str, Any]) -> ModelRequest:
    """A request of the chat interface as a script sees it."""
    inputs: list[str] = []
    results: list[str] = []
    instructions = ""
    for message in body.get("messages", []):
        said = _text(message.get("content"))
        if message.get("role") == "system":
            instructions = instructions or said
        elif message.get("role") == "user" and (asked := _ASKED.findall(said) or ([] if "<" in said[:1] else [said])):
            inputs.append("\n".join(asked))
            results.clear()
        elif message.get("role") == "tool":
            results.append(said)
    tools = frozenset(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or [])
    return ModelRequest(tuple(inputs), tuple(results), tools, instructions)


def spoken(reply: Content, seed: str) -> Iterator[Mapping[str, Any]]:
    """The chunks of a reply that is said to its end."""
    parts = reply.parts if isinstance(reply, Together) else (reply,)
    calls = [part for part in parts if not isinstance(part, Say)]
    for part in parts:
        if isinstance(part, Say):
            half = len(part.text) // 2
            for text in filter(None, (part.text[:half], part.text[half:])):
                yield _chunk(seed, {"content": text})
    for place, part in enumerate(calls):
        yield _chunk(seed, {"tool_calls": [{"index": place, **_call(part, f"{seed}/{place}")}]})
    yield _chunk(seed, {}, "tool_calls" if calls else "stop")
    yield {**_chunk(seed, {}), "choices": [], "usage": USAGE}


def _call(part: Shell | Patch | Plan | Call, seed: str) -> dict[str, Any]:
    tool, arguments = _arguments(part)
    function = {"name": tool, "arguments": json.dumps(arguments, sort_keys=True)}
    return {"id": name("call", seed), "type": "function", "function": function}


def _arguments(part: Shell | Patch | Plan | Call) -> tuple[str, Mapping[str, Any]]:
    match part:
        case Call(tool, arguments):
            return tool, arguments
        case Shell(command, yield_ms):
            wait = {"WaitMsBeforeAsync": min(yield_ms, 10_000), "SafeToAutoRun": True}
            return "run_command", {"CommandLine": command, "Cwd": ".", **wait, **_SAID}
        case Patch(text):
            return "apply_patch", {"input": text}
        case Plan():
            return "update_plan", {}


_SAID = {"toolAction": "Running", "toolSummary": "A command"}


def _chunk(seed: str, delta: Mapping[str, Any], finish: str | None = None) -> Mapping[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    head = {"id": name("chatcmpl", seed), "object": "chat.completion.chunk", "created": 1_700_000_000}
    return {**head, "model": "scripted", "choices": [choice]}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
