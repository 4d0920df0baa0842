"""The runs of pytest inside these tests are not burdened with plugins that our own tests need."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def unburdened(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing this one takes longer than everything that is tested here."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:schemathesis")
