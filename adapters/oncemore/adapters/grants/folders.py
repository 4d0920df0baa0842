"""Is this folder the one that was meant, and can nobody else put another in its place?

The path is walked from the root directory, one component at a time, each opened relative to the one before and
never through a link. What was opened is then judged by its descriptor, so nothing can be swapped between the look
and the use. People trusted to write: ourselves, root, and the members of a group that is ours alone.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
import sys

from oncemore.adapters.errors import FolderMissing, FolderUnreadable, FolderUnsafe
from oncemore.engine.ports import Workspace

# Parents need only be passed through, which O_PATH does without the right to list them.
_PARENT = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WORKSPACE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(path: str) -> Workspace:
    """The folder at an absolute, normal path, opened; the caller closes it.

    Raises:
        FolderMissing: a component does not exist.
        FolderUnsafe: a component is a link or no folder, or another user may write the folder or rename a parent.
        FolderUnreadable: the system refused for another reason.
    """
    if not path.startswith("/") or os.path.normpath(path) != path or path.startswith("//"):
        raise FolderUnsafe(path, "the path is not absolute and normal")
    parts = [part for part in path.split("/") if part]
    descriptor = _open("/", None, _PARENT if parts else _WORKSPACE, path)
    try:
        _judge(descriptor, "/", is_parent=bool(parts))
        for depth, part in enumerate(parts, 1):
            is_parent = depth < len(parts)
            here = "/" + "/".join(parts[:depth])
            child = _open(part, descriptor, _PARENT if is_parent else _WORKSPACE, here)
            os.close(descriptor)
            descriptor = child
            _judge(descriptor, here, is_parent=is_parent)
        status = os.fstat(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return Workspace(path=path, device=status.st_dev, inode=status.st_ino, descriptor=descriptor)


def _open(name: str, parent: int | None, flags: int, here: str) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        raise FolderMissing(here, "the folder is not there") from None
    except OSError as error:
        # Linux answers ENOTDIR for a link when O_DIRECTORY is asked for as well; others answer ELOOP or EMLINK.
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            advice = "configure the path that `realpath` prints"
            raise FolderUnsafe(here, "a link or a file stands where a folder should", advice) from None
        raise FolderUnreadable(
            here, f"the folder could not be opened ({errno.errorcode.get(error.errno or 0)})"
        ) from None


def _judge(descriptor: int, here: str, *, is_parent: bool) -> None:
    """Refuse a folder that somebody else may write; a parent may be written by all when it is sticky, as /tmp is."""
    status = os.fstat(descriptor)
    which = "a parent of the folder" if is_parent else "the folder"
    if status.st_uid not in (0, os.geteuid()):
        raise FolderUnsafe(here, f"{which} belongs to another user")
    if is_parent and status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & stat.S_IWOTH:
        raise FolderUnsafe(here, f"{which} can be written by everybody", f"chmod o-w {here}")
    if status.st_mode & stat.S_IWGRP and not (_is_ours_alone(status.st_gid) and not _has_list(descriptor)):
        raise FolderUnsafe(here, f"{which} can be written by a group", f"chmod g-w {here}")


def _is_ours_alone(group_id: int) -> bool:
    """Whether a group is the private one that many systems make with a user: our first, our name, no other member."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    return group.gr_gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _has_list(descriptor: int) -> bool:
    """Whether an access control list may name further writers; with one, the group's bits are only its mask."""
    if sys.platform != "linux":
        return False
    try:
        os.getxattr(f"/proc/self/fd/{descriptor}", "system.posix_acl_access")
    except OSError as error:
        return error.errno not in (errno.ENODATA, errno.ENOTSUP)
    return True
