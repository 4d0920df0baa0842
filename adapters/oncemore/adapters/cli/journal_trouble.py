"""What keeps the journal from being used, and what helps?

A disk that is full, a folder that may not be written or a file that is no database are conditions of the machine. They
are told with what mends them; nothing here repairs anything.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from oncemore.adapters.cli import server_trouble
from oncemore.engine.errors import JournalRefused
from oncemore.engine.postgres import words

LEAST_FREE = 1024 * 1024
"""Bytes that a disk has left when it is called full."""

_PLACE = ("readonly", "Read-only", "Permission denied", "unable to open database file")
_FULL = ("disk is full", "is full, or nearly", "No space left", "disk I/O error", "quota")
_BROKEN = ("not a database", "malformed", "is no file", "no such table", "no such column")
_NAME = ("File name too long", "Not a directory", "File exists")


@contextmanager
def explained(place: Path | str) -> Iterator[None]:
    """What the database refuses inside is a `JournalRefused` that says what helps.

    Raises:
        JournalRefused: the database cannot be read or written.
    """
    import peewee as pw

    try:
        yield
    except JournalRefused as error:
        raise type(error)(with_help(str(error), place)) from error
    except pw.DatabaseError as error:
        # The narrower kinds, such as a broken constraint, are mistakes of ours and stay what they are.
        if type(error) not in (pw.DatabaseError, pw.OperationalError):
            raise
        raise JournalRefused(with_help(f"the journal {place} cannot be read: {words(error)}", place)) from error


def with_help(text: str, place: Path | str) -> str:
    """A failure's words with what helps, where that can be told from them or from what stands there now."""
    mends = mend(text, place)
    if isinstance(place, Path) and not mends and "chmod" not in text:
        with suppress(OSError):
            seen = in_the_way(place) or (trouble(place) if place.exists() else None)
            mends = f"{seen}; {mend(seen, place)}" if seen else ""
    return f"{text}; {mends}" if mends and mends not in text else text


def mend(text: str, place: Path | str) -> str:
    """The command or sentence that helps against a failure; empty when its words do not say."""
    return _of_file(text, place) if isinstance(place, Path) else server_trouble.mend(text, place)


def _of_file(text: str, path: Path) -> str:
    file, folder = shlex.quote(str(path)), shlex.quote(str(path.parent))
    if any(word in text for word in _FULL):
        return f"make room on its disk: df -h {folder}"
    if any(word in text for word in _NAME):
        return "write another `journal:` in oncemore.yaml"
    if "Is a directory" in text and ".worker" in text:
        return f"move the folder away: mv {file}.worker {file}.worker.away"
    if any(word in text for word in _BROKEN):
        return f"put a copy of it back, or begin a new one: mv {file} {file}.broken"
    if any(word in text for word in _PLACE):
        return f"let yourself write there: ls -ld {folder} {file}"
    if "locked" in text:
        return f"another program keeps it; which one: fuser {file}"
    return ""


def in_the_way(path: Path) -> str | None:
    """What stands where the journal, its lock or its folder is, or is to be, and is none; None when nothing does.

    Raises:
        OSError: something could not be looked at.
    """
    lock = path.with_name(f"{path.name}.worker")
    if path.exists() and not path.is_file():
        return f"{path} is no file"
    if lock.exists() and not lock.is_file():
        return f"{lock} cannot be used: Is a directory" if lock.is_dir() else f"{lock} is no file"
    folder = next(one for one in path.parents if one.exists())
    if not folder.is_dir():
        return f"{folder} cannot be used: Not a directory"
    for one in (folder, path):
        if one.exists() and not os.access(one, os.W_OK):
            return f"{one} cannot be written: Permission denied, or a Read-only file system"
    return None


def trouble(path: Path) -> str | None:
    """What would keep an existing journal from being used; None when nothing is seen.

    Raises:
        OSError: something could not be looked at.
    """
    space = os.statvfs(path.parent)
    if space.f_bavail * space.f_frsize < LEAST_FREE:
        return f"the disk of {path} is full, or nearly"
    return _unsound(path)


def _unsound(path: Path) -> str | None:
    """What SQLite itself finds wrong in the file."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as database:
            [(found,)] = database.execute("PRAGMA quick_check(1)").fetchall()
    except (sqlite3.Error, ValueError) as error:
        return f"{path} cannot be read: {error}"
    return None if found == "ok" else f"{path} is malformed: {found}"
