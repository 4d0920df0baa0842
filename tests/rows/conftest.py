"""Rows are run as they are, or each with the rule that it names taken out."""

from __future__ import annotations

import pytest

from tests.rows.row import Removal


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-rule", action="store_true", help="take out what each row names; every row must fail")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--without-rule"):
        return
    for item in items:
        if item.get_closest_marker("row") is not None:
            item.add_marker(pytest.mark.xfail(strict=True, reason="its rule was taken out"))


@pytest.fixture
def taken_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """Called by the world's fixture with the world: takes out what the row names, when that was asked for."""

    def apply(world: object) -> None:
        mark = request.node.get_closest_marker("row")
        if mark is not None and request.config.getoption("--without-rule"):
            removal: Removal = mark.kwargs["removed"]
            removal.apply(monkeypatch, world)

    return apply
