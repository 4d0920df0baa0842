"""What does an app-server do with one message? It asks the model, and stores and tells what comes."""

from __future__ import annotations

import json
import os
import time

from log import camel, messages, new_id, shown

TYPE_CHECKING = False
if TYPE_CHECKING:  # the import of typing is as long as all the others
    from io import BufferedReader

    from log import Told
    from server import Server, Thread

LIMIT = "You’ve hit your usage limit. Try again later."


class Turn:
    """One turn: the message, what the model says to it, and its end, each in the log before it is told."""

    def __init__(self, server: Server, thread: Thread, client_id: str, content: list[Told]) -> None:
        self.server, self.thread, self.id = server, thread, new_id()
        self.client_id, self.content = client_id, content
        self.started = int(time.time())
        self.answers: list[Told] = []
        self.over = False

    def told(self, **changes: object) -> Told:
        turn = {"id": self.id, "rootTurnId": self.id, "items": [], "itemsView": "notLoaded", "status": "inProgress"}
        return turn | {"error": None, "startedAt": self.started, "completedAt": None, **changes}

    def run(self) -> None:
        before = self.thread.log.records()
        if not before:
            self.thread.log.add(
                "session_meta", {"session_id": self.thread.id, "id": self.thread.id, "cwd": self.thread.cwd}
            )
        named = {"turn_id": self.id, "root_turn_id": self.id}
        self.thread.log.event("task_started", **named, started_at=self.started)
        self.thread.log.add("turn_context", {**named, "cwd": self.thread.cwd})
        self.thread.failed = False
        self.tell("thread/status/changed", status=self.thread.status)
        self.tell("turn/started", turn=self.told())
        said = [{"type": "input_text", "text": part["text"]} for part in self.content]
        passed = {"turn_id": self.id}
        message = {"type": "message", "role": "user", "content": said}
        self.thread.log.add("response_item", {**message, "internal_chat_message_metadata_passthrough": passed})
        self.complete({"type": "UserMessage", "id": new_id(), "client_id": self.client_id, "content": self.content})
        try:
            error = self.ask([*messages(before), message])
        except OSError as failure:
            error = failure_of("other", f"stream disconnected before completion: {failure}")
        self.end(error)

    def ask(self, messages: list[Told]) -> Told | None:
        """What the model says, told as it comes; the error with which that ended, if it did."""
        config = self.server.config()
        provider = config["model_providers"][config["model_provider"]]
        asked = {"model": config["model"], "instructions": "", "input": messages, "tools": [], "stream": True}
        url = provider["base_url"] + "/responses"
        status, reason, body = post(url, asked, os.environ.get(provider["env_key"], ""))
        with body:
            if status != 200:
                told = json.loads(body.read())["error"]
                if told.get("code") == "usage_limit_reached":
                    return failure_of("usage_limit_exceeded", LIMIT)
                kind = {"http_connection_failed": {"http_status_code": status}}
                return failure_of(kind, f"unexpected status {status} {reason}: {told['message']}, url: {url}")
            for line in body:
                if line.startswith(b"data: ") and self.take(json.loads(line[6:])):
                    return None
        return failure_of("other", "stream disconnected before completion: stream closed before response.completed")

    def take(self, event: Told) -> bool:
        """One event of the model's stream; whether it was the last."""
        item = event.get("item", {})
        if event["type"] == "response.output_item.added" and item["type"] == "message":
            self.tell("item/started", item=shown({"type": "AgentMessage", "id": item["id"], "content": []}))
        elif event["type"] == "response.output_text.delta":
            self.tell("item/agentMessage/delta", itemId=event["item_id"], delta=event["delta"])
        elif event["type"] == "response.output_item.done":
            if item["type"] != "message":
                raise OSError(f"not scripted: {item['type']}")
            said = [{"type": "Text", "text": part["text"]} for part in item["content"]]
            self.complete({"type": "AgentMessage", "id": item["id"], "content": said}, started=False)
            passed = {"turn_id": self.id}
            self.write("response_item", {**item, "internal_chat_message_metadata_passthrough": passed})
        return bool(event["type"] == "response.completed")

    def write(self, kind: str, payload: Told) -> None:
        """A record, unless the turn is over: nothing comes behind its end."""
        with self.thread.guard:
            if not self.over:
                self.thread.log.add(kind, payload)

    def complete(self, item: Told, started: bool = True) -> None:
        if started:
            self.tell("item/started", item=shown(item))
        told = {"type": "item_completed", "thread_id": self.thread.id, "turn_id": self.id, "item": item}
        self.write("event_msg", told)
        self.tell("item/completed", item=shown(item))
        if item["type"] == "AgentMessage":
            self.answers.append(shown(item))

    def end(self, error: Told | None = None, aborted: bool = False, told: bool = True) -> None:
        with self.thread.guard:
            if self.over:
                return
            self.over = True
            now = int(time.time())
            about = {"turn_id": self.id, "root_turn_id": self.id, "started_at": self.started, "completed_at": now}
            if aborted:
                self.thread.log.event("turn_aborted", **about, reason="interrupted")
            else:
                self.thread.log.event("task_complete", **about, **({"error": error} if error else {}))
            self.thread.turn, self.thread.failed = None, error is not None
        if not told:
            return
        status = "interrupted" if aborted else "failed" if error else "completed"
        self.tell("thread/status/changed", status=self.thread.status)
        if error:
            self.tell("error", error=camel(error), willRetry=False, turnId=self.id)
        ended: Told = {"status": status, "error": camel(error), "completedAt": now}
        if status == "completed" and self.answers:
            ended |= {"items": self.answers[-1:], "itemsView": "summary"}
        self.tell("turn/completed", turn=self.told(**ended))

    def tell(self, method: str, **params: object) -> None:
        turn = {"turnId": self.id} if method.startswith("item/") else {}
        self.server.tell(method, threadId=self.thread.id, **turn, **params)


def failure_of(kind: object, message: str) -> Told:
    """An error as the log has it."""
    return {"message": message, "codex_error_info": kind}


def post(url: str, content: Told, key: str) -> tuple[int, str, BufferedReader]:
    """Status, reason and the body still to be read."""
    import socket  # most of the processes only read, and never ask the model

    place, _, path = url.removeprefix("http://").partition("/")
    host, _, port = place.partition(":")
    data = json.dumps(content).encode()
    head = (
        f"POST /{path} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        body = connection.makefile("rb")
    _, status, reason = body.readline().decode().strip().split(" ", 2)
    while body.readline() not in (b"\r\n", b""):
        continue
    return int(status), reason, body
