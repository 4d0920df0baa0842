"""What turns does a thread hold, and was all of it read?

Pages are asked for oldest first, with all items, a hundred at a time (more is silently cut to that), until the server
names no next cursor. Anything short of that makes the reading incomplete with the reason, never shorter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncemore.adapters.codex import marker
from oncemore.adapters.codex.connection import Connection, Denied
from oncemore.adapters.codex.lock import SAFE
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import Thread

PAGE = 100
STATUSES: Mapping[str, str] = {
    "completed": "completed",
    "failed": "failed",
    "interrupted": "interrupted",
    "inProgress": "in_progress",
}


@dataclass(frozen=True, slots=True)
class History:
    """One thread as one process read it.

    Attributes:
        turns: as received, oldest first.
        problem: why this is not the whole history, or not readable as one; None when it is.
        status: the thread's status as that process sees it; only an owner sees a meaningful one.
        rollout: where the runtime says that it keeps the thread's log.
    """

    thread: Thread
    turns: tuple[dict[str, Any], ...] = ()
    problem: str | None = None
    status: Mapping[str, Any] = field(default_factory=dict)
    rollout: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every page was read and understood."""
        return self.problem is None


def read_history(connection: Connection, thread: Thread) -> History:
    """Everything that a process can tell of a thread; problems are told in it."""
    try:
        about = connection.read("thread/read", {"threadId": thread.thread_id}).get("thread")
    except Denied as error:
        if rollouts(Path(thread.home), thread.thread_id):
            return History(thread, problem=f"the thread is logged, but codex does not know it: {error.message}")
        if not marker.made(Path(thread.home), thread.thread_id):
            return History(thread, problem="the home does not know the thread: it was lost, or the home is another one")
        return History(thread)  # made here, neither indexed nor logged: it never held a turn
    except Unreadable as error:
        return History(thread, problem=str(error))
    if not isinstance(about, dict) or about.get("id") != thread.thread_id:
        return History(thread, problem="codex described another thread")
    status = about.get("status")
    known = History(thread, (), None, status if isinstance(status, dict) else {}, about.get("path"))
    turns, problem = _pages(connection, known)
    if problem is None and turns and about.get("historyMode") != "paginated":
        problem = f"a history of mode {about.get('historyMode')} does not keep its commands"
    return History(thread, tuple(turns), problem, known.status, known.rollout)


def rollouts(home: Path, thread_id: str) -> list[Path]:
    """The logs that the home holds of a thread, archived ones too."""
    if not SAFE.fullmatch(thread_id):
        return []
    folders = (home / "sessions", home / "archived_sessions")
    return [path for folder in folders for path in folder.rglob(f"*{thread_id}*")]


def canonical(value: object) -> bytes:
    """One byte string per content, whatever the order of keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(parts: Iterable[object]) -> str:
    """SHA-256 over canonical contents."""
    return hashlib.sha256(canonical(list(parts))).hexdigest()


def read_turn(connection: Connection, thread_id: str, turn_id: str) -> dict[str, Any] | None:
    """One turn with all its items, looked for from the newest; None when the whole history lacks it.

    Raises:
        Unreadable: a page could not be read.
    """
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        page, cursor, problem = _page(connection, thread_id, cursor, seen, "desc")
        for turn in page:
            if isinstance(turn, dict) and turn.get("id") == turn_id:
                if problem := _flaw(turn):
                    raise Unreadable(problem)
                return turn
        if problem is not None:
            raise Unreadable(problem)
        if cursor is None:
            return None


def _pages(connection: Connection, known: History) -> tuple[list[dict[str, Any]], str | None]:
    turns: list[dict[str, Any]] = []
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        try:
            page, cursor, problem = _page(connection, known.thread.thread_id, cursor, seen, "asc")
        except Unreadable as error:
            # An owner refuses to list a thread whose first turn it has not stored yet.
            new = known.status.get("type") in ("idle", "active") and not turns
            home, thread_id = Path(known.thread.home), known.thread.thread_id
            if new and not rollouts(home, thread_id) and marker.made(home, thread_id):
                return [], None
            return turns, str(error)
        turns += [turn for turn in page if isinstance(turn, dict)]
        problem = problem or next((flaw for turn in page if (flaw := _flaw(turn))), None)
        if problem is None and len({turn["id"] for turn in turns}) != len(turns):
            problem = "codex listed a turn twice"
        if problem is not None or cursor is None:
            return turns, problem


def _page(
    connection: Connection, thread_id: str, cursor: str | None, seen: set[str], order: str
) -> tuple[list[Any], str | None, str | None]:
    asked = {"threadId": thread_id, "limit": PAGE, "sortDirection": order, "itemsView": "full"}
    try:
        answer = connection.read("thread/turns/list", asked if cursor is None else {**asked, "cursor": cursor})
    except Denied as error:
        raise Unreadable(str(error)) from error
    page, following = answer.get("data"), answer.get("nextCursor")
    if not isinstance(page, list) or "nextCursor" not in answer:
        return [], None, "codex gave a page without turns or without the word whether more follow"
    if following is not None and (not isinstance(following, str) or following in seen):
        return page, None, "codex gave the same cursor twice"
    if following is not None:
        seen.add(following)
    return page, following, None


def _flaw(turn: object) -> str | None:
    if not isinstance(turn, dict) or not isinstance(turn.get("id"), str):
        return "codex listed a turn without an id"
    items = turn.get("items")
    if turn.get("status") not in STATUSES:
        return f"a turn has the unknown status {turn.get('status')!r}"
    if turn.get("itemsView") != "full" or not isinstance(items, list):
        return "a turn was listed without all of its items"
    if not all(isinstance(item, dict) and isinstance(item.get("type"), str) for item in items):
        return "a turn holds an item without a type"
    if turn["status"] == "completed" and not items:
        return "a completed turn was listed without items"
    if not isinstance(turn.get("completedAt"), int | None):
        return "a turn's end is not a time"
    return None
