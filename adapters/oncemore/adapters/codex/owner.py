"""What can be done with a thread that a process of ours has loaded?

One process per loaded thread. Loading takes Codex's own writer lock, so as long as the process lives nobody else can
write the thread. What the process says by itself (turns started, ended, text arriving) is remembered here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncemore.adapters.codex.connection import Connection, Denied, Message
from oncemore.adapters.codex.profile import is_folder, policy
from oncemore.adapters.codex.reading import read_turn
from oncemore.engine.errors import Busy, Refused, Uncertain, Unreadable
from oncemore.engine.ports import NativeTurn, Profile, Thread, Workspace

IDLE = frozenset({"idle", "systemError"})
"""Statuses in which no turn runs; the second follows a failed turn until the next good one."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """A command that runs in the background."""

    item_id: str
    process_id: str


class Owner:
    """A thread loaded in a process of ours.

    Attributes:
        workspace: the folder that the process was started in, without its descriptor.
        restricted: the process was started without anything beside the shell.
        connection: set once the process runs, which is given `hear`.
        thread: set once it is loaded.
        folders: where it works, as it reported by path once it was loaded; each was the workspace then.
    """

    def __init__(self, workspace: Workspace, restricted: bool) -> None:
        self.workspace = workspace
        self.restricted = restricted
        self._changed = threading.Condition()
        self._begun: set[str] = set()
        self._started: set[str] = set()
        self._ended: set[str] = set()
        self._spoken: set[str] = set()
        self._interrupted: set[str] = set()
        self._retried: dict[str, int] = {}
        self._unanswered = False
        self._gone = False
        self.connection: Connection
        self.thread: Thread
        self.folders: tuple[str, ...] = ()

    def hear(self, message: Message | None) -> None:
        """Remember what the process tells; None when it tells no more."""
        with self._changed:
            if message is None:
                self._gone = True
            else:
                self._remember(str(message["method"]), message.get("params") or {})
            self._changed.notify_all()

    def _remember(self, method: str, params: Mapping[str, Any]) -> None:
        turn = params.get("turn")
        named = turn.get("id") if isinstance(turn, dict) else params.get("turnId")
        if not isinstance(named, str):
            return
        if method == "turn/started":
            self._started.add(named)
            self._unanswered = False
        elif method == "turn/completed":
            self._ended.add(named)
        elif method == "item/agentMessage/delta":
            self._spoken.add(named)
        elif method == "error" and params.get("willRetry") is True:
            self._retried[named] = self._retried.get(named, 0) + 1

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.connection.alive

    def running(self) -> bool:
        """Whether a turn of this process runs, whatever its status says: between a start and the word that it started
        the thread is still told as idle."""
        with self._changed:
            return bool((self._begun | self._started) - self._ended)

    def unanswered(self) -> bool:
        """Whether a start was sent that was neither answered nor told as started: it may still come."""
        with self._changed:
            return self._unanswered

    def status(self) -> Mapping[str, Any]:
        """The thread's status in this process.

        Raises:
            Unreadable: it did not say.
        """
        try:
            thread = self.connection.read("thread/read", {"threadId": self.thread.thread_id}).get("thread")
        except Denied as error:
            raise Unreadable(str(error)) from error
        status = thread.get("status") if isinstance(thread, dict) else None
        if not isinstance(status, dict):
            raise Unreadable("codex told no status of the thread")
        return status

    def terminals(self) -> tuple[Terminal, ...]:
        """Every command that runs in the background.

        Raises:
            Unreadable: the list could not be read to its end.
        """
        found: list[Terminal] = []
        asked: dict[str, Any] = {"threadId": self.thread.thread_id}
        seen: set[object] = set()
        while True:
            try:
                answer = self.connection.read("thread/backgroundTerminals/list", asked)
            except Denied as error:
                raise Unreadable(str(error)) from error
            page, cursor = answer.get("data"), answer.get("nextCursor", "")
            if not isinstance(page, list) or not all(isinstance(entry, dict) for entry in page) or cursor in seen:
                raise Unreadable("codex did not list its background commands to the end")
            found += [Terminal(str(entry.get("itemId")), str(entry.get("processId"))) for entry in page]
            if cursor is None:
                return tuple(found)
            if not isinstance(cursor, str) or not cursor:
                raise Unreadable("codex did not say whether more background commands follow")
            seen.add(cursor)
            asked["cursor"] = cursor

    def start(self, client_id: str, text: str, profile: Profile) -> NativeTurn:
        """Begin a turn; see `Runtime.start`. An active thread would merge it into the running turn: that is Busy."""
        try:
            status = self.status()
        except Unreadable as error:
            raise Refused(f"nothing was started: {error}") from error
        if status.get("type") not in IDLE:
            raise Busy(f"the thread is {status.get('type')}")
        if self.running() or self.unanswered():
            raise Busy("a turn that was started before may still run")
        if (moved := next((path for path in self.folders if not is_folder(path, self.workspace)), None)) is not None:
            # Codex finds the folder by its path anew for each command.
            raise Refused(f"the thread works in {moved}, which is no longer the workspace that was opened")
        with self._changed:
            self._unanswered = True
        answer = self._begin(client_id, text, profile)
        turn = answer.get("turn")
        if not isinstance(turn, dict) or not isinstance(turn.get("id"), str):
            raise Uncertain("codex did not name the turn that it started")
        with self._changed:
            self._begun.add(turn["id"])
            self._unanswered = False
        return NativeTurn(self.thread.thread_id, turn["id"])

    def _begin(self, client_id: str, text: str, profile: Profile) -> Message:
        asked = {
            "threadId": self.thread.thread_id,
            "input": [{"type": "text", "text": text, "text_elements": []}],
            "clientUserMessageId": client_id,
            "approvalPolicy": "never",
            "sandboxPolicy": policy(profile),
        }
        try:
            return self.connection.request("turn/start", asked)
        except Denied:
            with self._changed:
                self._unanswered = False
            raise

    def wait(self, turn_id: str, seconds: float) -> None:
        """Wait for the turn's end as told by the process; returns early when nothing of it can run any more.

        Raises:
            Unreadable: the process ended.
        """
        if not self._ours(turn_id) and self.status().get("type") in IDLE and not self._ours(turn_id):
            return  # it ran in an earlier process
        with self._changed:
            self._changed.wait_for(lambda: turn_id in self._ended or self._gone, seconds)
            if turn_id not in self._ended and self._gone:
                raise Unreadable("the codex process ended while the turn was waited for")

    def _ours(self, turn_id: str) -> bool:
        with self._changed:
            return turn_id in self._begun or turn_id in self._started

    def spoke(self, turn_id: str) -> bool:
        """Whether any part of an answer arrived."""
        with self._changed:
            return turn_id in self._spoken

    def retries(self, turn_id: str) -> int:
        """How often the process said that it did not get through to its model and tries again."""
        with self._changed:
            return self._retried.get(turn_id, 0)

    def turn(self, turn_id: str) -> dict[str, Any] | None:
        """The turn with all its items, as this process reads it back. Raises `Unreadable`."""
        return read_turn(self.connection, self.thread.thread_id, turn_id)

    def cancel(self, turn_id: str, seconds: float) -> None:
        """Interrupt the turn and end every background command; see `Runtime.cancel`.

        An interrupt before the turn was told as started is refused, and a second one for the same turn gets no
        answer: it is sent once, after that word.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            if turn_id in self._begun:
                self._changed.wait_for(lambda: turn_id in self._started or self._gone, self._left(deadline))
            running = turn_id in self._started and turn_id not in self._ended
            first = running and turn_id not in self._interrupted
            self._interrupted.add(turn_id)
        if first:
            try:
                asked = {"threadId": self.thread.thread_id, "turnId": turn_id}
                self.connection.request("turn/interrupt", asked, self._left(deadline))
            except Denied:
                pass  # it may have ended by itself meanwhile; reading back tells
        with self._changed:
            if running:
                self._changed.wait_for(lambda: turn_id in self._ended or self._gone, self._left(deadline))
        try:
            if self.status().get("type") not in IDLE:
                raise Uncertain("the turn still runs after its interrupt")
            self._end_terminals(deadline)
        except Unreadable as error:
            raise Uncertain(f"the interrupt is not confirmed: {error}") from error

    def _end_terminals(self, deadline: float) -> None:
        asked: set[str] = set()
        while terminals := self.terminals():
            fresh = [terminal.process_id for terminal in terminals if terminal.process_id not in asked]
            if not fresh and time.monotonic() > deadline:
                raise Uncertain("a background command does not end")
            for process_id in fresh:
                asked.add(process_id)
                params = {"threadId": self.thread.thread_id, "processId": process_id}
                try:
                    self.connection.request("thread/backgroundTerminals/terminate", params, self._left(deadline))
                except Denied:
                    continue  # it ended by itself meanwhile; the next listing tells
            if not fresh:
                threading.Event().wait(0.05)

    @staticmethod
    def _left(deadline: float, most: float = 60.0) -> float:
        return max(0.1, min(most, deadline - time.monotonic()))


def read_config(connection: Connection, directory: str) -> Mapping[str, Any]:
    """The effective configuration of a process for a folder.

    Raises:
        Unreadable: it did not say.
    """
    try:
        config = connection.read("config/read", {"includeLayers": False, "cwd": directory}).get("config")
    except Denied as error:
        raise Unreadable(str(error)) from error
    if not isinstance(config, dict):
        raise Unreadable("codex told no configuration")
    return config
