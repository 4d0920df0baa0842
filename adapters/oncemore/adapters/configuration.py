"""What has the operator configured? Everything that `oncemore.yaml` says, checked and with absolute paths.

Addresses, folders and programs stand in this file alone; all other doors name things by their ids. Whoever can write
it decides what runs, so a file that somebody else can write is not read.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from oncemore.adapters.errors import ConfigurationInvalid, ConfigurationRefused
from oncemore.rules import durations, source
from oncemore.rules.diagnostics import Diagnostic, in_order

NAME = "oncemore.yaml"
CODE = "A101"
MAX_BYTES = 1024 * 1024

RuntimeName: TypeAlias = Literal["codex", "antigravity"]
Level: TypeAlias = Literal["workspace_read", "workspace_write", "portfolio_read"]
Role: TypeAlias = Literal["project", "steward", "agent"]


@dataclass(frozen=True, slots=True)
class RuntimeEntry:
    """A native agent on this machine.

    Attributes:
        home: the runtime's own data folder.
        binary: its program; None for the one that comes with Oncemore's extra.
        environment: names of variables that it is given as we have them, beside the few that it always gets.
        hard_timeout: milliseconds that one turn may take.
    """

    home: Path
    binary: Path | None
    environment: tuple[str, ...]
    hard_timeout: int


@dataclass(frozen=True, slots=True)
class WorkspaceEntry:
    """A folder that an owner lets conversations work in.

    Attributes:
        path: absolute and normal; links in it are refused when it is opened, not here.
        owner: who gave the permission, as the Source names people.
        revision: raised by the owner with every change of the permission; conversations of an older one are held.
        role: of the Requests that are bound to it.
    """

    path: Path
    owner: str
    level: Level
    revision: int
    role: Role


@dataclass(frozen=True, slots=True)
class WorkerEntry:
    """How the worker spends its time.

    Attributes:
        poll: milliseconds between looks for what is due.
        observe_again: milliseconds until a waiting Request is looked at again, where no gate says a time.
    """

    poll: int
    observe_again: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """One reading of the operator's file; every path is absolute.

    Attributes:
        file: where it was read.
        digest: SHA-256 of its text.
        journal: the journal's database file.
        policies: the folder of rule files; None leaves the choice to the usual order.
        levels: the file that fills a new journal's levels; None for none.
        runtimes, workspaces: by their ids.
    """

    file: Path
    digest: str
    journal: Path
    policies: Path | None
    levels: Path | None
    runtimes: Mapping[RuntimeName, RuntimeEntry]
    workspaces: Mapping[str, WorkspaceEntry]
    worker: WorkerEntry


def find(home: Path | None = None) -> Path:
    """The file in the named folder, else in `ONCEMORE_HOME`, else in the current folder.

    Raises:
        ConfigurationRefused: there is none, or it cannot be looked for.
    """
    named = os.environ.get("ONCEMORE_HOME")
    folder, said = (home, "--home") if home else (Path(named), "ONCEMORE_HOME") if named else (Path(), "")
    file = folder.absolute() / NAME
    try:
        there = file.is_file()
    except OSError as error:  # such as a name that is too long
        raise ConfigurationRefused(f"{file} cannot be looked at: {error.strerror}") from error
    if not there:
        how = f" (named by {said})" if said else ""
        raise ConfigurationRefused(
            f"there is no {NAME} in {file.parent}{how}; `oncemore init {shlex.quote(str(file.parent))}` makes one, "
            "`--home DIR` or ONCEMORE_HOME names another folder"
        )
    return file


def load_configuration(path: Path) -> Configuration:
    """The file's contents.

    Relative paths in it are taken from the folder that the file is in, whose own links are resolved here.

    Raises:
        ConfigurationRefused: it is absent, cannot be read, or could have been written by somebody else.
        ConfigurationInvalid: it has mistakes; carries all of them.
    """
    content = _read(path)
    document = source.load_bytes(content, str(path))
    found = list(document.diagnostics)
    written = None
    if document.root is not None:
        try:
            written = _File.model_validate(document.root.value)
        except ValidationError as error:
            found += _diagnostics(error, document)
    if found or written is None:
        raise ConfigurationInvalid(in_order(found))
    return written.placed(path, hashlib.sha256(content).hexdigest())


def _read(path: Path) -> bytes:
    """The bytes, with the right to write judged on the very file that is read."""
    try:
        # Without O_NONBLOCK a pipe would keep us until somebody writes into it.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigurationRefused(f"{path} is not a file")
            if status.st_uid not in (0, os.geteuid()):
                raise ConfigurationRefused(
                    f"{path} belongs to another user, who could change what runs here: chown {os.geteuid()} "
                    + shlex.quote(str(path))
                )
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise ConfigurationRefused(
                    f"{path} can be written by others, who could change what runs here: chmod go-w "
                    + shlex.quote(str(path))
                )
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationRefused(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_BYTES:
        raise ConfigurationRefused(f"{path} is larger than {MAX_BYTES} bytes")
    return content


def _path(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("a path is not empty and holds no NUL")
    if text.startswith("~"):
        raise ValueError("~ is not expanded here; write the whole path, or one relative to this file's folder")
    return text


def _id(text: str) -> str:
    if not re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", text):
        raise ValueError("an id has 1 to 64 characters: a to z, 0 to 9 and, not at its start, hyphens")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text, re.ASCII):
        raise ValueError("write the name of a variable alone, without its value")
    return text


def _owner(text: str) -> str:
    if not re.fullmatch(r"\S{1,200}", text) or not text.isprintable():
        raise ValueError("an owner is written as the Source names people, 1 to 200 characters without spaces")
    return text


def _duration(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("write a duration with its unit, such as 2s or 15m")
    ms = durations.parse(value)
    if ms == 0:
        raise ValueError("a duration here is longer than 0s")
    return ms


Id = Annotated[str, AfterValidator(_id)]
Variable = Annotated[str, AfterValidator(_variable)]
Owner = Annotated[str, AfterValidator(_owner)]
WrittenPath = Annotated[str, AfterValidator(_path)]
Span = Annotated[int, BeforeValidator(_duration)]


class _Written(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Runtime(_Written):
    home: WrittenPath
    binary: WrittenPath | None = None
    environment: list[Variable] = []
    hard_timeout: Span = 15 * 60_000


class _Workspace(_Written):
    path: WrittenPath
    owner: Owner
    level: Level
    revision: Annotated[int, Field(ge=1, lt=2**63)]
    role: Role = "project"


class _Worker(_Written):
    poll: Span = 2_000
    observe_again: Span = 30_000


class _File(_Written):
    journal: WrittenPath
    policies: WrittenPath | None = None
    levels: WrittenPath | None = None
    runtimes: dict[RuntimeName, _Runtime] = {}
    workspaces: dict[Id, _Workspace] = {}
    worker: _Worker = _Worker()

    def placed(self, file: Path, digest: str) -> Configuration:
        """The same with every path absolute."""
        folder = file.parent.resolve()

        def at(written: str) -> Path:
            # POSIX lets two leading slashes mean something else, and normpath keeps them.
            return Path(os.path.normpath(folder / written).replace("//", "/", 1))

        def maybe(written: str | None) -> Path | None:
            return None if written is None else at(written)

        runtimes: dict[RuntimeName, RuntimeEntry] = {
            name: RuntimeEntry(at(one.home), maybe(one.binary), tuple(one.environment), one.hard_timeout)
            for name, one in self.runtimes.items()
        }
        workspaces = {
            name: WorkspaceEntry(at(one.path), one.owner, one.level, one.revision, one.role)
            for name, one in self.workspaces.items()
        }
        return Configuration(
            file=folder / file.name,
            digest=digest,
            journal=at(self.journal),
            policies=maybe(self.policies),
            levels=maybe(self.levels),
            runtimes=MappingProxyType(runtimes),
            workspaces=MappingProxyType(workspaces),
            worker=WorkerEntry(self.worker.poll, self.worker.observe_again),
        )


_WORDS = {
    "string_type": "text is wanted here; quote what would be read as something else",
    "int_type": "a whole number is wanted here",
    "greater_than_equal": "the number is 1 or more",
    "less_than": "the number does not fit 64 bits",
    "model_type": "keys with their values are wanted here",
    "dict_type": "keys with their values are wanted here; leave the key out when there are none",
    "list_type": "a list is wanted here",
}


def _diagnostics(error: ValidationError, document: source.Document) -> Iterator[Diagnostic]:
    """Pydantic's findings, each at its place; none on a part that reading the YAML refused already."""
    problems = error.errors(include_url=False)
    misspelled = {
        (*loc[:-1], near)
        for loc in (problem["loc"] for problem in problems if problem["type"] == "extra_forbidden")
        for near in difflib.get_close_matches(str(loc[-1]), _model_at(loc[:-1]).model_fields, n=1)
    }
    for problem in problems:
        loc = problem["loc"]
        if problem["type"] == "missing" and loc in misspelled:
            continue
        on_key = problem["type"] == "extra_forbidden" or loc[-1:] == ("[key]",)
        path = loc[:-1] if loc[-1:] == ("[key]",) else loc
        parents = [document.root and document.root.get(*path[:depth]) for depth in range(len(path) + 1)]
        if document.diagnostics and (problem["type"] == "missing" or any(node and node.broken for node in parents)):
            continue
        if problem["type"] == "missing":
            path = path[:-1]
            on_key = bool(path)
        message, help = _described(problem)
        yield document.diagnostic(CODE, message, _place(document, path, on_key), path=path, help=help)


