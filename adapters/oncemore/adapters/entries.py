"""What stands in the operator's file, once it is read? Typed, with absolute paths, and without any secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from oncemore.engine.limits import Budgets

RuntimeName: TypeAlias = Literal["codex", "antigravity"]
Level: TypeAlias = Literal["workspace_read", "workspace_write", "portfolio_read"]
Role: TypeAlias = Literal["project", "steward", "agent"]
Sandbox: TypeAlias = Literal["read_only", "workspace_write"]
Language: TypeAlias = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class SecretEntry:
    """Where a secret is kept: in a variable of our environment, else in a file. Exactly one is set."""

    environment: str | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class CapacityEntry:
    """Where it is asked whether a runtime's route to its model has room.

    Attributes:
        base, target: the address, parted into the host that is asked and what stands behind it.
        path: keys and indexes that lead to the value in the answer.
        available, exhausted: the values that mean so; any other means neither.
        spread: for how long nobody else asks after one Request did, milliseconds.
    """

    base: str
    target: str
    path: tuple[str, ...]
    available: bool | int | str
    exhausted: bool | int | str
    spread: int


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Antigravity's desktop language server.

    Attributes:
        url: its address on the loopback.
        planners: by the sandbox that each keeps to.
    """

    url: str
    token: SecretEntry
    planners: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class HarnessEntry:
    """The harness of Antigravity's SDK.

    Attributes:
        base_url: of a provider that speaks OpenAI's chat interface.
        confined: the operator runs it where its commands reach only what they may.
    """

    model: str
    base_url: str
    confined: bool


@dataclass(frozen=True, slots=True)
class RuntimeEntry:
    """A native agent on this machine.

    Attributes:
        home: the runtime's own data folder.
        binary: its program; None for the one that comes with Oncemore's extra.
        environment: names of variables that it is given as we have them, beside the few that it always gets.
        hard_timeout: milliseconds that one turn may take.
        capacity: None where nothing says whether its route has room.
        server, harness: exactly one is set for antigravity, none for codex.
        markers: the states that mark a closed part of an interrupted answer; None for the usual ones.
        skew: by how many milliseconds the runtime's clock may differ from ours; None for the usual tolerance.
        result_steps, result_bytes: how much of an interrupted turn's results may be reviewed; None for the usual bound.
    """

    home: Path
    binary: Path | None
    environment: tuple[str, ...]
    hard_timeout: int
    capacity: CapacityEntry | None = None
    server: ServerEntry | None = None
    harness: HarnessEntry | None = None
    markers: tuple[str, ...] | None = None
    skew: int | None = None
    result_steps: int | None = None
    result_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A place where people write.

    Attributes:
        base: the address of its API.
        language: of our own words, where a message does not show which one its author writes.
        events: None where it tells of no messages over HTTP.
    """

    kind: Literal["feishu"]
    base: str
    app_id: str
    secret: SecretEntry
    language: Language
    events: EventsEntry | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """A folder that an owner lets conversations work in.

    Attributes:
        path: absolute and normal; links in it are refused when it is opened, not here.
        owner: who gave the permission, as the Source names people.
        revision: raised by the owner with every change of the permission; conversations of an older one are held.
        role: of the Requests that are bound to it.
        runtime: what works in it.
        source: beside the App's inbox, where people may write to it; None for nowhere else.
        chats: of that Source; empty for the owner's private chat alone.
        recovery: false where the owner wants nothing taken up again by itself.
    """

    path: Path
    owner: str
    level: Level
    revision: int
    role: Role
    runtime: RuntimeName = "codex"
    source: str | None = None
    chats: tuple[str, ...] = ()
    recovery: bool = True


@dataclass(frozen=True, slots=True)
class WorkerEntry:
    """How the worker spends its time.

    Attributes:
        poll: milliseconds between looks for what is due.
        observe_again: milliseconds until a waiting Request is looked at again, where no gate says a time.
        name: for people; None for the host's name.
        lease: milliseconds without a sign after which others take a worker's Sessions.
        batch: how many due Requests are looked at when Sessions are taken.
    """

    poll: int
    observe_again: int
    name: str | None = None
    lease: int = 15_000
    batch: int = 8


@dataclass(frozen=True, slots=True)
class EventsEntry:
    """How a Source's events are believed: the app's token and its key for events."""

    token: SecretEntry
    encrypt_key: SecretEntry


@dataclass(frozen=True, slots=True)
class ServeEntry:
    """How the service is reached.

    Attributes:
        host, port: where it listens.
        hosts: names, with a port or without, by which it may be called, beside those of the loopback.
        origins: of pages elsewhere that may call.
        attempts: calls without a good key that one address may make in a minute.
        rate: calls that one key may make in a second.
        read_timeout: milliseconds within which a call has to come whole, its body included.
    """

    host: str = "127.0.0.1"
    port: int = 8711
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    attempts: int = 30
    rate: int = 20_000
    read_timeout: int = 30_000


@dataclass(frozen=True, slots=True)
class Configuration:
    """One reading of the operator's file; every path is absolute.

    Attributes:
        file: where it was read.
        digest: SHA-256 of its text.
        journal: the journal's database file, or the URL of its database on PostgreSQL.
        policies: the folder of rule files; None leaves the choice to the usual order.
        levels: the file that fills a new journal's levels; None for none.
        runtimes, workspaces, sources: by their ids.
        queue_patience: how long a person's message may wait to be started, milliseconds.
        reviews: the runtime that runs restricted reviews; None for no reviews.
        budgets: how many recoveries there may be; nothing is limited by default.
        keep_texts: for how long texts of ended Requests and logs of runtimes are kept, milliseconds; None for ever.
        keep_posted: for how long kept decisions on posted cases are; None for ever.
    """

    file: Path
    digest: str
    journal: Path | str
    policies: Path | None
    levels: Path | None
    runtimes: Mapping[RuntimeName, RuntimeEntry]
    workspaces: Mapping[str, WorkspaceEntry]
    worker: WorkerEntry
    queue_patience: int
    reviews: RuntimeName | None = None
    sources: Mapping[str, SourceEntry] = field(default_factory=lambda: MappingProxyType({}))
    budgets: Budgets = field(default_factory=Budgets)
    keep_texts: int | None = None
    keep_posted: int | None = None
    serve: ServeEntry = field(default_factory=ServeEntry)

    @property
    def data(self) -> Path:
        """The folder for what is kept beside the journal: the file's own, or `data` beside the operator's file."""
        return self.journal.parent if isinstance(self.journal, Path) else self.file.parent / "data"
