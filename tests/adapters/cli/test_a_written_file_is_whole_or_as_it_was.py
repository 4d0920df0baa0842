"""Whatever a command writes to a file is there whole or not at all: a disk that fills leaves what was there before."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation

from oncemore.adapters.cli import replacing

WRITING = [
    (("check", "rules", "--sarif", "out"), "out"),
    (("test", "rules", "--junit", "out"), "out"),
    (("docs", "--policies", "rules", "--write", "pages"), f"pages/{POLICY}.md"),
    (("schema", "policy", "--write", "schemas"), "schemas/policy.schema.json"),
]


@pytest.fixture
def rules(run: Run, tmp_path: Path) -> Path:
    folder = continuation(tmp_path / "rules")
    (folder / f"{POLICY}_test.yaml").write_text(
        f"policy: {POLICY}\nbase: {{turn.status: running}}\n"
        "cases: [{name: it runs, expect: {outcome: not_concerned}}]\n"
    )
    return folder


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which nothing can be made to last."""

    def refused(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(replacing.os, "fsync", refused)


@pytest.mark.parametrize(("command", "file"), WRITING, ids=lambda part: part[0] if isinstance(part, tuple) else "")
def test_a_full_disk_leaves_what_was_there(
    run: Run, rules: Path, request: pytest.FixtureRequest, command: tuple[str, ...], file: str
) -> None:
    assert run(*command).exit_code == 0
    was = f"{Path(file).read_text().splitlines()[0]}\nsomething else\n"
    Path(file).write_text(was)
    request.getfixturevalue("full")
    done = run(*command)
    assert done.exit_code == 2
    assert f"{file} " in done.stderr.replace(":", " ") and "No space left" in done.stderr
    assert Path(file).read_text() == was
    assert [one.name for one in Path(file).parent.iterdir() if one.name.endswith(".new")] == []


@pytest.mark.parametrize(("command", "file"), WRITING, ids=lambda part: part[0] if isinstance(part, tuple) else "")
def test_a_new_file_is_made_as_files_are_made_here(run: Run, rules: Path, command: tuple[str, ...], file: str) -> None:
    before = os.umask(0o027)
    try:
        assert run(*command).exit_code == 0
    finally:
        os.umask(before)
    assert Path(file).stat().st_mode & 0o777 == 0o640


@pytest.mark.usefixtures("full")
def test_cases_that_find_no_room_leave_no_file(run: Run, rules: Path) -> None:
    done = run("cases", POLICY, "--policies", "rules", "--write", "boundaries_test.yaml")
    assert done.exit_code == 2
    assert "boundaries_test.yaml" in done.stderr and "No space left" in done.stderr
    assert not Path("boundaries_test.yaml").exists()


def test_a_file_of_a_long_name_is_formatted(run: Run, rules: Path) -> None:
    file = rules / f"{'长' * 80}_test.yaml"
    (rules / f"{POLICY}_test.yaml").rename(file)
    assert run("fmt", rules).exit_code == 0
    assert run("fmt", "--check", rules).exit_code == 0
