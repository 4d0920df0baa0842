"""Which files of a folder hold rules, and what do they hold by now?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from oncemore.rules.digests import digest_of

GROUPS = "groups"
"""The folder of groups, beside the policies."""


def policy_files(path: Path) -> list[Path]:
    """The rule files that a path stands for; none when it does not exist."""
    if path.exists() and not path.is_dir():
        return [path]
    # What is there and no file, such as a pipe or a link to nothing, is taken to be refused when it is read: left out,
    # its gates would be. Hidden files are those of editors, such as locks.
    return [
        file
        for file in sorted(path.glob("*.yaml"))
        if not file.is_dir() and not file.name.endswith("_test.yaml") and not file.name.startswith((".", "levels"))
    ]


def content_digest(paths: Sequence[Path]) -> str:
    """`sha256:` over everything that `load_policies` would read of these paths now, whether it loads or not."""
    parts: dict[str, str] = {}
    for path in paths:
        try:
            for file in policy_files(path):
                groups = sorted((file.parent / GROUPS).glob("[!.]*.yaml"))
                for one in (file, *groups):
                    parts[str(one)] = _content_of(one)
        except OSError as error:
            parts[str(path)] = type(error).__name__
    return digest_of(parts)


def _content_of(file: Path) -> str:
    """The digest of a file's content, or what stands in its way; of a pipe or a device nothing is read, which could go
    on for ever."""
    try:
        if not file.is_file():
            return f"no file, mode {file.lstat().st_mode:o}"
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        return type(error).__name__


def test_files(folder: Path) -> list[Path]:
    """The files of rule tests in a folder, without the hidden ones."""
    return sorted(folder.glob("[!.]*_test.yaml"))
