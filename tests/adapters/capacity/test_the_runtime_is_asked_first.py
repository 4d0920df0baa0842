"""Whose word counts for a route? The runtime's own where it gives one, else the probe's, else nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.adapters.capacity.route import Page, page
from tests.adapters.codex.vendor import Vendor, vendor

from oncemore.adapters import wiring
from oncemore.adapters.codex.home import write_config
from oncemore.rules.case import Reading


@pytest.fixture
def told() -> Iterator[Vendor]:
    with vendor() as made:
        yield made


@pytest.fixture
def route() -> Iterator[Page]:
    with page() as made:
        made.says({"state": "open"})
        yield made


@contextmanager
def house(folder: Path, route: Page | None) -> Iterator[wiring.House]:
    folder.chmod(0o755)
    probe = (
        "" if route is None else f", capacity: {{url: '{route.base}/', path: state, available: open, exhausted: no}}"
    )
    file = folder / "oncemore.yaml"
    file.write_text(f"journal: data/oncemore.db\nruntimes:\n  codex: {{home: home{probe}}}\n")
    file.chmod(0o600)
    with wiring.opened(file, worker=True) as made:
        yield made


def read(folder: Path, route: Page | None) -> Reading:
    with house(folder, route) as made:
        return made.ports.capacity["codex"].read()


def test_a_runtime_without_a_word_leaves_it_to_the_probe(tmp_path: Path, route: Page) -> None:
    write_config(tmp_path / "home", "http://127.0.0.1:9/v1", "MODEL_KEY")
    found = read(tmp_path, route)
    assert found.evidence is not None
    assert (found.status, found.value, found.evidence.source) == ("known", "available", "probe")
    assert len(route.asked) == 1


def test_with_neither_word_nor_probe_it_is_missing(tmp_path: Path) -> None:
    write_config(tmp_path / "home", "http://127.0.0.1:9/v1", "MODEL_KEY")
    found = read(tmp_path, None)
    assert (found.status, found.value) == ("missing", None)


@pytest.mark.parametrize("provider", [None, "other"])
def test_the_accounts_word_counts_before_the_probe_where_the_route_goes_by_the_account(
    tmp_path: Path, route: Page, told: Vendor, provider: str | None
) -> None:
    told.log_in(tmp_path / "home", provider=provider)
    told.usage = {"rate_limit": {"allowed": False, "limit_reached": True}}
    found = read(tmp_path, route)
    assert found.evidence is not None
    own = provider is None
    assert (found.value, found.evidence.source) == (("exhausted", "codex") if own else ("available", "probe"))
    assert (told.asked, len(route.asked)) == ((1, 0) if own else (0, 1))


def test_a_word_that_contradicts_itself_is_not_overruled_by_the_probe(
    tmp_path: Path, route: Page, told: Vendor
) -> None:
    told.log_in(tmp_path / "home")
    told.usage = {"rate_limit_reached_type": {"type": "rate_limit_reached"}}
    found = read(tmp_path, route)
    assert (found.status, found.value, route.asked) == ("conflict", None, [])


def test_a_vendor_that_does_not_answer_leaves_it_to_the_probe(tmp_path: Path, route: Page, told: Vendor) -> None:
    told.log_in(tmp_path / "home")
    told.usage = None
    assert read(tmp_path, route).value == "available"
