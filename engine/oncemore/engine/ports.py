"""What does the engine need of the outside? The protocols that adapters satisfy, and the typed things they exchange.

An adapter returns what it read, with evidence, or raises a `PortError`; it never returns a default for what it could
not read. Reads never start a native session or a model. Observations never authorise: only a decision does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from oncemore.rules.case import Reading


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder, opened without following a link in any component.

    Attributes:
        path: as configured, absolute.
        device, inode: what the opened descriptor is; a path that resolves to another pair is another folder.
        descriptor: the open directory; -1 when it is only recorded. The holder closes it.
    """

    path: str
    device: int
    inode: int
    descriptor: int = -1

    def close(self) -> None:
        """Close the descriptor, if one is held."""
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def same_folder(self, other: Workspace) -> bool:
        """Whether both are the same folder of the file system."""
        return (self.device, self.inode) == (other.device, other.inode)


@dataclass(frozen=True, slots=True)
class Profile:
    """Under what limits a Turn runs; recorded with it, passed explicitly, compared with what the runtime reports.

    Attributes:
        writable_roots: folders beside the workspace that may be written.
        approvals: `never`: nobody is asked, what would need asking is refused.
    """

    sandbox: Literal["read_only", "workspace_write"]
    writable_roots: tuple[str, ...] = ()
    network: bool = False
    approvals: Literal["never"] = "never"

    def narrowed(self, other: Profile) -> Profile:
        """The limits that both allow; never wider than either."""
        read_only = "read_only" in (self.sandbox, other.sandbox)
        return Profile(
            sandbox="read_only" if read_only else "workspace_write",
            writable_roots=() if read_only else tuple(r for r in self.writable_roots if r in other.writable_roots),
            network=self.network and other.network,
        )


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


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A message as it was accepted.

    Attributes:
        message: the Source's own id of it.
        sender: who wrote it, as verified at acceptance.
        digest: SHA-256 of its accepted content.
    """

    source: str
    message: str
    sender: str
    digest: str


@dataclass(frozen=True, slots=True)
class Newer:
    """Human messages of the same conversation after a message, in the Source's order.

    Attributes:
        messages: their ids; commands that end nothing (`/status`, `/help`, `/why`), reactions and our own posts do
            not count.
    """

    messages: tuple[str, ...]
    observed_at: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The Source's word that a reply arrived.

    Attributes:
        reply: the Source's id of our reply; None when it took it without naming it.
    """

    reply: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Search:
    """The result of looking for a reply of ours.

    Attributes:
        receipt: the reply by our own bot, under this message, with the frozen text.
        absence_proven: the read was complete and would have shown it.
    """

    receipt: Receipt | None
    absence_proven: bool
    observed_at: int


class Source(Protocol):
    """Where the human message lives and the answer goes."""

    @property
    def name(self) -> str:
        """Its configured id."""

    @property
    def key_window(self) -> int:
        """For how long after the first try the Source keeps at most one reply under one key with one text, in
        milliseconds. Within it, a try whose answer was lost may be made again. Zero where there is no such promise."""

    def read(self, ref: SourceRef) -> Mapping[str, Reading]:
        """`source.state` and `source.sender_verified`, the message read back and compared with what was accepted."""

    def newer(self, ref: SourceRef) -> Newer:
        """Human messages after this one. Raises `Unreadable`."""

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        """Send one reply to the message, under a key that is the same for every try.

        Raises:
            Refused: the Source said no; nothing was sent.
            Uncertain: no answer arrived; it may have been sent.
        """

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        """Look for our reply: by its receipt, else by key or frozen text. Raises `Unreadable`."""


@dataclass(frozen=True, slots=True)
class GrantRef:
    """A grant as it stood when the Session was made.

    Attributes:
        workspace_id: the configured id of the workspace.
        level: `workspace_read`, `workspace_write` or `portfolio_read`.
        root: the folder as it was then, without an open descriptor.
    """

    workspace_id: str
    owner: str
    level: str
    revision: int
    root: Workspace


@dataclass(frozen=True, slots=True)
class GrantReading:
    """A grant as it stands now.

    Attributes:
        readings: `grant.state` and `grant.level`.
        profile: the widest profile that it allows; None when it allows none.
        workspace: the folder, opened; None when it could not be opened. The caller closes it.
    """

    readings: Mapping[str, Reading]
    profile: Profile | None = None
    workspace: Workspace | None = None


class Grants(Protocol):
    """The owner's permissions, read back."""

    def grant(self, workspace_id: str) -> GrantRef:
        """The grant as configured now, for a new Session.

        Raises:
            Refused: there is none of that id.
            Unreadable: it cannot be read.
        """

    def read(self, grant: GrantRef) -> GrantReading:
        """The grant now, compared with what was recorded."""


class Capacity(Protocol):
    """Whether a route to a model has room now."""

    def read(self) -> Reading:
        """`route.state`, read now; missing when there is no source of it. Raises `Unreadable`."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside as wired for one engine; by configured id where there can be several.

    Attributes:
        capacity: by the runtime's name; a runtime without one has no known capacity.
        reviews: the runtime that runs restricted reviews, and its home; None where no review can run.
    """

    runtimes: Mapping[str, Runtime] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    grants: Grants | None = None
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    reviews: tuple[str, str] | None = None
