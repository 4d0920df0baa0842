"""How is `oncemore.yaml` written, and what do its parts have to be to each other?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from oncemore.adapters.entries import (
    CapacityEntry,
    Configuration,
    EventsEntry,
    HarnessEntry,
    Language,
    Level,
    Role,
    RuntimeEntry,
    RuntimeName,
    Sandbox,
    SecretEntry,
    ServeEntry,
    ServerEntry,
    SourceEntry,
    WorkerEntry,
    WorkspaceEntry,
)
from oncemore.adapters.limits_section import BudgetsSection, RetentionSection
from oncemore.adapters.mistakes import at, nearest
from oncemore.adapters.written_values import (
    INBOX,
    STRICT,
    Base,
    Chat,
    Host,
    Id,
    Lease,
    Name,
    Origin,
    Owner,
    Port,
    Scalar,
    ServerUrl,
    SourceId,
    Span,
    Steps,
    Url,
    Variable,
    WrittenJournal,
    WrittenPath,
    parted,
)
from oncemore.engine.postgres import is_url
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.source import Document


class _Folder:
    """The folder of the file, from which relative paths are taken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def at(self, written: str) -> Path:
        # POSIX lets two leading slashes mean something else, and normpath keeps them.
        return Path(os.path.normpath(self._folder / written).replace("//", "/", 1))

    def maybe(self, written: str | None) -> Path | None:
        return None if written is None else self.at(written)


class _Written(BaseModel):
    model_config = STRICT


class _Secret(_Written):
    environment: Variable | None = None
    file: WrittenPath | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.environment is None) == (self.file is None):
            raise ValueError("name one place of the secret: environment, a variable's name, or file")
        return self

    def placed(self, folder: _Folder) -> SecretEntry:
        return SecretEntry(self.environment, folder.maybe(self.file))


class _Capacity(_Written):
    url: Url
    path: Steps
    available: Scalar
    exhausted: Scalar
    spread: Span = 10_000

    @model_validator(mode="after")
    def _two_values(self) -> Self:
        if (type(self.available), self.available) == (type(self.exhausted), self.exhausted):
            raise ValueError("available and exhausted are two values")
        return self

    def placed(self) -> CapacityEntry:
        base, target = parted(self.url)
        return CapacityEntry(base, target, tuple(self.path.split(".")), self.available, self.exhausted, self.spread)


class _Runtime(_Written):
    home: WrittenPath
    hard_timeout: Span = 15 * 60_000
    capacity: _Capacity | None = None


class _Codex(_Runtime):
    binary: WrittenPath | None = None
    environment: list[Variable] = []

    def placed(self, folder: _Folder) -> RuntimeEntry:
        return RuntimeEntry(
            home=folder.at(self.home),
            binary=folder.maybe(self.binary),
            environment=tuple(self.environment),
            hard_timeout=self.hard_timeout,
            capacity=None if self.capacity is None else self.capacity.placed(),
        )


class _Harness(_Written):
    model: Name
    base_url: Base
    binary: WrittenPath | None = None
    confined: bool = False


class _Results(_Written):
    steps: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    bytes: Annotated[int, Field(ge=1, lt=2**31)] | None = None


class _Antigravity(_Runtime):
    server: ServerUrl | None = None
    token: _Secret | None = None
    planners: Annotated[dict[Sandbox, dict[str, Any]] | None, Field(min_length=1)] = None
    harness: _Harness | None = None
    markers: Annotated[list[Name] | None, Field(min_length=1)] = None
    skew: Span | None = None
    results: _Results = _Results()

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.server is None) == (self.harness is None):
            raise ValueError("antigravity runs through its language server or through the harness: write one of both")
        if self.server is not None and (self.token is None or self.planners is None):
            raise ValueError("the language server needs its token's place and the planners")
        if self.harness is not None and (self.token is not None or self.planners is not None):
            raise ValueError("token and planners are the language server's; the harness takes none")
        return self

    def placed(self, folder: _Folder) -> RuntimeEntry:
        server = harness = binary = None
        if self.server is not None and self.token is not None and self.planners is not None:
            planners: dict[str, Mapping[str, Any]] = dict(self.planners.items())
            server = ServerEntry(self.server, self.token.placed(folder), MappingProxyType(planners))
        if self.harness is not None:
            harness = HarnessEntry(self.harness.model, self.harness.base_url, self.harness.confined)
            binary = folder.maybe(self.harness.binary)
        return RuntimeEntry(
            home=folder.at(self.home),
            binary=binary,
            environment=(),
            hard_timeout=self.hard_timeout,
            capacity=None if self.capacity is None else self.capacity.placed(),
            server=server,
            harness=harness,
            markers=None if self.markers is None else tuple(self.markers),
            skew=self.skew,
            result_steps=self.results.steps,
            result_bytes=self.results.bytes,
        )


class _Runtimes(_Written):
    codex: _Codex | None = None
    antigravity: _Antigravity | None = None

    def placed(self, folder: _Folder) -> Mapping[RuntimeName, RuntimeEntry]:
        found: dict[RuntimeName, RuntimeEntry] = {}
        if self.codex is not None:
            found["codex"] = self.codex.placed(folder)
        if self.antigravity is not None:
            found["antigravity"] = self.antigravity.placed(folder)
        return MappingProxyType(found)


