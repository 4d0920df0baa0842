"""Which files of a project does pytest take for tests of rules?

A file `*_test.yaml` that begins with `policy:` and has `cases:`, and every `*_test.yaml` below a folder that the
configuration names as `oncemore_policies`. What runs them is imported with the first such file: a project without one
pays for this module alone. It is a module of its own, and not a part of `oncemore`, since pytest would otherwise take
every `rules` and `engine` of a project for ours, and rewrite its assertions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SUFFIX = "_test.yaml"

FOLDERS = "oncemore_policies"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one setting."""
    parser.addini(FOLDERS, f"folders in which every *{SUFFIX} is a test of rules", type="paths", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a file of rule tests; nothing of any other file."""
    if not file_path.name.endswith(SUFFIX):
        return None
    folders = parent.config.getini(FOLDERS)
    if not any(file_path.is_relative_to(folder) for folder in folders) and not holds_rule_tests(file_path):
        return None
    from oncemore.adapters.pytest_cases import RuleTests

    return RuleTests.from_parent(parent, path=file_path)


def holds_rule_tests(file: Path) -> bool:
    """Whether a file begins with the key `policy` and has the key `cases`; only as much is read as shows that."""
    try:
        with file.open("rb") as lines:
            keys = (line.partition(b":")[0].rstrip() for line in lines if line[:1] not in b"#-% \t\r\n}]")
            return next(keys, b"") == b"policy" and b"cases" in keys
    except OSError:
        return False
