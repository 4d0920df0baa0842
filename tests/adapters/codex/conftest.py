"""Fixtures of the tests of the Codex runtime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.adapters.codex.stage import Fake, Stage


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("MODEL_KEY", "a key for nobody")
    with ExitStack() as cleanup:
        yield Stage(tmp_path, cleanup)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)
