"""How does the engine run, watch, stop and read back Codex?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oncemore.adapters.codex import binary, facts, inventory, lock, marker
from oncemore.adapters.codex.account import Account
from oncemore.adapters.codex.connection import REQUEST_SECONDS, START_SECONDS, Denied
from oncemore.adapters.codex.owner import Owner, read_config
from oncemore.adapters.codex.processes import SEARCH_PATH, Processes, Settings
from oncemore.adapters.codex.profile import MODES, is_folder, restricted, unrestricted, widening
from oncemore.adapters.codex.reading import read_history, rollouts
from oncemore.engine.errors import Busy, Refused, Uncertain, Unreadable
from oncemore.engine.ports import (
    Inventory,
    Loaded,
    NativeTurn,
    Observation,
    Profile,
    SessionView,
    Thread,
    TurnView,
    Workspace,
)
from oncemore.rules.case import Reading

CANCEL_SECONDS = 20.0


def _now() -> int:
    return time.time_ns() // 1_000_000


class CodexRuntime:
    """The `Runtime` port over `codex app-server`.

    One process per loaded thread, kept until it is released; each inventory is read by a fresh process that ends with
    it. A home's `config.toml` is the operator's and is never written here.

    Args:
        program: the codex program; None takes the one of the wheel.
        passed_on: names of environment variables that the processes get beside PATH, HOME, CODEX_HOME, LANG and TZ.
        search_path: their PATH.
        start_seconds, request_seconds, cancel_seconds: time limits for the first answer of a process, for any other
            answer, and for a cancellation with everything that it ends.
        clock: milliseconds since the epoch.

    Raises:
        Unreadable: there is no such program.
    """

    def __init__(
        self,
        program: Path | None = None,
        *,
        passed_on: Sequence[str] = (),
        search_path: str = SEARCH_PATH,
        start_seconds: float = START_SECONDS,
        request_seconds: float = REQUEST_SECONDS,
        cancel_seconds: float = CANCEL_SECONDS,
        clock: Callable[[], int] = _now,
    ) -> None:
        found = binary.find(program)
        self._processes = Processes(Settings(found, tuple(passed_on), search_path, start_seconds, request_seconds))
        self._cancel_seconds = cancel_seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}
        self._made: dict[str, str] = {}

    @property
    def name(self) -> str:
        """`codex`."""
        return "codex"

    def processes(self) -> list[tuple[str, int]]:
        """The loaded threads with the ids of the processes that hold them."""
        return self._processes.listed()

    def inventory(self, session: SessionView, turn: TurnView) -> Inventory:
        """See `Runtime.inventory`. Two readings by a fresh process, and one by the owner of each thread of ours."""
        return inventory.take(self._processes, session, turn, self._clock())

    def restricted(self, session: SessionView) -> Reading:
        """See `Runtime.restricted`."""
        return inventory.restricted(self._processes, session, self._clock())

    def material(self, session: SessionView, turn: TurnView) -> dict[str, str]:
        """Codex keeps no part of an answer that was cut off, so there is none. Raises `Unreadable`."""
        raise Unreadable("codex keeps nothing of an answer that was cut off")

    def account(self, home: Path) -> Account:
        """What Codex tells of the account that is logged in in a home."""
        return Account(self._processes, home, clock=self._clock)

    def load(self, session: SessionView, profile: Profile, workspace: Workspace) -> Loaded:
        """See `Runtime.load`. A thread that was made and never used is given again, until it has been let go."""
        with self._of(session):
            current = session.current
            if current is not None and current.home != session.home:
                raise Refused("the session's current thread is in another home")
            owner = self._processes.owner(current) if current is not None else None
            if owner is None and session.id in self._made:
                owner = self._processes.named(self._made[session.id])
            if owner is not None and self._fits(owner, profile, workspace):
                return Loaded(owner.thread, owner.thread != current)
            if current is not None and lock.look(Path(current.home), current.thread_id).state == "held":
                raise Busy("another process has the thread loaded")
            return self._load(session, profile, workspace)

    def _fits(self, owner: Owner, profile: Profile, workspace: Workspace) -> bool:
        """Whether a loaded thread can be used as it is; if not, it was let go."""
        if not owner.workspace.same_folder(workspace):
            raise Refused("the thread is loaded in another folder")
        if owner.restricted == restricted(profile):
            return True
        if not self._processes.let_go(owner):
            raise Busy("the thread must be loaded anew under other limits, but something of it still runs")
        return False

    def _load(self, session: SessionView, profile: Profile, workspace: Workspace) -> Loaded:
        owner = self._processes.open_owner(Path(session.home), profile, workspace, restricted(profile))
        try:
            report, created = self._enter(owner, session.current, profile)
            owner.thread = Thread(self.name, session.home, _named(report))
            if not created and owner.thread != session.current:
                raise Refused("codex loaded another thread than the one asked for")
            self._check(report, owner, profile, workspace)
            if created:
                marker.make(Path(session.home), owner.thread.thread_id)
            else:
                marker.drop(Path(session.home), owner.thread.thread_id)
        except BaseException:
            owner.connection.close()
            raise
        self._processes.keep(owner)
        if created:
            self._made[session.id] = owner.thread.thread_id
        return Loaded(owner.thread, created)

    def _enter(self, owner: Owner, current: Thread | None, profile: Profile) -> tuple[Mapping[str, Any], bool]:
        """Codex's report of the thread, and whether it is a new one."""
        asked = {"cwd": owner.workspace.path, "approvalPolicy": "never", "sandbox": MODES[profile.sandbox]}
        try:
            if current is None or self._never_ran(owner, current):
                return owner.connection.request("thread/start", {**asked, "historyMode": "paginated"}), True
            resumed = {"threadId": current.thread_id, "excludeTurns": True, **asked}
            return owner.connection.request("thread/resume", resumed), False
        except Denied as error:
            if "active writer" in error.message:
                raise Busy("another process has the thread loaded") from error
            raise Unreadable(f"the thread cannot be loaded: {error.message}") from error
        except Uncertain as error:
            raise Unreadable(str(error)) from error

    @staticmethod
    def _never_ran(owner: Owner, thread: Thread) -> bool:
        """Whether a recorded thread, made here, provably never held a turn: no index, log or resume knows it."""
        history = read_history(owner.connection, thread)
        if not history.complete or history.turns or history.status or rollouts(Path(thread.home), thread.thread_id):
            return False
        try:
            owner.connection.request("thread/resume", {"threadId": thread.thread_id, "excludeTurns": True})
        except Denied as error:
            return "no rollout found" in error.message
        return False

    @staticmethod
    def _check(report: Mapping[str, Any], owner: Owner, profile: Profile, workspace: Workspace) -> None:
        folders = (report.get("cwd"), report["thread"].get("cwd"))
        for folder in folders:
            if not isinstance(folder, str) or not is_folder(folder, workspace):
                raise Refused(f"the thread works in {folder}, which is not the workspace that was opened")
        owner.folders = tuple(str(folder) for folder in folders)
        if wider := widening(report, profile, workspace):
            raise Refused(f"the thread reports wider limits than asked for: {wider}")
        if owner.restricted and (has := unrestricted(read_config(owner.connection, workspace.path))):
            raise Refused(f"the process would run with {has}, which a read-only profile without network forbids")

    def start(self, session: SessionView, client_id: str, text: str, profile: Profile) -> NativeTurn:
        """See `Runtime.start`. Raises `Busy` too, when a turn is active: Codex would merge the text into it."""
        owner = self._processes.owner(session.current) if session.current is not None else None
        if owner is None:
            raise Refused("the thread is not loaded")
        if restricted(profile) and not owner.restricted:
            raise Refused("the thread is loaded under wider limits")
        self._made.pop(session.id, None)
        return owner.start(client_id, text, profile)

    def observe(self, native: NativeTurn, timeout: float) -> Observation:
        """See `Runtime.observe`."""
        owner = self._processes.named(native.thread_id)
        if owner is None:
            raise Unreadable("no process of ours has the thread loaded")
        owner.wait(native.turn_id, timeout)
        spoke = owner.spoke(native.turn_id)
        turn = owner.turn(native.turn_id)
        if turn is None:
            return Observation("in_progress", ended=False, deltas=spoke, retries=owner.retries(native.turn_id))
        seen = facts.observation(turn, self._processes.held(owner.thread), spoke)
        if seen.ended:
            marker.drop(Path(owner.thread.home), owner.thread.thread_id)
        return replace(seen, retries=owner.retries(native.turn_id))

    def cancel(self, native: NativeTurn) -> None:
        """See `Runtime.cancel`."""
        owner = self._processes.named(native.thread_id)
        if owner is None:
            raise Uncertain("no process of ours has the thread loaded")
        owner.cancel(native.turn_id, self._cancel_seconds)

    def release(self, session: SessionView) -> bool:
        """See `Runtime.release`. A thread in which a turn or a background command runs is kept."""
        with self._of(session):
            made = self._made.get(session.id)
            ids = [*(thread.thread_id for thread in session.threads), *([made] if made else [])]
            owners = [owner for one in dict.fromkeys(ids) if (owner := self._processes.named(one)) is not None]
            kept = [owner for owner in owners if not self._processes.let_go(owner)]
            if not kept:
                self._made.pop(session.id, None)
            return not kept

    def close(self) -> None:
        """See `Runtime.close`."""
        self._processes.end_all()
        self._made.clear()

    def _of(self, session: SessionView) -> threading.Lock:
        """Loading takes seconds; it is serialised per Session, not over all."""
        with self._guard:
            return self._loading.setdefault(session.id, threading.Lock())


def _named(report: Mapping[str, Any]) -> str:
    thread = report.get("thread")
    if not isinstance(thread, dict) or not isinstance(thread.get("id"), str):
        raise Unreadable("codex did not name the thread that it loaded")
    return str(thread["id"])
