"""What the tests of the page share: one world for all of them, made once, and for each file a copy that is served."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.adapters.api.page.browser import Served, chromium
from tests.adapters.api.page.browser import served as serving
from tests.adapters.api.page.world import KEY, Told, build


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Everything that the page shows; of the processes that test, one makes it and the others wait."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, told = shared / "page-world", shared / "page-world.json"
    with (shared / "page-world.lock").open("w") as lock, pytest.MonkeyPatch.context() as patched:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            patched.setenv(KEY, "none")
            folder.mkdir()
            made = build(folder)
            told.write_text(json.dumps({"offset": made.offset, "requests": made.requests}))
    return Told(folder, **json.loads(told.read_text()))


@pytest.fixture(scope="module")
def served(world: Told, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service over a copy of the world."""
    with served_apart(world, tmp_path_factory.mktemp("page") / "world") as made:
        yield made


@contextmanager
def served_apart(world: Told, copy: Path) -> Iterator[Served]:
    """The service over a copy of the world that nobody else changes."""
    shutil.copytree(world.folder, copy, symlinks=True)
    configuration = copy / "oncemore.yaml"
    configuration.write_text(configuration.read_text().replace(str(world.folder), str(copy)))
    with serving(replace(world, folder=copy)) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for all tests of a file."""
    with chromium() as started:
        yield started


def decision_of(served: Served, workspace: str, outcome: str) -> str:
    """The digits of the newest decision of an outcome on the Request of a workspace."""
    from oncemore.engine.tables import Decision

    with served.service.house.journal.connected():
        found = (
            Decision.select(Decision.id)
            .where(Decision.request == served.told.requests[workspace], Decision.outcome == outcome)
            .order_by(Decision.at.desc())
            .scalar()
        )
    return str(found).removeprefix("sha256:")


ROOT = Path(__file__).resolve().parents[4]
