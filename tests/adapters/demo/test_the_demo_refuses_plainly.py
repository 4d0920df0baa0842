"""When the demo cannot be played, does it say why and leave things as they were?"""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from oncemore.adapters.cli.setup_commands import demo
from oncemore.adapters.demo.place import MARKER, FolderTaken, taken
from oncemore.adapters.demo.story import STORIES, WITHOUT_CODEX, run


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/codex"])
def test_a_program_that_is_not_codex_is_named_with_what_to_do(tmp_path: Path, program: str) -> None:
    said: list[str] = []
    assert run(tmp_path / "demo", said.append, codex=Path(program)) == 1
    (line,) = said
    assert program in line
    assert "pip install 'oncemore[codex]'" in line
    assert "--codex PATH" in line
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_elses_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("mine")
    said: list[str] = []
    assert run(tmp_path, said.append) == 1
    assert str(tmp_path) in said[-1]
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("letters.txt", "mine")]


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(FolderTaken), taken(tmp_path / "link"):
        pass
    assert list((tmp_path / "real").iterdir()) == []


def test_an_earlier_demo_is_emptied_and_what_its_links_lead_to_is_not(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    folder = tmp_path / "demo"
    with taken(folder) as place:
        (place.folder / "half").mkdir()
        (place.folder / "half" / "file").write_text("old")
        (place.folder / "link").symlink_to(outside)
    with taken(folder):
        assert [file.name for file in folder.iterdir()] == [MARKER]
    assert (outside / "kept").read_text() == "kept"


def test_a_demo_that_still_runs_keeps_its_folder(tmp_path: Path) -> None:
    with taken(tmp_path / "demo") as place:
        (place.folder / "file").write_text("in use")
        with pytest.raises(FolderTaken, match="another demo runs"), taken(tmp_path / "demo"):
            pass
        assert (place.folder / "file").read_text() == "in use"


def test_the_command_offers_every_story_and_no_other() -> None:
    (option,) = [one for one in demo.params if one.name == "story"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == list(STORIES)
    assert option.default == "unfinished"


@pytest.mark.parametrize("story", sorted(set(STORIES) - WITHOUT_CODEX))
def test_a_story_with_codex_is_not_begun_without_it(tmp_path: Path, story: str) -> None:
    said: list[str] = []
    assert run(tmp_path / "demo", said.append, codex=Path("/nowhere/codex"), story=story) == 1
    assert "--codex PATH" in said[-1]
    assert list(tmp_path.iterdir()) == []
