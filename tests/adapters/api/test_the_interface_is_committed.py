"""docs/openapi.json is what the routes declare."""

from __future__ import annotations

from tests.adapters.api.document import FILE, written


def test_what_is_written_down_is_what_the_routes_declare() -> None:
    assert written() == FILE.read_text("utf-8"), "run `python -m tests.adapters.api.document`"
