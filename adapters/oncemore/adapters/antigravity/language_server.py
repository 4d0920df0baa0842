"""How does the engine run, watch, stop and read back Antigravity through its desktop language server?

The server is the person's own program; nothing of it is started or ended here. It takes no lock and names no message:
our own input is found again by its tag, and a send without an answer is looked for and never repeated.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from oncemore.adapters.antigravity import conversation, facts, inventory, material, reading
from oncemore.adapters.antigravity.conversation import Conversation
from oncemore.adapters.antigravity.facts import Seen
from oncemore.adapters.antigravity.material import Terms
from oncemore.adapters.antigravity.server import LanguageServer
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

NAME = "antigravity"
NEW = {"source": "CORTEX_TRAJECTORY_SOURCE_CLI"}


def _now() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things are waited for.

    Attributes:
        pause: seconds between two looks.
        looks: how often a message that was sent, or a new conversation's folder, is looked for before that is given up.
        cancel_seconds: for a cancellation to show.
    """

    pause: float = 0.25
    looks: int = 40
    cancel_seconds: float = 20.0


class AntigravityRuntime:
    """The `Runtime` port over the language server.

    Args:
        server: as configured.
        planners: by sandbox of a profile, the planner configuration with which the server keeps to it; it must name
            the model. The server has no other word for limits and reports none, so a profile without one is refused.
        terms: what counts as material of an interrupted answer.
        clock: milliseconds since the epoch.
    """

    def __init__(
        self,
        server: LanguageServer,
        planners: Mapping[str, Mapping[str, Any]],
        *,
        terms: Terms | None = None,
        limits: Limits | None = None,
        clock: Callable[[], int] = _now,
    ) -> None:
        self._server = server
        self._planners = dict(planners)
        self._terms = terms or Terms()
        self._limits = limits or Limits()
        self._clock = clock
        self._loading = threading.Lock()
        self._closing = threading.Event()
        self._mine = _Mine()

    @property
    def name(self) -> str:
        """`antigravity`."""
        return NAME

    def inventory(self, session: SessionView, turn: TurnView) -> Inventory:
        """See `Runtime.inventory`. Two whole readings of every recorded conversation.

        It is complete only if besides nothing of ours may still arrive: a message that was sent and is not there yet
        is not proven to be lost.
        """
        seen = self._look(session, turn)
        missing = turn.native is None and turn.client_id in session.client_ids and seen.bound is None
        if turn.native is not None:
            # After a restart this is how we learn which inputs of a turn that still runs are ours.
            self._mine.started.setdefault(turn.native, _Started(turn.client_id, session.client_ids))
        return inventory.take(seen, turn, self._terms, settled=not missing)

    def material(self, session: SessionView, turn: TurnView) -> dict[str, str]:
        """See `Runtime.material`. It is read now, and only what is closed and proven to be the Turn's is given."""
        return material.take(self._look(session, turn), turn, self._terms)

    def restricted(self, session: SessionView) -> Reading:
        """See `Runtime.restricted`. The server reports no limits."""
        return Reading("missing")

    def _look(self, session: SessionView, turn: TurnView) -> Seen:
        at = self._clock()
        known = session.client_ids | {turn.client_id}
        read = [reading.look(self._server, thread.thread_id, known) for thread in session.threads]
        return Seen(read, session.client_ids, turn.client_id, turn.native, at, self._mine.cancelled)

    def load(self, session: SessionView, profile: Profile, workspace: Workspace) -> Loaded:
        """See `Runtime.load`. A recorded conversation is only checked: the server knows no owner of one.

        Raises `Busy` when the conversation is at work.
        """
        self._planner(profile)
        with self._loading:
            current = session.current
            created = current is None
            if current is None:
                current = self._made(session)
            read = self._read_once(current.thread_id)
            if read.run_state == "active":
                raise Busy("the conversation is at work")
            if read.run_state is None:
                raise Unreadable(f"the conversation's run status is {read.run or 'not told'}")
            self._check_folder(current.thread_id, workspace)
            self._mine.loaded.add(current.thread_id)
            return Loaded(current, created)

    def _made(self, session: SessionView) -> Thread:
        """A new conversation for a Session that has none; made once, and given again until it was used."""
        if session.id not in self._mine.made:
            try:
                named = self._server.act("StartCascade", NEW).get("cascadeId")
            except Uncertain as error:
                raise Unreadable(f"no conversation was named: {error}") from None
            if not isinstance(named, str) or not named:
                raise Unreadable("the language server did not name the conversation that it began")
            self._mine.made[session.id] = named
        return Thread(NAME, session.home, self._mine.made[session.id])

    def _check_folder(self, cascade_id: str, workspace: Workspace) -> None:
        for left in reversed(range(self._limits.looks)):
            folders = reading.folders(self._server, cascade_id)
            if folders:
                break
            if not left:
                raise Unreadable("the language server does not say in which folder the conversation works")
            self._closing.wait(self._limits.pause)
        if len(folders) > 1:
            raise Refused("the conversation works in more than one folder")
        if _identity(folders[0]) != (workspace.device, workspace.inode):
            raise Refused(f"the conversation works in {folders[0]}, which is not the workspace that was opened")

    def _planner(self, profile: Profile) -> Mapping[str, Any]:
        planner = self._planners.get(profile.sandbox)
        if planner is None:
            raise Refused(f"no planner configuration is known that keeps to {profile.sandbox}")
        return planner

    def start(self, session: SessionView, client_id: str, text: str, profile: Profile) -> NativeTurn:
        """See `Runtime.start`. A message that is there already under this client id is not sent again."""
        current = session.current
        if current is None or current.thread_id not in self._mine.loaded:
            raise Refused("the conversation is not loaded")
        planner = self._planner(profile)
        known = session.client_ids | {client_id}
        if not self._is_there(current.thread_id, client_id, known):
            self._send(current.thread_id, client_id, text, planner)
        native = self._find(current.thread_id, client_id, known)
        self._mine.made.pop(session.id, None)
        self._mine.started[native] = _Started(client_id, frozenset(known))
        return native

    def _is_there(self, cascade_id: str, client_id: str, known: Iterable[str]) -> bool:
        read = reading.look(self._server, cascade_id, frozenset(known))
        if not read.agree:
            raise Refused(f"nothing was sent: the conversation could not be read as one ({read.problem})")
        there = client_id in (read.client_ids or {}).values()
        if not there and read.run_state != "idle":
            raise Refused(f"nothing was sent: the conversation's run status is {read.run or 'not told'}")
        return there

    def _send(self, cascade_id: str, client_id: str, text: str, planner: Mapping[str, Any]) -> None:
        asked = {
            "cascadeId": cascade_id,
            "items": [{"text": text}],
            "cascadeConfig": {"plannerConfig": dict(planner)},
            "tags": [client_id],
            "deliveryStrategy": "WHEN_IDLE",
        }
        try:
            self._server.act("SendUserCascadeMessage", asked)
        except Uncertain:
            return  # it may have arrived; looking for it tells

    def _find(self, cascade_id: str, client_id: str, known: Iterable[str]) -> NativeTurn:
        """The native turn of a message that was sent; its answer names none."""
        why = "it is not there yet"
        for _ in range(self._limits.looks):
            read = reading.look(self._server, cascade_id, frozenset(known))
            mine = [one for one in conversation.invocations(read) if client_id in one.client_ids]
            if len(mine) > 1 or (mine and mine[0].client_ids.count(client_id) > 1):
                raise Uncertain("the message is there more than once")
            if mine and mine[0].execution:
                return mine[0].native
            why = read.problem or why
            self._closing.wait(self._limits.pause)
        raise Uncertain(f"the message was sent, or may have been, and was not found: {why}")

    def observe(self, native: NativeTurn, timeout: float) -> Observation:
        """See `Runtime.observe`. Facts are told only of a look that was whole. A turn that another process started can
        be watched as well, but not whether somebody else writes into it."""
        deadline, closing = time.monotonic() + timeout, self._closing
        while True:
            seen = self._look_at(native)
            one = seen.bound
            cancelled = native in self._mine.cancelled
            now = conversation.observation(one, cancelled) if one is not None else Observation("in_progress", False)
            left = deadline - time.monotonic()
            if now.ended or left <= 0 or closing.is_set():
                break
            closing.wait(min(self._limits.pause, left))
        if not all(read.answered for read in seen.conversations):
            raise Unreadable(str(seen.problem))
        return replace(now, readings=facts.readings(seen) if seen.agree else {})

    def _look_at(self, native: NativeTurn) -> Seen:
        started = self._mine.started.get(native)
        client_id, known = (started.client_id, started.known) if started is not None else ("", None)
        at = self._clock()
        read = reading.look(self._server, native.thread_id, known or frozenset())
        return Seen([read], known, client_id, native, at, self._mine.cancelled)

    def cancel(self, native: NativeTurn) -> None:
        """See `Runtime.cancel`. Nothing is sent to a turn that provably moves no more.

        A cancellation ends whatever works in the conversation: it is sent only while that can be nothing but this turn.
        """
        if not self._ended(native):
            one = self._look_at(native).bound
            if one is None or not one.last:
                why = "it was not found there" if one is None else "somebody else has written behind it"
                raise Uncertain(f"what works in the conversation may not be this turn: {why}; nothing was cancelled")
            answered = self._send_cancel(native)
            deadline, closing = time.monotonic() + self._limits.cancel_seconds, self._closing
            while not self._ended(native, answered):
                if time.monotonic() > deadline or closing.is_set():
                    raise Uncertain("the cancellation does not show")
                closing.wait(self._limits.pause)
        self._mine.cancelled.add(native)

    def _send_cancel(self, native: NativeTurn) -> bool:
        """Whether the server took it; False where no answer came."""
        try:
            self._server.act("CancelCascadeInvocation", {"cascadeId": native.thread_id, "killBackgroundTasks": True})
        except Refused as error:
            raise Uncertain(f"the cancellation was not taken: {error}") from None
        except Uncertain:
            return False
        return True

    def _ended(self, native: NativeTurn, cancelled: bool = False) -> bool:
        """Whether it provably moves no more. Idle alone is a proof only after a cancellation that the server took: a
        turn reads idle between two of its steps, too."""
        one = self._look_at(native).bound
        if one is None or not one.at_rest:
            return False
        return cancelled or one.final is not None or one.executor is not None or one.steps[-1].state == "CANCELED"

    def _read_once(self, cascade_id: str) -> Conversation:
        read = reading.look(self._server, cascade_id, frozenset())
        if not read.agree:
            raise Unreadable(f"the conversation could not be read as one: {read.problem}")
        return read

    def release(self, session: SessionView) -> bool:
        """See `Runtime.release`. Nothing is held at the server; only what is remembered here is let go."""
        for thread in session.threads:
            self._mine.loaded.discard(thread.thread_id)
        return True

    def close(self) -> None:
        """See `Runtime.close`. Who waits here stops waiting; the server goes on, because it is not ours."""
        closing, self._closing = self._closing, threading.Event()
        closing.set()
        self._mine = _Mine()


@dataclass(frozen=True, slots=True)
class _Started:
    """A turn that this process started: its client id, and every one that may stand in its conversation."""

    client_id: str
    known: frozenset[str]


@dataclass(slots=True)
class _Mine:
    """What this process remembers; none of it is needed to read."""

    loaded: set[str] = field(default_factory=set)
    made: dict[str, str] = field(default_factory=dict)
    started: dict[NativeTurn, _Started] = field(default_factory=dict)
    cancelled: set[NativeTurn] = field(default_factory=set)


def _identity(uri: str) -> tuple[int, int] | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        return None
    try:
        told = Path(unquote(parts.path)).stat()
    except (OSError, ValueError):
        return None
    return told.st_dev, told.st_ino
