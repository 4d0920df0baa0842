"""Which folders may be a workspace?"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oncemore.adapters.errors import FolderMissing, FolderUnreadable, FolderUnsafe
from oncemore.adapters.grants import open_folder

pytestmark = pytest.mark.usefixtures("held_open")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


def test_an_ordinary_folder_is_opened_and_recorded(place: Any) -> None:
    folder = open_folder(str(place.workspace))
    try:
        status = place.workspace.stat()
        assert (folder.device, folder.inode) == (status.st_dev, status.st_ino)
        assert os.fstat(folder.descriptor).st_ino == status.st_ino
        assert os.readlink(f"/proc/self/fd/{folder.descriptor}") == folder.path == str(place.workspace)
        assert os.listdir(folder.descriptor) == []
        assert not os.get_inheritable(folder.descriptor)
    finally:
        folder.close()


def test_only_one_descriptor_stays_open(place: Any, held_open: Callable[[], int]) -> None:
    folder = open_folder(str(place.workspace))
    assert held_open() == 1
    folder.close()
    assert held_open() == 0


def test_a_link_in_the_last_place_is_refused(place: Any) -> None:
    link = place.workspace.parent / "link"
    link.symlink_to(place.workspace)
    with pytest.raises(FolderUnsafe, match="a link or a file"):
        open_folder(str(link))


def test_a_link_among_the_parents_is_refused(place: Any) -> None:
    link = place.workspace.parent.parent / "link"
    link.symlink_to(place.workspace.parent)
    with pytest.raises(FolderUnsafe, match="a link or a file"):
        open_folder(str(link / "one"))


def test_a_link_to_nowhere_is_unsafe_and_not_missing(place: Any) -> None:
    link = place.workspace.parent / "link"
    link.symlink_to(place.workspace / "nowhere")
    with pytest.raises(FolderUnsafe):
        open_folder(str(link))


def test_a_file_is_no_folder(place: Any) -> None:
    with pytest.raises(FolderUnsafe):
        open_folder(str(place.file))


def test_a_folder_that_is_not_there_is_missing(place: Any) -> None:
    with pytest.raises(FolderMissing, match="not there"):
        open_folder(str(place.workspace / "deeper" / "still"))


def test_a_name_that_no_folder_can_have_is_unreadable(place: Any) -> None:
    with pytest.raises(FolderUnreadable, match="ENAMETOOLONG"):
        open_folder(str(place.workspace / ("x" * 300)))


@pytest.mark.parametrize("path", ["", "rooms", "/tmp/../etc", "/tmp/", "//tmp", "/tmp/./x"])
def test_a_path_that_is_not_absolute_and_normal_is_refused(path: str) -> None:
    with pytest.raises(FolderUnsafe, match="absolute and normal"):
        open_folder(path)


def test_the_root_directory_is_a_folder_too() -> None:
    folder = open_folder("/")
    folder.close()
    assert folder.path == "/"


@pytest.mark.parametrize("which", ["workspace", "parent"])
def test_a_folder_that_everybody_may_write_is_refused(place: Any, which: str) -> None:
    target: Path = place.workspace if which == "workspace" else place.workspace.parent
    target.chmod(0o757)
    with pytest.raises(FolderUnsafe, match="everybody") as caught:
        open_folder(str(place.workspace))
    assert f"chmod o-w {target}" in str(caught.value)
    assert str(target) not in caught.value.cause


def test_a_sticky_parent_that_everybody_may_write_is_accepted(place: Any) -> None:
    place.workspace.parent.chmod(0o1777)
    open_folder(str(place.workspace)).close()


def test_a_sticky_workspace_that_everybody_may_write_is_refused(place: Any) -> None:
    place.workspace.chmod(0o1777)
    with pytest.raises(FolderUnsafe, match="everybody"):
        open_folder(str(place.workspace))


@as_root
@pytest.mark.parametrize("which", ["workspace", "parent"])
def test_a_folder_that_another_group_may_write_is_refused(place: Any, which: str) -> None:
    target: Path = place.workspace if which == "workspace" else place.workspace.parent
    os.chown(target, -1, 54321)
    open_folder(str(place.workspace)).close()
    target.chmod(0o775)
    with pytest.raises(FolderUnsafe, match="a group"):
        open_folder(str(place.workspace))


@as_root
def test_a_folder_that_only_our_own_group_may_write_is_accepted(place: Any) -> None:
    place.workspace.chmod(0o770)
    assert place.workspace.stat().st_gid == 0
    open_folder(str(place.workspace)).close()


@as_root
def test_our_own_group_does_not_count_where_an_access_list_names_others(place: Any) -> None:
    # Version 2; user:: rwx, user 54321 rwx, group:: r-x, mask rwx, other none.
    entries = [(1, 7, 0xFFFFFFFF), (2, 7, 54321), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF)]
    packed = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + right.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, right, who in entries
    )
    try:
        os.setxattr(place.workspace, "system.posix_acl_access", packed)
    except OSError:
        pytest.skip("this file system keeps no access lists")
    assert stat.S_IMODE(place.workspace.stat().st_mode) == 0o770
    with pytest.raises(FolderUnsafe, match="a group"):
        open_folder(str(place.workspace))


@as_root
@pytest.mark.parametrize("which", ["workspace", "parent"])
def test_a_folder_of_another_user_is_refused(place: Any, which: str) -> None:
    target: Path = place.workspace if which == "workspace" else place.workspace.parent
    os.chown(target, 54321, -1)
    with pytest.raises(FolderUnsafe, match="belongs to another user"):
        open_folder(str(place.workspace))
