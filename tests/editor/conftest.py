"""An editor's language server, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.editor.language_server import ROOT, SERVER, LanguageServer


@pytest.fixture(scope="module")
def editor() -> Iterator[LanguageServer]:
    """A server that reads the schemas of this checkout, by the paths that the shipped policies name."""
    assert SERVER.exists(), "the language server is not installed; `make test` and `make .venv/.editor` do that"
    server = LanguageServer(ROOT / "policies")
    yield server
    server.close()
