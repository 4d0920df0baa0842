"""What has the operator configured? Everything that `oncemore.yaml` says, checked and with absolute paths.

Addresses, folders and programs stand in this file alone; all other doors name things by their ids. Whoever can write
it decides what runs, so a file that somebody else can write is not read.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from oncemore.adapters.entries import (
    CapacityEntry,
    Configuration,
    HarnessEntry,
    RuntimeEntry,
    RuntimeName,
    SecretEntry,
    ServerEntry,
    SourceEntry,
    WorkerEntry,
    WorkspaceEntry,
)
from oncemore.adapters.errors import ConfigurationInvalid, ConfigurationRefused
from oncemore.adapters.mistakes import framed
from oncemore.adapters.operators_file import OperatorsFile
from oncemore.rules import source
from oncemore.rules.diagnostics import in_order

__all__ = [
    "NAME",
    "CapacityEntry",
    "Configuration",
    "HarnessEntry",
    "RuntimeEntry",
    "RuntimeName",
    "SecretEntry",
    "ServerEntry",
    "SourceEntry",
    "WorkerEntry",
    "WorkspaceEntry",
    "find",
    "load_configuration",
]

NAME = "oncemore.yaml"
MAX_BYTES = 1024 * 1024


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
    return _parsed(content, str(path)).placed(path, hashlib.sha256(content).hexdigest())


@lru_cache(maxsize=4)
def _parsed(content: bytes, name: str) -> OperatorsFile:
    """What the file says. It is read before every start and every reply; the same bytes say the same."""
    document = source.load_bytes(content, name)
    found = list(document.diagnostics)
    written = None
    if document.root is not None:
        try:
            written = OperatorsFile.model_validate(document.root.value)
        except ValidationError as error:
            found += framed(error, document, OperatorsFile)
        else:
            found += written.amiss(document)
    if found or written is None:
        raise ConfigurationInvalid(in_order(found))
    return written


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
