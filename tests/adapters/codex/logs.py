"""What does a log look like to the tests? Small ones written by hand, and the real one of a thread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREAD = "0190-thread"
TURN: dict[str, Any] = {"id": "t1", "items": []}
BEGIN = {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t1"}}
END = {"type": "event_msg", "payload": {"type": "task_complete", "turn_id": "t1"}}

Lines = list[bytes]


def response(payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def records(*between: dict[str, Any]) -> list[dict[str, Any]]:
    """A whole log of one turn with these records in it."""
    return [{"type": "session_meta", "payload": {"id": THREAD}}, BEGIN, *between, END]


def write(folder: Path, log: list[dict[str, Any]]) -> Path:
    """The log as a file, its records numbered."""
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps({"ordinal": at, **record}) + "\n" for at, record in enumerate(log)))
    return path


def written(folder: Path, *payloads: dict[str, Any]) -> Path:
    """A whole log of one turn with these responses in it."""
    return write(folder, records(*map(response, payloads)))


def edit(home: Path, change: Callable[[Lines], Lines]) -> None:
    """Change the only log of a home, line by line."""
    (log,) = (home / "sessions").rglob("*.jsonl")
    log.write_bytes(b"".join(change(log.read_bytes().splitlines(keepends=True))))


def first(lines: Lines, *words: str) -> int:
    """The number of the first line that holds all of these words."""
    return next(at for at, line in enumerate(lines) if all(f'"{word}"'.encode() in line for word in words))
