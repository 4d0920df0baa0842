"""The one script that is not ours is the released one, to the byte, with its licence beside it."""

from __future__ import annotations

import hashlib

from tests.adapters.api.page.conftest import ROOT

from oncemore.adapters.api.page.rendering import FOLDER, STATIC


def test_htmx_is_the_one_that_the_decisions_name() -> None:
    script = (FOLDER / "static" / "htmx.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() in (ROOT / "docs" / "decisions.md").read_text("utf-8")
    assert b'version:"2.0.11"' in script
    assert "Zero-Clause BSD" in (FOLDER / "static" / "htmx.LICENSE").read_text("utf-8")


def test_every_file_of_the_pages_is_served_and_none_is_empty() -> None:
    there = {file.name for file in (FOLDER / "static").iterdir()} - {"htmx.LICENSE"}
    assert there == set(STATIC)
    assert all((FOLDER / "static" / name).stat().st_size for name in STATIC)
