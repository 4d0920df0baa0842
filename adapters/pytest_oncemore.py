"""Which files of a project does pytest take for tests of rules?

A file `*_test.yaml` that begins with a key of rule tests and has both `policy:` and `cases:`, and every `*_test.yaml`
below a folder that the configuration names as `oncemore_policies`. What runs them is imported with the first such file:
a project without one pays for this module alone. It is a module of its own, and not a part of `oncemore`, since pytest
would otherwise take every `rules` and `engine` of a project for ours, and rewrite its assertions.
"""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

SUFFIX = "_test.yaml"

FOLDERS = "oncemore_policies"

NEEDED = frozenset({b"policy", b"cases"})

KEYS = NEEDED | {b"base"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one setting."""
    parser.addini(FOLDERS, f"folders in which every *{SUFFIX} is a test of rules", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a setting with which no test would be found, and nothing said.

    Raises:
        UsageError: it names a folder that is not there, or no folder.
    """
    try:
        gone = [folder for folder in config.getini(FOLDERS) if not folder.exists()]
    except TypeError as error:
        raise pytest.UsageError(f"{FOLDERS}: a list of folders is needed here: {error}") from None
    if gone:
        raise pytest.UsageError(f"{FOLDERS}: {gone[0]} is not there; write the folder as seen from the configuration")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a file of rule tests; nothing of any other file."""
    if not file_path.name.endswith(SUFFIX) or file_path.name.startswith("."):
        return None
    if not _chosen(file_path, parent.config.getini(FOLDERS)) and not holds_rule_tests(file_path):
        return None
    from oncemore.adapters.pytest_cases import RuleTests

    return RuleTests.from_parent(parent, path=file_path)


def _chosen(file: Path, folders: list[Path]) -> bool:
    """Whether a file is below one of the folders, whichever of them is written with `..` or through a link."""
    places = {file, file.parent.resolve() / file.name}
    named = {place for folder in folders for place in (folder, folder.resolve())}
    return any(place.is_relative_to(folder) for place in places for folder in named)


def holds_rule_tests(file: Path) -> bool:
    """Whether a file begins with a key of rule tests and has those they need; only as much is read as shows that."""
    try:
        with file.open("rb") as lines:
            if lines.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                lines.seek(0)
            keys = (_key(line) for line in lines if line[:1] not in b"#-% \t\r\n}]")
            lacking = set(NEEDED)
            for number, key in enumerate(keys):
                if number == 0 and key not in KEYS:
                    return False
                lacking.discard(key)
                if not lacking:
                    return True
    except OSError:
        return False
    return False


def _key(line: bytes) -> bytes:
    """The key that a line begins with."""
    key = line.partition(b":")[0].rstrip()
    return key[1:-1] if key[:1] in (b'"', b"'") and key[-1:] == key[:1] else key
