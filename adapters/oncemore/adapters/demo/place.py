"""Where does the demo play, and may that folder be used?

Only a folder that is new, empty, or marked as an earlier demo's. Everything that the commands need afterwards stays in
it: the configuration, the policies, the journal, Codex's own store, and what was written.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from oncemore.adapters.codex.home import write_config
from oncemore.adapters.configuration import NAME
from oncemore.adapters.demo.script import PARTS
from oncemore.adapters.errors import AdapterError
from oncemore.rules.folder import GROUPS
from oncemore.rules.shipped import shipped_policies

MARKER: Final = ".oncemore-demo"
MARKED: Final = "Made by `oncemore demo`, which empties this folder when it runs again.\n"

WORKSPACE: Final = "notes"
OWNER: Final = "ann"
POLICY: Final = "continue-unfinished-work"

KEY: Final = "ONCEMORE_DEMO_KEY"
"""The variable with the scripted model's key. It takes any; Codex asks no provider without one."""

OBSERVE_AGAIN: Final = "1s"
"""How soon a case is looked at again that waits for something without a time, such as a record still being written."""

OWN_POLICIES: Final = Path(__file__).parent / "policies"
"""The shipped policies whose times are too long for a demo, with shorter ones."""

TEXTS: Final = {
    "source/one.txt": "Part one: the notes of the first half of the year.\n",
    "source/two.txt": "Part two: the notes of the second half of the year.\n",
}
"""The sources; the second one is put there only after the first Turn."""


class FolderTaken(AdapterError):
    """The folder holds something that is not an earlier demo, or a demo that still runs."""


@dataclass(frozen=True, slots=True)
class Place:
    """The demo's folder; all paths are absolute, without links."""

    folder: Path

    @property
    def file(self) -> Path:
        """The operator's configuration."""
        return self.folder / NAME

    @property
    def journal(self) -> Path:
        """The journal's database."""
        return self.folder / "data" / "oncemore.db"

    @property
    def home(self) -> Path:
        """Codex's home, with its own store of threads."""
        return self.folder / "codex"

    @property
    def workspace(self) -> Path:
        """Where Codex may write."""
        return self.folder / "workspace"

    def part(self, name: str) -> Path:
        """An artifact."""
        return self.workspace / name

    def is_whole(self, part: str) -> bool:
        """Whether an artifact is there and says what its source says."""
        file = self.part(part)
        return file.is_file() and file.read_text(encoding="utf-8") == TEXTS[PARTS[part]]

    def bring_source(self, part: str) -> None:
        """Put the source of a part into the workspace."""
        _write(self.workspace / PARTS[part], TEXTS[PARTS[part]])


@contextmanager
def taken(folder: Path) -> Iterator[Place]:
    """The folder, marked and emptied, and nobody else's demo as long as the block runs.

    Raises:
        FolderTaken: it cannot be used; nothing in it was touched.
    """
    # A missing folder is made under its real parents: a workspace's path may hold no link.
    nameless = folder.name in ("", "..")
    place = Place(folder.resolve() if nameless else folder.parent.resolve() / folder.name)
    descriptor = _mark(place.folder)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderTaken(f"another demo runs in {place.folder} at this moment") from None
        _empty(place.folder)
        yield place
    finally:
        os.close(descriptor)


def furnish(place: Place, model: str, codex: Path | None) -> None:
    """Write everything of the story of unfinished work that stands there before anybody asks for anything.

    Args:
        model: the base address of the model.
        codex: the program; None for the one that comes with Oncemore's extra.
    """
    workspace = {"level": "workspace_write"}
    lay_out(place, [POLICY], {"codex": codex_runtime(place, model, codex)}, workspace)
    (place.workspace / "source").mkdir(mode=0o700)
    place.bring_source("part-one.md")


def lay_out(
    place: Place,
    policies: Sequence[str],
    runtimes: Mapping[str, Mapping[str, Any]],
    workspace: Mapping[str, Any],
    **more: Any,
) -> None:
    """Write the workspace's folder, the policies with their levels, and the operator's configuration.

    Args:
        policies: their names; each is taken from the demo's own where it has a time to shorten, else from the shipped.
        runtimes, workspace: their entries as the configuration has them; of the workspace what differs from story to
            story.
        more: further entries of the configuration.
    """
    place.workspace.mkdir(mode=0o700)
    folder = place.folder / "policies"
    folder.mkdir(mode=0o700)
    for name in policies:
        file = OWN_POLICIES / f"{name}.yaml"
        if not file.is_file():
            file = shipped_policies() / file.name
        _write(folder / file.name, file.read_text(encoding="utf-8"))
    shutil.copytree(shipped_policies() / GROUPS, folder / GROUPS)
    _write(folder / "levels.yaml", "".join(f"{name}: enforce\n" for name in policies))
    written = {
        "journal": "data/oncemore.db",
        "policies": "policies",
        "levels": "policies/levels.yaml",
        "runtimes": {name: dict(entry) for name, entry in runtimes.items()},
        "workspaces": {WORKSPACE: {"path": "workspace", "owner": OWNER, **workspace, "revision": 1}},
        "worker": {"observe_again": OBSERVE_AGAIN},
        **more,
    }
    _write(place.file, yaml.safe_dump(written, sort_keys=False))


def codex_runtime(place: Place, model: str, codex: Path | None) -> dict[str, Any]:
    """Codex's entry in the configuration, its home made with the model's address in it."""
    place.home.mkdir(mode=0o700)
    write_config(place.home, model, KEY)
    program = {} if codex is None else {"binary": str(codex)}
    return {"home": "codex", **program, "environment": [KEY]}


def antigravity_runtime(place: Place, url: str, token: str) -> dict[str, Any]:
    """The language server's entry in the configuration, its token in a file that only we may read."""
    (place.folder / "antigravity").mkdir(mode=0o700)
    _write(place.folder / "antigravity" / "token", token)
    return {
        "home": "antigravity",
        "server": url,
        "token": {"file": "antigravity/token"},
        "planners": {mode: {"requestedModel": {"model": "scripted"}} for mode in ("workspace_write", "read_only")},
    }


def capacity(model: str) -> dict[str, Any]:
    """The entry of a route's capacity that asks the scripted model.

    Args:
        model: its address without a path.
    """
    return {
        "url": f"{model}/capacity",
        "path": "state",
        "available": "available",
        "exhausted": "exhausted",
        "spread": OBSERVE_AGAIN,
    }


def _mark(folder: Path) -> int:
    """The marker's descriptor, the folder and the marker made where nothing was."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FolderTaken(f"{folder} is no folder; {_ADVICE}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (folder / MARKER).is_file() and any(folder.iterdir()):
            raise FolderTaken(f"{folder} holds something that is not an earlier demo, and is left as it is; {_ADVICE}")
        descriptor = os.open(folder / MARKER, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FolderTaken(f"{folder} cannot be used: {error.strerror}; {_ADVICE}") from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, MARKED.encode())
    return descriptor


_ADVICE = "name another one with --folder, or remove it yourself"


def _empty(folder: Path) -> None:
    for child in folder.iterdir():
        if child.name == MARKER:
            continue
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
