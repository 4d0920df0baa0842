"""The interface as it is committed: `python -m tests.adapters.api.document` writes docs/openapi.json anew."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.adapters.api.conftest import opened

from oncemore.adapters.api.app import routed
from oncemore.adapters.api.openapi import document

FILE = Path(__file__).parents[3] / "docs" / "openapi.json"


def written() -> str:
    """What the file should hold."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder).resolve()) as world:
        return json.dumps(document(routed(world.service)), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
