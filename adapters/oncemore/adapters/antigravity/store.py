"""What does the harness's store hold of a conversation?

One SQLite file per conversation. It is opened read-only: asking the harness itself would begin a session. The numbers
of fields were read off stores of version 0.1.22, whose states the tests bring about again. The record of an executor
that ended begins with its reason and counts; the rest is configuration and is not read.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from oncemore.adapters.antigravity import results
from oncemore.adapters.antigravity.conversation import Conversation
from oncemore.adapters.antigravity.protobuf import Message
from oncemore.adapters.antigravity.steps import KINDS, REASONS, STATES, STOPS, Executor, Step
from oncemore.engine.errors import Unreadable

SAFE = re.compile(r"[0-9a-f]{32}\Z")
HEAD = 64
"""Bytes of an executor's record that are read."""

_ENDED_EARLY = "STREAM_ENDED"
"""The harness stores a stop reason for every answer that the model ended; one without was cut off by its provider."""


def path_of(home: Path, cascade_id: str) -> Path:
    """Where a conversation is stored. Raises `Unreadable` for an id that is none."""
    if not SAFE.match(cascade_id):
        raise Unreadable("that is no id of a conversation")
    return home / "save" / f"{cascade_id}.db"


def exists(home: Path, cascade_id: str) -> bool:
    """Whether anything of a conversation is stored. Raises `Unreadable` for an id that is none."""
    return path_of(home, cascade_id).exists()


def read(home: Path, cascade_id: str) -> tuple[tuple[Step, ...], tuple[Executor, ...], str]:
    """The steps, the executors that ended, and a digest of both; nothing where nothing was ever stored.

    Raises:
        Unreadable: the store cannot be read, or holds something of another form.
    """
    path = path_of(home, cascade_id)
    if not path.exists():
        return (), (), hashlib.sha256(b"").hexdigest()
    try:
        with closing(_opened(path)) as store:
            store.execute("begin")
            rows = store.execute("select idx, step_type, status, step_payload from steps order by idx").fetchall()
            ends = store.execute("select substr(data, 1, ?) from executor_metadata order by idx", (HEAD,)).fetchall()
        content = hashlib.sha256(repr((rows, ends)).encode()).hexdigest()
        return tuple(_steps(rows)), tuple(_executor(bytes(data)) for (data,) in ends), content
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise Unreadable(f"the store of the conversation cannot be read: {type(error).__name__}: {error}") from error


def folders(home: Path, cascade_id: str) -> list[str]:
    """The workspace folders that a stored conversation names, as URIs; empty where nothing was ever stored.

    Raises:
        Unreadable: the store cannot be read.
    """
    path = path_of(home, cascade_id)
    if not path.exists():
        return []
    try:
        with closing(_opened(path)) as store:
            rows = store.execute("select data from trajectory_metadata_blob").fetchall()
        return [Message(bytes(data)).text(7) for (data,) in rows]
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise Unreadable(f"the store of the conversation cannot be read: {type(error).__name__}: {error}") from error


def look(home: Path, cascade_id: str, run: str, *, abandoned: bool) -> Conversation:
    """The conversation, read twice. What could not be read is told in it.

    Args:
        run: what the process that works on it says, as a run status; empty where it cannot be asked.
        abandoned: provably no process works on it.
    """
    try:
        _, _, first = read(home, cascade_id)
        steps, executors, last = read(home, cascade_id)
    except Unreadable as error:
        return Conversation(cascade_id, answered=False, problem=str(error))
    if [step.index for step in steps] != list(range(len(steps))):
        return Conversation(cascade_id, problem="the store lacks a step")
    if any(executor.last_step >= len(steps) for executor in executors):
        return Conversation(cascade_id, problem="the store lacks the last step of an executor that ended")
    return Conversation(
        thread_id=cascade_id,
        run=run,
        steps=steps,
        executors=executors,
        complete=True,
        agree=first == last,
        abandoned=abandoned,
        problem=None if first == last else "two readings differ",
        digest=last,
    )


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=5.0)


def _steps(rows: Iterable[tuple[int, int, int, bytes]]) -> Iterable[Step]:
    execution = ""
    for index, kind, state, payload in rows:
        step = _step(int(index), KINDS.get(kind, str(kind)), STATES.get(state, str(state)), Message(bytes(payload)))
        # The harness keeps one execution id for a whole conversation; its own id of the input tells turns apart.
        execution = step.execution if step.kind == "USER_INPUT" else execution
        yield replace(step, execution=execution)


def _step(index: int, kind: str, state: str, payload: Message) -> Step:
    about, said, planned = payload.message(5), payload.message(19), payload.message(20)
    place = about.message(20)
    items = said.messages(3)
    stop = planned.number(12)
    return Step(
        index=index,
        kind=kind,
        state=state,
        execution=about.text(35),
        told_index=place.number(2) if about.has(20) else None,
        created_at=_time(about.message(1), up=False) if about.has(1) else None,
        completed_at=_time(about.message(8), up=True) if about.has(8) else None,
        text=(said.text(2) or "".join(item.text(1) for item in items)) if payload.has(19) else None,
        response=planned.text(8) or planned.text(1),
        calls=tuple(call.text(1) or f"{index}/{place_}" for place_, call in enumerate(planned.messages(7))),
        call=about.message(4).text(1),
        stop=STOPS.get(stop, str(stop)) if stop else _ENDED_EARLY,
        result=results.of_store(kind, payload),
        failed=kind == "RUN_COMMAND" and state == "DONE" and payload.message(28).number(6) != 0,
        waits_for="unknown" if state == "WAITING" else "",
    )


def _executor(head: bytes) -> Executor:
    """Fields 1 and 3 stand before everything long; what follows in the head is cut and not looked at."""
    numbers: dict[int, int] = {}
    rest = head
    while rest and len(numbers) < 3 and rest[0] & 7 == 0:
        end = next((at for at, byte in enumerate(rest[1:], 1) if not byte & 128), None)
        if end is None:
            raise ValueError("a cut executor")
        one = rest[: end + 1]
        numbers[one[0] >> 3] = Message(one).number(one[0] >> 3)
        rest = rest[end + 1 :]
    return Executor(REASONS.get(numbers.get(1, 0), str(numbers.get(1, 0))), numbers.get(3, 0))


def _time(stamp: Message, *, up: bool) -> int:
    return stamp.number(1) * 1000 + (stamp.number(2) + (999_999 if up else 0)) // 1_000_000
