"""Does a restricted Codex leave alone what its home would have it start? Something is put there to find that out.

An MCP server and a hook, each a script that writes a file when it is started. The hook is trusted like one that a
person has looked at, so that an ordinary Codex over this home starts both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oncemore.adapters.codex import binary
from oncemore.adapters.codex.connection import Connection, environment
from oncemore.adapters.codex.processes import SEARCH_PATH, Processes, Settings
from oncemore.engine.errors import Unreadable

NAMES = ("mcp-server", "hook")

SCRIPT = "#!/bin/sh\necho started >> {mark}\n"

CONFIG = """
[mcp_servers.planted]
command = {server}

[[hooks.SessionStart]]
[[hooks.SessionStart.hooks]]
type = "command"
command = {hook}
"""


def plant(home: Path, folder: Path, program: Path | None) -> None:
    """Put both into a Codex home that is made already, and their scripts into a new folder.

    Raises:
        Unreadable: Codex does not list the hook, so that it could not be trusted.
    """
    folder.mkdir(mode=0o700)
    scripts = [folder / name for name in NAMES]
    for script in scripts:
        script.write_text(SCRIPT.format(mark=_mark(folder, script.name)), encoding="utf-8")
        script.chmod(0o700)
    config = home / "config.toml"
    server, hook = (json.dumps(str(script)) for script in scripts)
    written = config.read_text(encoding="utf-8") + CONFIG.format(server=server, hook=hook)
    config.write_text(written, encoding="utf-8")
    with _ordinary(home, program) as codex:
        for key, told in _hooks(codex, home).items():
            written += f"\n[hooks.state.{json.dumps(key)}]\ntrusted_hash = {json.dumps(told['currentHash'])}\n"
    config.write_text(written, encoding="utf-8")


def started(folder: Path) -> list[str]:
    """Which of the two were started so far."""
    return [name for name in NAMES if Path(_mark(folder, name)).exists()]


def armed(home: Path, program: Path | None) -> bool:
    """Whether an ordinary Codex over the home would run the hook, and one that is restricted knows of none."""
    with _ordinary(home, program) as codex:
        ordinary = [(told["enabled"], told["trustStatus"]) for told in _hooks(codex, home).values()]
    with Processes(Settings(binary.find(program))).reader(home) as codex:
        restricted = _hooks(codex, home)
    return ordinary == [(True, "trusted")] and not restricted


@contextmanager
def _ordinary(home: Path, program: Path | None) -> Iterator[Connection]:
    """A Codex as a person would start it over this home; it is asked for its lists only."""
    passed = environment(home, path=SEARCH_PATH, passed_on=())
    codex = Connection(binary.find(program), home, directory=str(home), environment=passed)
    try:
        yield codex
    finally:
        codex.close()


def _hooks(codex: Connection, home: Path) -> dict[str, dict[str, object]]:
    answer = codex.read("hooks/list", {"cwds": [str(home)]})
    try:
        return {str(hook["key"]): dict(hook) for place in answer["data"] for hook in place["hooks"]}
    except (KeyError, TypeError) as error:
        raise Unreadable("codex does not list its hooks in a known form") from error


def _mark(folder: Path, name: str) -> str:
    return str(folder / f"{name}-was-started")
