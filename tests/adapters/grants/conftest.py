"""A place with a workspace and a configuration that names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from oncemore.adapters.grants import ConfiguredGrants


@dataclass
class Place:
    """An operator's folder; `workspace` is a folder two levels below the file's."""

    file: Path
    workspace: Path
    now: int = 1_700_000_000_000

    @property
    def grants(self) -> ConfiguredGrants:
        return ConfiguredGrants(self.file, clock=lambda: self.now)

    def configure(self, **changes: object) -> None:
        entry = {"path": "rooms/one", "owner": "ou_1", "level": "workspace_write", "revision": 3} | changes
        fields = "".join(f"    {name}: {value}\n" for name, value in entry.items())
        self.file.write_text(f"journal: data/oncemore.db\nworkspaces:\n  one:\n{fields}")
        self.file.chmod(0o600)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    workspace = tmp_path / "rooms" / "one"
    workspace.mkdir(parents=True)
    for folder in (workspace, workspace.parent):
        folder.chmod(0o755)
    made = Place(tmp_path / "oncemore.yaml", workspace)
    made.configure()
    return made


@pytest.fixture
def held_open(place: Place) -> Iterator[Callable[[], int]]:
    """How many descriptors this process holds on folders of the place or above it; none may be left at the end."""
    above = {str(place.workspace), *map(str, place.workspace.parents)}

    def count() -> int:
        found = 0
        for name in os.listdir("/proc/self/fd"):
            try:
                found += os.readlink(f"/proc/self/fd/{name}") in above
            except FileNotFoundError:
                continue  # the listing's own descriptor
        return found

    before = count()
    yield lambda: count() - before
    assert count() == before
