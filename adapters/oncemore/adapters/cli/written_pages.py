"""Which pages do rule files make, and do those that were written still say what the rules say?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oncemore.adapters.cli.replacing import put


class Foreign(Exception):
    """Files that we did not write stand where pages would; nothing was written.

    Attributes:
        files: all of them.
    """

    def __init__(self, files: list[Path]) -> None:
        super().__init__(", ".join(map(str, files)))
        self.files = files


def pages_of(folder: Path) -> dict[str, str]:
    """The pages of the policies in a folder, by file name.

    Raises:
        RulesInvalid, FactsInvalid, NoPolicies: the policies or their tests do not load.
    """
    from oncemore.rules.cases import TestCase, load_tests
    from oncemore.rules.expectations import known_of
    from oncemore.rules.folder import test_files
    from oncemore.rules.loading import load_policies
    from oncemore.rules.pages import pages

    policies = load_policies([folder])
    known = known_of(policies)
    tests: dict[str, list[TestCase]] = {}
    for file in test_files(folder) if folder.is_dir() else ():
        loaded = load_tests(file, known)
        tests.setdefault(loaded.policy, []).extend(loaded.cases)
    return pages(policies.policies, tests)


def stale(pages: Mapping[str, str], folder: Path) -> dict[Path, str]:
    """What the pages in a folder lack, by file: `missing`, `changed`, or `left over` from a policy that is gone."""
    found = {folder / name: _state(folder / name, text) for name, text in pages.items()}
    found |= {file: "left over" for file in _ours(folder) if file.name not in pages}
    return {file: state for file, state in sorted(found.items()) if state}


def write(pages: Mapping[str, str], folder: Path) -> list[Path]:
    """Bring the pages in a folder up to date; the files that were written or, left over, removed.

    Raises:
        Foreign: a file of another origin stands there.
        OSError: the system refused.
    """
    ours = set(_ours(folder))
    there = [file for name in pages if (file := folder / name).exists() or file.is_symlink()]
    if foreign := [file for file in there if file not in ours]:
        raise Foreign(foreign)
    folder.mkdir(parents=True, exist_ok=True)
    changed = stale(pages, folder)
    for file, state in changed.items():
        if state == "left over":
            file.unlink()
        else:
            put(file, pages[file.name].encode())
    return list(changed)


def _state(file: Path, text: str) -> str:
    if not file.is_file():
        return "missing"
    return "" if file.read_bytes() == text.encode() else "changed"


def _ours(folder: Path) -> list[Path]:
    from oncemore.rules.pages import MARK

    mark = MARK.encode()
    return [file for file in sorted(folder.glob("*.md")) if file.is_file() and file.read_bytes().startswith(mark)]