def _place(document: source.Document, path: tuple[int | str, ...], on_key: bool) -> source.Place:
    root = document.root
    if root is None:
        return source.Place(0, 0)
    node = root.get(*path)
    parent = root.get(*path[:-1])
    key = parent.keys.get(str(path[-1])) if parent is not None and path else None
    if key is not None and (on_key or node is None):
        return key
    return node.place if node is not None else root.place


def _described(problem: ErrorDetails) -> tuple[str, str | None]:
    """Message and help for one of pydantic's findings, in the words of this file."""
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "missing":
        return f'"{place[-1]}" is missing', None
    if kind == "extra_forbidden":
        known = list(_model_at(place[:-1]).model_fields)
        return f'"{place[-1]}" is not known here', _nearest(str(place[-1]), known)
    if kind == "literal_error":
        wanted = re.findall("'([^']*)'", problem["ctx"]["expected"])
        return f'"{given}" is not one of {", ".join(wanted)}', _nearest(str(given), wanted)
    if kind == "value_error":
        return str(problem["ctx"]["error"]), None
    return _WORDS.get(kind, problem["msg"]), None


def _model_at(place: tuple[int | str, ...]) -> type[_Written]:
    below: dict[int | str, type[_Written]] = {"runtimes": _Runtime, "workspaces": _Workspace, "worker": _Worker}
    return below[place[0]] if place else _File


def _nearest(given: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(given, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