class _Events(_Written):
    token: _Secret
    encrypt_key: _Secret

    def placed(self, folder: _Folder) -> EventsEntry:
        return EventsEntry(self.token.placed(folder), self.encrypt_key.placed(folder))


class _Source(_Written):
    kind: Literal["feishu"]
    base: Base = "https://open.feishu.cn"
    app_id: Name
    secret: _Secret
    language: Language = "en"
    events: _Events | None = None

    def placed(self, folder: _Folder) -> SourceEntry:
        events = None if self.events is None else self.events.placed(folder)
        return SourceEntry(self.kind, self.base, self.app_id, self.secret.placed(folder), self.language, events)


class _Workspace(_Written):
    path: WrittenPath
    owner: Owner
    level: Level
    revision: Annotated[int, Field(ge=1, lt=2**63)]
    role: Role = "project"
    runtime: RuntimeName | None = None
    source: Id | None = None
    chats: Annotated[list[Chat] | None, Field(min_length=1)] = None
    recovery: Literal["on", "off"] = "on"

    def placed(self, folder: _Folder) -> WorkspaceEntry:
        return WorkspaceEntry(
            path=folder.at(self.path),
            owner=self.owner,
            level=self.level,
            revision=self.revision,
            role=self.role,
            runtime=self.runtime or "codex",
            source=None if self.source == INBOX else self.source,
            chats=tuple(self.chats or ()),
            recovery=self.recovery == "on",
        )


class _Worker(_Written):
    poll: Span = 2_000
    observe_again: Span = 30_000
    name: Name | None = None
    lease: Lease = 15_000
    batch: Annotated[int, Field(ge=1, lt=1001)] = 8

    def placed(self) -> WorkerEntry:
        return WorkerEntry(self.poll, self.observe_again, self.name, self.lease, self.batch)


_USUAL = ServeEntry()


class _Serve(_Written):
    host: Name = _USUAL.host
    port: Port = _USUAL.port
    hosts: list[Host] = []
    origins: list[Origin] = []
    attempts: Annotated[int, Field(ge=1, lt=2**31)] = _USUAL.attempts
    rate: Annotated[int, Field(ge=1, lt=2**31)] = _USUAL.rate
    read_timeout: Span = _USUAL.read_timeout

    def placed(self) -> ServeEntry:
        hosts, origins = tuple(self.hosts), tuple(self.origins)
        return ServeEntry(self.host, self.port, hosts, origins, self.attempts, self.rate, self.read_timeout)


class OperatorsFile(_Written):
    """The whole file as it is written."""

    journal: WrittenJournal
    policies: WrittenPath | None = None
    levels: WrittenPath | None = None
    runtimes: _Runtimes = _Runtimes()
    reviews: RuntimeName | None = None
    sources: dict[SourceId, _Source] = {}
    workspaces: dict[Id, _Workspace] = {}
    queue_patience: Span = 60 * 60_000
    worker: _Worker = _Worker()
    budgets: BudgetsSection = BudgetsSection()
    retention: RetentionSection = RetentionSection()
    serve: _Serve = _Serve()

    def placed(self, file: Path, digest: str) -> Configuration:
        """The same with every path absolute."""
        real = file.parent.resolve()
        folder = _Folder(real)
        return Configuration(
            file=real / file.name,
            digest=digest,
            journal=self.journal if is_url(self.journal) else folder.at(self.journal),
            policies=folder.maybe(self.policies),
            levels=folder.maybe(self.levels),
            runtimes=self.runtimes.placed(folder),
            workspaces=MappingProxyType({name: one.placed(folder) for name, one in self.workspaces.items()}),
            worker=self.worker.placed(),
            queue_patience=self.queue_patience,
            reviews=self.reviews,
            sources=MappingProxyType({name: one.placed(folder) for name, one in self.sources.items()}),
            budgets=self.budgets.placed(),
            keep_texts=self.retention.texts,
            keep_posted=self.retention.posted or self.retention.texts,
            serve=self.serve.placed(),
        )

    def amiss(self, document: Document) -> Iterator[Diagnostic]:
        """What its parts, each of them right, are wrongly to each other."""
        runtimes = [name for name in ("codex", "antigravity") if getattr(self.runtimes, name) is not None]
        if self.reviews is not None and self.reviews not in runtimes:
            yield at(document, ("reviews",), f"no runtime {self.reviews} is configured here")
        for route in self.budgets.routes:
            if route not in runtimes:
                yield at(document, ("budgets", "routes", route), f"no runtime {route} is configured here")
        taken: dict[tuple[str, str], str] = {}
        for name, one in self.workspaces.items():
            place = ("workspaces", name)
            if one.runtime is not None and one.runtime not in runtimes:
                yield at(document, (*place, "runtime"), f"no runtime {one.runtime} is configured here")
            if one.source is None or one.source == INBOX:
                if one.chats is not None:
                    yield at(document, (*place, "chats"), "chats are those of a source; name it beside them")
                continue
            if one.source not in self.sources:
                known = nearest(one.source, [INBOX, *self.sources])
                yield at(document, (*place, "source"), f"no source {one.source} is configured here", help=known)
                continue
            for index, chat in enumerate(one.chats or [f"the private chat of {one.owner}"]):
                other = taken.setdefault((one.source, chat), name)
                if other != name or chat in (one.chats or [])[:index]:
                    where = (*place, "source") if one.chats is None else (*place, "chats", index)
                    yield at(document, where, f"{chat} leads to the workspace {other} already")
