"""What an author is told about a broken file, all of it.

A folder of `files/` is a case: the files, and in `said.txt` a command, what it says and how it ends. Cases of `made`
have but their `said.txt` there. After a change of messages all of them are written anew by

    ONCEMORE_ACCEPT=1 python -m pytest tests/broken

and the difference is read before it is committed. A new case is a folder whose `said.txt` holds the command alone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.broken.made import MADE

from oncemore.adapters.cli.commands import cli
from oncemore.rules.diagnostics import acts

FILES = Path(__file__).parent / "files"
CASES = sorted(path.name for path in FILES.iterdir())
ACCEPT = os.environ.get("ONCEMORE_ACCEPT") == "1"

WHOLE_PROCESSES = (
    "key-misspelt", "char-not-utf-8", "char-nul", "char-terminal-escape-escaped", "a-name-that-is-not-utf-8", "a-pipe",
    "a-device", "facts-json-cut-off", "test-of-no-gate", "path-file-missing", "one-line-of-a-megabyte",
)  # fmt: skip
"""Cases that are run once more as processes: what a shell sees is what the runner says that it does."""

LONGEST = 280
"""Columns of a line of output; a frame shows a part of a line that is longer."""

MOST = 160
"""Lines of what is said of one case."""


def prepared(case: str, folder: Path) -> Path:
    """The case's files in a folder of their own."""
    here = folder / "here"
    if case in MADE:
        here.mkdir()
        MADE[case](here)
    else:
        shutil.copytree(FILES / case, here, ignore=shutil.ignore_patterns("said.txt"))
    return here


def command(case: str) -> list[str]:
    first = (FILES / case / "said.txt").read_text(encoding="utf-8").split("\n", 1)[0]
    program, *arguments = shlex.split(first.removeprefix("$ "))
    assert program == "oncemore"
    return arguments


def told(arguments: list[str], stdout: str, stderr: str, code: int) -> str:
    """A run as `said.txt` holds it."""
    parts = [f"$ {shlex.join(['oncemore', *arguments])}\n", stdout]
    if stderr:
        parts += ["--- standard error\n", stderr]
    return "".join([*parts, f"exit {code}\n"])


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of the environment of whoever runs the tests."""
    for name in ("ONCEMORE_HOME", "ONCEMORE_POLICIES", "ONCEMORE_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_what_was_read_and_accepted(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(prepared(case, tmp_path))
    answer = CliRunner().invoke(cli, command(case), prog_name="oncemore")
    said = told(command(case), answer.stdout, answer.stderr, answer.exit_code)
    file = FILES / case / "said.txt"
    if ACCEPT:
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("case", WHOLE_PROCESSES)
def test_a_process_says_the_same(case: str, tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "oncemore.adapters.cli", *command(case)],
        cwd=prepared(case, tmp_path),
        capture_output=True,
        timeout=120,
        check=False,
    )
    said = told(command(case), answer.stdout.decode(), answer.stderr.decode(), answer.returncode)
    assert said == (FILES / case / "said.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_can_be_read(case: str) -> None:
    said = (FILES / case / "said.txt").read_text(encoding="utf-8")
    assert "Traceback" not in said and "This is a bug" not in said
    lines = said.split("\n")
    assert lines[-2] in {f"exit {code}" for code in range(1, 6)}
    assert max(map(len, lines)) <= LONGEST
    assert len(lines) <= MOST
    assert not [char for char in said if acts(char) and char not in "\n\t"]


def test_every_made_case_has_its_folder_and_every_folder_its_files() -> None:
    assert set(MADE) <= set(CASES)
    for case in CASES:
        assert (case in MADE) == (len(list((FILES / case).iterdir())) == 1), case
