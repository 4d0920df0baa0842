"""A decision of an earlier day is explained today as it was then, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.decision.keeping import CASES, KEPT, main, rendered, texts_of

FOLDERS = sorted(folder for day in KEPT.iterdir() for folder in day.iterdir() if folder.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_an_earlier_decision_is_rendered_as_it_was(folder: Path) -> None:
    stored = (folder / "stored.json").read_bytes()
    found = dict(rendered(stored, texts_of(folder.parent.name)))
    assert len(found) == 19
    for file, content in found.items():
        assert content == (folder / file).read_bytes(), f"{folder.name}/{file}"


def test_every_kind_of_outcome_was_kept() -> None:
    assert {folder.name for folder in FOLDERS} == set(CASES)


def test_what_is_kept_is_never_written_again() -> None:
    with pytest.raises(FileExistsError):
        main(FOLDERS[0].parent.name)
