"""A world whose journal stands on PostgreSQL, with a scripted Codex."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import postgres
from tests.adapters.codex.scripted import install
from tests.engine.executor.world import KEY, World, world


@pytest.fixture
def on_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    url = postgres.server().fresh()
    with world(tmp_path, url) as made:
        made.program = install(tmp_path)
        made.configure()
        yield made
    postgres.drop(url)
