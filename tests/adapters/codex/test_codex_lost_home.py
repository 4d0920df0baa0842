"""Does a home that was emptied or replaced ever prove that a thread held nothing?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.adapters.codex.stage import WRITE, Fake, Stage, values

from oncemore.adapters.codex import marker
from oncemore.engine.errors import Unreadable

LOST = {"read": "unreadable", "coverage": "partial", "status": "reported"}


def replace_home(stage: Stage) -> None:
    """Nothing is left of the home but its configuration."""
    config = (stage.home / "config.toml").read_bytes()
    shutil.rmtree(stage.home)
    stage.home.mkdir(mode=0o700)
    (stage.home / "config.toml").write_bytes(config)


def test_a_turn_whose_home_was_replaced_is_not_proven_absent(stage: Stage) -> None:
    native, _ = stage.run("request-1", "hello")
    stage.runtime.close()
    replace_home(stage)
    inventory = stage.inventory("request-1", native)
    assert not inventory.complete
    assert values(inventory, *LOST) == LOST
    evidence = inventory.readings["native.read"].evidence
    assert evidence is not None and "does not know the thread" in evidence.details["why"]


def test_a_thread_whose_home_was_replaced_is_not_replaced_by_a_new_one(stage: Stage) -> None:
    stage.run("request-1", "hello")
    stage.runtime.close()
    replace_home(stage)
    with pytest.raises(Unreadable):
        stage.load()
    assert stage.runtime.processes() == []
    assert stage.model.calls == 1


def test_a_thread_without_a_turn_whose_home_was_replaced_is_unknown_too(stage: Stage) -> None:
    stage.load()
    stage.runtime.close()
    assert stage.inventory("request-1").complete
    replace_home(stage)
    assert not stage.inventory("request-1").complete
    with pytest.raises(Unreadable):
        stage.load()


def test_a_home_that_is_replaced_while_its_thread_is_loaded_proves_nothing(stage: Stage) -> None:
    stage.load()
    assert stage.inventory("request-1").complete
    replace_home(stage)
    assert not stage.inventory("request-1").complete


def test_a_home_of_which_only_the_markers_are_left_proves_nothing_once_a_turn_was_seen(stage: Stage) -> None:
    native, seen = stage.run("request-1", "hello")
    assert seen.ended
    stage.runtime.close()
    for path in stage.home.iterdir():
        if path.is_dir() and path.name != marker.FOLDER:
            shutil.rmtree(path)
        elif path.name.partition(".")[2].startswith("sqlite"):
            path.unlink()
    assert not stage.inventory("request-1", native).complete


def test_a_thread_is_marked_in_private_before_anybody_learns_of_it(stage: Stage) -> None:
    loaded = stage.runtime.load(stage.session, WRITE, stage.workspace)
    folder = stage.home / marker.FOLDER
    assert [path.name for path in folder.iterdir()] == [loaded.thread.thread_id]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / loaded.thread.thread_id).stat().st_mode & 0o777 == 0o600


def test_a_thread_that_cannot_be_marked_is_not_given(stage: Stage) -> None:
    (stage.home / marker.FOLDER).symlink_to(stage.folder)
    with pytest.raises(Unreadable, match="cannot be written"):
        stage.load()
    assert stage.runtime.processes() == []
    assert list(stage.folder.iterdir()) == []


def test_a_mark_is_made_once_and_goes_once(fake: Fake) -> None:
    marker.make(fake.home, "0190-thread")
    marker.make(fake.home, "0190-thread")
    assert marker.made(fake.home, "0190-thread")
    marker.drop(fake.home, "0190-thread")
    marker.drop(fake.home, "0190-thread")
    assert not marker.made(fake.home, "0190-thread")


@pytest.mark.parametrize("name", ["../config.toml", "", ".", "a/b"])
def test_a_thread_id_that_is_no_file_name_is_never_marked(fake: Fake, name: str) -> None:
    (fake.home / "config.toml").write_text("")
    with pytest.raises(Unreadable):
        marker.make(fake.home, name)
    assert not marker.made(fake.home, name)
    marker.drop(fake.home, name)
    assert (fake.home / "config.toml").exists()


def test_a_link_or_a_folder_is_no_mark(fake: Fake, tmp_path: Path) -> None:
    folder = fake.home / marker.FOLDER
    folder.mkdir()
    (folder / "0190-link").symlink_to(fake.program)
    (folder / "0190-folder").mkdir()
    assert not marker.made(fake.home, "0190-link")
    assert not marker.made(fake.home, "0190-folder")
