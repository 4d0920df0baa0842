"""With what may Codex reach its model: a login, or a provider with its key?

One of the two is enough. Only files and the names of variables are looked at; no login is read and nothing is started.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONFIG, LOGIN = "config.toml", "auth.json"


@dataclass(frozen=True, slots=True)
class Access:
    """How a Codex home stands.

    Attributes:
        says: what is there, or what is lacking.
        mends: what mends it, each way a line; empty when nothing is lacking.
        variable: the environment variable that the key is to come from; None when none is needed.
    """

    says: str
    mends: str = ""
    variable: str | None = None

    @property
    def lacks(self) -> bool:
        """Nothing can run with it."""
        return bool(self.mends)


def codex_access(home: Path, passed_on: tuple[str, ...], program: Path | str, file: Path) -> Access:
    """How a home stands.

    Args:
        passed_on: the variables that the worker hands to Codex.
        program: the Codex program, for the command that logs in.
        file: the operator's configuration, for what is to be changed there.
    """
    if (home / LOGIN).is_file():
        return Access(f"{home} with a login")
    login = f"CODEX_HOME={shlex.quote(str(home))} {shlex.quote(str(program))} login"
    if not home.is_dir():
        login = f"mkdir -p -m 700 {shlex.quote(str(home))} && {login}"
    try:
        provider = _provider(home / CONFIG)
    except (OSError, ValueError) as error:
        return Access(f"{home / CONFIG} cannot be read: {error}", f"edit {home / CONFIG}")
    if provider is None:
        there = f"{home} has no login, and no provider with a key in {CONFIG}; one of the two is enough"
        own = f"or give {home / CONFIG} a model_provider with its env_key, and export that key"
        return Access(there, f"{login}\n{own}")
    name, table = provider
    variable = table.get("env_key")
    if not isinstance(variable, str) or "experimental_bearer_token" in table:
        return Access(f"{home} with the provider {name}")
    if variable not in passed_on:
        says = f"the provider {name} of {home / CONFIG} takes its key from {variable}, which is not passed on"
        return Access(says, f"add {variable} to `environment:` in {file}", variable)
    if not os.environ.get(variable):
        says = f"the provider {name} of {home / CONFIG} takes its key from {variable}, which is not set here"
        return Access(says, f"export {variable}=...", variable)
    return Access(f"{home} with the provider {name} and its key in {variable}", variable=variable)


def _provider(config: Path) -> tuple[str, Mapping[str, Any]] | None:
    """The provider that a configuration chooses, with its settings; None when it is Codex's own, which wants a login.

    Raises:
        OSError, ValueError: the configuration cannot be read.
    """
    if not config.is_file():
        return None
    settings = tomllib.loads(config.read_text("utf-8"))
    name = settings.get("model_provider")
    tables = settings.get("model_providers")
    table = tables.get(name) if isinstance(tables, Mapping) else None
    if not isinstance(table, Mapping) or table.get("requires_openai_auth"):
        return None
    return str(name), table
