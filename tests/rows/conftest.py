"""Rows are run as they are, or each with the rule that it names taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peewee import IntegrityError
from tests.engine.executor.world import KEY, World, world
from tests.rows.row import Removal

from oncemore.engine.errors import OncemoreError

FAILS = (AssertionError, OncemoreError, IntegrityError, pytest.fail.Exception)
"""How a test fails for want of its rule. Anything else is a removal that does not fit, and no proof."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-rule", action="store_true", help="take out what each row names; every row must fail")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--without-rule", False):
        return
    for item in items:
        if item.get_closest_marker("row") is not None:
            item.add_marker(pytest.mark.xfail(raises=FAILS, strict=True, reason="its rule was taken out"))


@pytest.fixture
def taken_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """Called by the world's fixture with the world: takes out what the row names, when that was asked for."""

    def apply(world: object) -> None:
        mark = request.node.get_closest_marker("row")
        if mark is not None and request.config.getoption("--without-rule", False):
            removal: Removal = mark.kwargs["removed"]
            removal.apply(monkeypatch, world)

    return apply


@pytest.fixture
def w(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    with world(tmp_path) as made:
        taken_out(made)
        yield made
