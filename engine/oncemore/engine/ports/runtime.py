"""What does the engine need of a native agent: its threads, its turns, and what can be done with them?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from oncemore.engine.ports.workspace import Profile, Workspace
from oncemore.rules.case import Reading


@dataclass(frozen=True, slots=True)
class Thread:
    """A native thread that a Session uses or has used; `home` is part of its identity."""

    runtime: str
    home: str
    thread_id: str


@dataclass(frozen=True, slots=True)
class NativeTurn:
    """A turn as the runtime names it."""

    thread_id: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """What a runtime needs to know of a Session.

    Attributes:
        home: the runtime's own data folder (codex: CODEX_HOME), absolute.
        threads: every native thread in the order of use; the last is the current one; empty before the first Turn.
        client_ids: the client ids of every Turn of ours in this Session that may have been started: an input under
            any other id, or under none, is foreign.
        set_aside: ids of threads that were used for one Turn only, such as a review, and are not gone on with.
    """

    id: str
    runtime: str
    home: str
    threads: tuple[Thread, ...]
    client_ids: frozenset[str] = frozenset()
    set_aside: frozenset[str] = frozenset()

    @property
    def current(self) -> Thread | None:
        """The thread that the next Turn runs in."""
        going_on = [thread for thread in self.threads if thread.thread_id not in self.set_aside]
        return going_on[-1] if going_on else None


@dataclass(frozen=True, slots=True)
class TurnView:
    """The Turn that an inventory is about: its own identity and, once it was started, the native one.

    Attributes:
        input_digest: of the text that was sent, as `texts.digest` writes it.
        started_at, ended_at: when the start was called and the end was stored here, milliseconds since the epoch.
    """

    client_id: str
    native: NativeTurn | None = None
    input_digest: str | None = None
    started_at: int | None = None
    ended_at: int | None = None


NativeStatus = Literal["completed", "failed", "interrupted", "in_progress"]


@dataclass(frozen=True, slots=True)
class NativeRecord:
    """One native turn in an inventory.

    Attributes:
        client_ids: of its user messages in order, as the runtime stored them; None for an input without one.
        ended_at: the runtime's own recorded end in milliseconds, rounded up to its unit's end; None when not recorded.
    """

    native: NativeTurn
    client_ids: tuple[str | None, ...]
    status: NativeStatus
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything that the runtime holds of a Session's threads, read completely and twice.

    Attributes:
        readings: the `native.*` facts (and `material.*`, `route.*` where the runtime supplies them) about the Turn
            asked for. A fact that this runtime cannot supply is not in it.
        complete: every page of every recorded thread was read and two reads agree: only then does a turn that is not
            listed not exist.
        turns: oldest first over all recorded threads.
        digest: SHA-256 of the canonical content.
        observed_at: milliseconds since the epoch.
        answer: the final answer's text of the Turn asked for; None when there is not exactly one.
        only_reading: whether the Turn asked for did nothing but look, by its items and its log; None when not known.
        observation: the end of the Turn asked for as `Runtime.observe` would tell it; None when it was not found or
            has no proven end.
    """

    readings: Mapping[str, Reading]
    complete: bool
    turns: tuple[NativeRecord, ...]
    digest: str
    observed_at: int
    answer: str | None = None
    only_reading: bool | None = None
    observation: Observation | None = None

    def under(self, client_id: str) -> tuple[NativeRecord, ...]:
        """The native turns that hold an input under this client id."""
        return tuple(turn for turn in self.turns if client_id in turn.client_ids)


TurnError = Literal[
    "none",
    "usage_limit_exceeded",
    "rate_limit_exceeded",
    "runtime_error",
    "upstream_transport_failure",
    "route_unavailable",
    "response_timeout",
    "idle_timeout",
    "hard_timeout",
    "other",
]


@dataclass(frozen=True, slots=True)
class Observation:
    """What a running native turn is doing.

    Attributes:
        ended: the runtime recorded its end, or (`projected`) it provably cannot go on.
        answer: the final answer's text, once ended; None when there was none.
        error: the class of a failure, from the runtime's typed error alone.
        deltas: whether any part of an answer was seen.
        ended_at: the runtime's own end, as in `NativeRecord`.
        retries: how often the runtime itself said that it did not get through to its model and tries again.
        readings: the `native.*` facts of this very look, where the runtime's look was complete; a policy may settle
            the Turn on them while it runs.
    """

    status: NativeStatus
    ended: bool
    answer: str | None = None
    error: TurnError = "none"
    deltas: bool = False
    ended_at: int | None = None
    retries: int = 0
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A thread that this process now owns (codex: it holds the native writer lock).

    Attributes:
        created: the thread is new; the Session's recorded one, if any, provably never held a turn.
    """

    thread: Thread
    created: bool


class Runtime(Protocol):
    """A native agent."""

    @property
    def name(self) -> str:
        """The word for it in `native.runtime`."""

    def inventory(self, session: SessionView, turn: TurnView) -> Inventory:
        """Read the Session's recorded threads, and only those. Never loads a thread, never starts a model.

        What could not be read is in the readings as unknown. Raises `Unreadable` only when nothing could be said.
        """

    def material(self, session: SessionView, turn: TurnView) -> Mapping[str, str]:
        """What an interrupted turn left, as the `material.*` facts speak of it: the text, under the word of
        `material.kind` and under nothing else. Raises `Unreadable`."""

    def restricted(self, session: SessionView) -> Reading:
        """`route.restricted_profile`: whether the process that has the Session's current thread loaded, or one that
        would load a new thread for a review in its home, is restricted to reading, as such a process itself says. A
        runtime that has no such profile says missing."""

    def load(self, session: SessionView, profile: Profile, workspace: Workspace) -> Loaded:
        """Own the Session's current thread, or make its first one, in the opened workspace.

        Loading a thread that this process already owns answers at once.

        Raises:
            Busy: somebody else has the thread loaded.
            Refused: the thread reports another folder, another thread or a wider profile than asked for; it was let go.
            Unreadable: the runtime did not answer, or could not be started.
        """

    def start(self, session: SessionView, client_id: str, text: str, profile: Profile) -> NativeTurn:
        """Begin one turn in the loaded thread under our client id. At most one model run follows.

        Raises:
            Refused: the runtime said no; nothing runs.
            Uncertain: no answer arrived; it may run.
        """

    def observe(self, native: NativeTurn, timeout: float) -> Observation:
        """What the turn does now; waits up to `timeout` seconds for its end.

        Raises:
            Unreadable: the owner is gone or did not answer.
        """

    def cancel(self, native: NativeTurn) -> None:
        """Interrupt the turn and end the commands that it left in the background; confirmed by reading back.

        Raises:
            Uncertain: not confirmed.
        """

    def release(self, session: SessionView) -> bool:
        """Let the thread go if nothing of it runs in the background any more; whether it was let go or not held."""

    def close(self) -> None:
        """Let everything go: end every process of ours."""
