"""Fixtures of the tests of Antigravity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.adapters.antigravity.stand import Stand
from tests.adapters.antigravity.workbench import Workbench, opened


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    with ExitStack() as cleanup:
        folder = tmp_path / "workspace"
        folder.mkdir()
        made = Stand(folder, cleanup)
        monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", made.server.token)
        yield made


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    with opened(tmp_path) as made:
        yield made
