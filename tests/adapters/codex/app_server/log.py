"""What is in a thread's log, and how does an app-server tell it?"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # the import of typing is as long as all the others
    from typing import Any

    Told = dict[str, Any]


class Log:
    """A thread's log: one record a line, numbered without a gap."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def cwd(self) -> str:
        return str(self.records()[0]["payload"]["cwd"])

    def records(self) -> list[Told]:
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as lines:
            return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def add(self, kind: str, payload: Told) -> None:
        ordinal = len(self.records())
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        record = {"timestamp": stamp("%Y-%m-%dT%H:%M:%S.000Z"), "ordinal": ordinal, "type": kind, "payload": payload}
        with open(self.path, "ab") as file:
            file.write(json.dumps(record).encode() + b"\n")

    def event(self, name: str, **content: object) -> None:
        self.add("event_msg", {"type": name, **content})


def described(thread_id: str, cwd: str, log: Log, status: Told) -> Told:
    """A thread as it is told."""
    inputs = [item for turn in listed(log.records()) for item in turn["items"] if item["type"] == "userMessage"]
    preview = inputs[0]["content"][0]["text"] if inputs else ""
    told: Told = {"id": thread_id, "sessionId": thread_id, "preview": preview, "historyMode": "paginated", "turns": []}
    return {**told, "status": status, "path": log.path, "cwd": cwd}


def shown(item: Told) -> Told:
    """An item of the log as it is told."""
    if item["type"] == "UserMessage":
        return {"type": "userMessage", "id": item["id"], "clientId": item["client_id"], "content": item["content"]}
    text = "".join(part["text"] for part in item["content"])
    return {"type": "agentMessage", "id": item["id"], "text": text, "phase": None}


def listed(records: list[Told], running: str | None = None) -> list[Told]:
    """The turns of a log, oldest first. One without an end is shown as interrupted, unless it runs here."""
    turns: dict[str, Told] = {}
    for record in records:
        told = record["payload"]
        turn = turns.get(told.get("turn_id"), {})
        if told.get("type") == "task_started":
            made = {"id": told["turn_id"], "rootTurnId": told["turn_id"], "items": [], "itemsView": "full"}
            status = "inProgress" if told["turn_id"] == running else "interrupted"
            made |= {"status": status, "error": None, "startedAt": told["started_at"], "completedAt": None}
            turns[told["turn_id"]] = made
        elif told.get("type") == "item_completed":
            turn["items"].append(shown(told["item"]))
        elif told.get("type") == "task_complete":
            error = told.get("error")
            turn |= {"status": "failed" if error else "completed", "error": camel(error)}
            turn["completedAt"] = told["completed_at"]
        elif told.get("type") == "turn_aborted":
            turn |= {"status": "interrupted", "completedAt": told["completed_at"]}
    return list(turns.values())


def messages(records: list[Told]) -> list[Told]:
    """What was said before, for the model."""
    said = [record["payload"] for record in records if record["type"] == "response_item"]
    return [{key: one[key] for key in ("type", "role", "content")} for one in said]


def camel(error: Told | None) -> Told | None:
    """An error as it is told."""
    if error is None:
        return None
    kind = error["codex_error_info"]
    if isinstance(kind, dict):
        kind = {_camel(word): {_camel(key): value for key, value in told.items()} for word, told in kind.items()}
    else:
        kind = _camel(kind)
    return {"message": error["message"], "codexErrorInfo": kind, "additionalDetails": None}


def _camel(word: str) -> str:
    first, *rest = word.split("_")
    return first + "".join(part.title() for part in rest)


def stamp(form: str) -> str:
    return time.strftime(form, time.gmtime())


def new_id() -> str:
    """An id whose order is that of time, as Codex makes them."""
    at = f"{time.time_ns() // 1_000_000:012x}"
    rest = os.urandom(10).hex()
    return f"{at[:8]}-{at[8:]}-7{rest[1:4]}-8{rest[5:8]}-{rest[8:20]}"
