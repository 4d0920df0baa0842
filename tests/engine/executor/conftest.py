"""The world that the executor's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.executor.world import KEY, World, world


@pytest.fixture
def w(tmp_path: Path, place: Path | str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    with world(tmp_path, place) as made:
        yield made
