"""Which app-server processes of ours run, and how is one started?"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from oncemore.adapters.codex import lock
from oncemore.adapters.codex.connection import REQUEST_SECONDS, START_SECONDS, Connection, environment
from oncemore.adapters.codex.facts import Held
from oncemore.adapters.codex.owner import IDLE, Owner
from oncemore.adapters.codex.profile import overrides
from oncemore.engine.errors import PortError, Unreadable
from oncemore.engine.ports import Profile, Thread, Workspace

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How processes are started.

    Attributes:
        passed_on: names of environment variables that they get beside PATH, HOME, CODEX_HOME, LANG and TZ.
        search_path: their PATH.
        start_seconds, request_seconds: time limits for the first answer of a process, and for any other.
    """

    program: Path
    passed_on: tuple[str, ...] = ()
    search_path: str = SEARCH_PATH
    start_seconds: float = START_SECONDS
    request_seconds: float = REQUEST_SECONDS


class Processes:
    """The owners of loaded threads, one process each, and the making of more."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        self._owners: dict[str, Owner] = {}

    def listed(self) -> list[tuple[str, int]]:
        """The loaded threads with the ids of the processes that hold them."""
        with self._guard:
            return [(thread_id, owner.connection.pid) for thread_id, owner in self._owners.items() if owner.alive]

    def owner(self, thread: Thread) -> Owner | None:
        """The owner of a thread, if it lives."""
        owner = self.named(thread.thread_id)
        return owner if owner is not None and owner.thread.home == thread.home else None

    def named(self, thread_id: str) -> Owner | None:
        """The same by the thread's id alone; one whose process ended is forgotten."""
        with self._guard:
            owner = self._owners.get(thread_id)
        if owner is not None and not owner.alive:
            self.end(owner)
            return None
        return owner

    def keep(self, owner: Owner) -> None:
        """Count a process among the owners, now that its thread is loaded."""
        with self._guard:
            self._owners[owner.thread.thread_id] = owner

    def let_go(self, owner: Owner) -> bool:
        """End an owner's process if nothing runs in it; whether it was ended."""
        try:
            if owner.running() or owner.status().get("type") not in IDLE or owner.terminals():
                return False
        except Unreadable:
            return False
        self.end(owner)
        return True

    def end(self, owner: Owner) -> None:
        """End an owner's process, whatever runs in it."""
        with self._guard:
            if self._owners.get(owner.thread.thread_id) is owner:
                del self._owners[owner.thread.thread_id]
        owner.connection.close()

    def end_all(self) -> None:
        """End every owner's process."""
        with self._guard:
            owners = list(self._owners.values())
            self._owners.clear()
        for owner in owners:
            owner.connection.close()

    def held(self, thread: Thread) -> Held:
        """How a thread is held now: by its writer lock, and by what our own process says of it."""
        found = lock.look(Path(thread.home), thread.thread_id)
        owner = self.owner(thread)
        if owner is None:
            return Held({"held": "other", "unknown": "unknown"}.get(found.state, "none"), found)
        if found.state == "unknown" or (found.state == "held" and found.pid == owner.connection.pid):
            told = (_or_none(owner.status), _or_none(owner.terminals), owner.running(), owner.unanswered())
            return Held("ours", found, *told)
        return Held("other" if found.state == "held" else "unknown", found)

    def open_owner(self, home: Path, profile: Profile, workspace: Workspace, restricted: bool) -> Owner:
        """A process that is to load a thread in the opened workspace.

        Raises:
            Unreadable: it did not start.
        """
        owner = Owner(Workspace(workspace.path, workspace.device, workspace.inode), restricted)
        # The descriptor is the folder that was checked; by its path another one might be found now.
        directory = f"/proc/self/fd/{workspace.descriptor}" if workspace.descriptor >= 0 else workspace.path
        owner.connection = self._connect(home, directory, overrides(home, profile), owner)
        return owner

    @contextlib.contextmanager
    def reader(self, home: Path) -> Iterator[Connection]:
        """A fresh process that loads nothing and ends with the block. Raises `Unreadable`."""
        reader = self._connect(home, str(home), overrides(home, None), None)
        try:
            yield reader
        finally:
            reader.close()

    def _connect(self, home: Path, directory: str, values: Sequence[str], owner: Owner | None) -> Connection:
        settings = self._settings
        return Connection(
            settings.program,
            home,
            directory=directory,
            environment=environment(home, path=settings.search_path, passed_on=settings.passed_on),
            overrides=values,
            start_seconds=settings.start_seconds,
            request_seconds=settings.request_seconds,
            hear=owner.hear if owner is not None else lambda message: None,
        )


def _or_none(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except PortError:
        return None
