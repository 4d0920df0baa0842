"""Where in a thread's log does Codex's own index say that a turn stands?

Codex keeps an index of its logs in `thread_history_N.sqlite` and lists turns from it. The index outlives a log that was
cut, so its places are held against the log. It is Codex's private affair: where it is missing or has another form, it
says nothing.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from oncemore.engine.errors import Unreadable

FILES = "thread_history_*.sqlite"
COLUMNS = frozenset({"thread_id", "turn_id", "rollout_byte_offset", "rollout_end_byte_offset"})
WAIT_SECONDS = 5.0
"""For a writer of the index; it holds it for milliseconds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands in its log, in bytes from the log's beginning; None where the index does not say.

    Attributes:
        begin: of its first record.
        end: after its last one.
    """

    begin: int | None
    end: int | None

    def fits(self, begin: int | None, end: int | None) -> bool:
        """Whether a turn that was found at a place may be this one."""
        return self.begin in (None, begin) and self.end in (None, end)


def look_up(home: Path, thread_id: str, turn_id: str) -> Place | None:
    """The place of a turn; None when no index of a known form has it.

    Raises:
        Unreadable: there is an index that cannot be read, or two that disagree.
    """
    found: set[Place] = set()
    for path in sorted(home.glob(FILES)):
        try:
            found |= _rows(path, thread_id, turn_id)
        except sqlite3.Error as error:
            raise Unreadable(f"codex's index {path.name} cannot be read: {error}") from error
    if len(found) > 1:
        raise Unreadable("codex's indexes disagree about the turn")
    return next(iter(found), None)


def _rows(path: Path, thread_id: str, turn_id: str) -> set[Place]:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS)) as index:
        columns = {str(row[1]) for row in index.execute("pragma table_info(thread_turns)")}
        if not columns >= COLUMNS:
            return set()
        rows = index.execute(
            "select rollout_byte_offset, rollout_end_byte_offset from thread_turns where thread_id = ? and turn_id = ?",
            (thread_id, turn_id),
        )
        return {Place(_offset(begin), _offset(end)) for begin, end in rows}


def _offset(value: object) -> int | None:
    return value if isinstance(value, int) else None
