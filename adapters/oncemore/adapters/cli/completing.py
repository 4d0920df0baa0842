"""Which names can stand where a shell asks how a command line goes on?

A shell asks with every press of a key, so nothing slow is imported: names are read off the files, and what cannot be
read is offered nowhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from oncemore.adapters.cli.choice import VARIABLE
from oncemore.rules.errors import NoPolicies
from oncemore.rules.shipped import shipped_policies, shipped_schemas

if TYPE_CHECKING:
    import click

_NAME = re.compile(r"^policy:[ \t]*([a-z0-9][a-z0-9-]{0,63})[ \t]*(?:#.*)?$", re.MULTILINE)


def policy_names(ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The policies that the command would work with."""
    named = (_names_in(folder) for folder in _folders(ctx.params.get("policies")))
    return [CompletionItem(name) for name in next(filter(None, named), ()) if name.startswith(begun)]


def fact_names(_ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The facts, and the first parts of their names, with what they mean."""
    try:
        schema = json.loads((shipped_schemas() / "facts.schema.json").read_bytes())
        facts: dict[str, dict[str, str]] = schema["$defs"]["Facts"]["properties"]
    except (NoPolicies, OSError, ValueError, LookupError):
        return []
    parts = {name.partition(".")[0]: f"All facts of {name.partition('.')[0]}." for name in facts}
    offered = parts | {name: described["description"] for name, described in facts.items()}
    return [CompletionItem(name, help=said) for name, said in offered.items() if name.startswith(begun)]


def schema_names(_ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The schemas."""
    try:
        files = sorted(shipped_schemas().glob("*.schema.json"))
    except NoPolicies:
        return []
    names = (file.name.removesuffix(".schema.json") for file in files)
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def _folders(given: Path | str | None) -> Iterator[Path]:
    if given is not None:
        yield Path(given)
        return
    if named := os.environ.get(VARIABLE):
        yield Path(named)
    yield Path("policies")
    try:
        yield shipped_policies()
    except NoPolicies:
        return


def _names_in(folder: Path) -> list[str]:
    names = set()
    for file in folder.glob("*.yaml"):
        if file.name.endswith("_test.yaml") or not file.is_file():
            continue
        try:
            names.update(_NAME.findall(file.read_text("utf-8")))
        except (OSError, UnicodeDecodeError):
            continue
    return sorted(names)
