"""The program as a shell sees it: whole processes, exit codes, streams, signals and bugs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import KEY, Run
from tests.adapters.cli.rule_files import FIVE_MISTAKES, case, continuation

PROGRAM = [sys.executable, "-m", "oncemore.adapters.cli"]


def process(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_version_is_told_before_anything_heavy_is_imported() -> None:
    told = process("--version", PYTHONPROFILEIMPORTTIME="1")
    assert (told.returncode, told.stdout) == (0, f"oncemore {version('oncemore')}\n")
    imported = {line.rsplit("|", 1)[-1].strip() for line in told.stderr.splitlines()}
    assert not imported & {"click", "pydantic", "peewee", "lark", "yaml", "httpx"}


def test_a_decision_needs_neither_database_nor_network(tmp_path: Path) -> None:
    told = process("decide", "--facts", case(tmp_path / "case.json"), cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert told.returncode == 0
    imported = {line.rsplit("|", 1)[-1].strip() for line in told.stderr.splitlines()}
    assert "oncemore.engine.evaluation" in imported
    assert not imported & {"peewee", "httpx", "subprocess", "asyncio"}


def test_exit_codes_reach_the_shell(tmp_path: Path) -> None:
    rules = continuation(tmp_path / "rules")
    (tmp_path / "empty").mkdir()
    (tmp_path / "five.yaml").write_text(FIVE_MISTAKES)
    facts = case(tmp_path / "case.json")
    unread = case(tmp_path / "unread.json", missing=("native.read",))
    assert process("decide", "--facts", facts, "--policies", rules).returncode == 0
    assert process("decide", "--facts", unread, "--policies", rules).returncode == 4
    assert process("check", tmp_path / "five.yaml").returncode == 3
    assert process("test", tmp_path / "empty").returncode == 5
    assert process("decid").returncode == 2


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    assert "'decide'" in process("decid").stderr


def test_every_command_says_its_exit_codes(run: Run) -> None:
    from oncemore.adapters.cli.commands import WHERE

    for name in WHERE:
        assert "Exit codes: 0" in run(name, "--help").stdout, name


def test_there_is_no_colour_outside_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "five.yaml").write_text(FIVE_MISTAKES)
    told = process("check", tmp_path / "five.yaml")
    assert "\x1b" not in told.stdout + told.stderr


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colour_on_a_terminal_can_be_declined(tmp_path: Path, no_colour: str) -> None:
    (tmp_path / "five.yaml").write_text(FIVE_MISTAKES)
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [*PROGRAM, "check", str(tmp_path / "five.yaml"), "--format", "pretty"],
        env={**os.environ, "NO_COLOR": no_colour},
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
    ) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # Linux says so when the other end has closed
                break
            if not part:
                break
            shown += part
        os.close(ours)
        assert running.wait(60) == 3
    assert (b"\x1b[" in shown) is (no_colour == "")


def test_a_bug_is_one_paragraph_and_has_its_own_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from oncemore.adapters.cli import rules_commands

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(rules_commands, "choose", broken)
    answer = run("check")
    assert answer.exit_code == 70
    assert "ZeroDivisionError: a bug" in answer.stderr and "ONCEMORE_DEBUG=1" in answer.stderr
    assert "Traceback" not in answer.stderr and len(answer.stderr.splitlines()) == 1
    monkeypatch.setenv("ONCEMORE_DEBUG", "1")
    assert "Traceback" in run("check").stderr


def test_a_home_without_configuration_says_how_to_make_one(tmp_path: Path) -> None:
    told = process("requests", "--home", tmp_path)
    assert told.returncode == 2
    assert "A102" in told.stderr and "oncemore init" in told.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_stops_when_it_is_told_to(waiting: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [*PROGRAM, "work", "--home", str(waiting)],
        env={**os.environ, KEY: "a key for nobody"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stderr is not None
        for line in worker.stderr:
            if "Ctrl-C" in line:
                break
        second = process("work", "--once", "--home", waiting)
        worker.send_signal(number)
        _, rest = worker.communicate(timeout=60)
        assert worker.returncode == 0, rest
    assert "stopping" in rest
    assert second.returncode == 2
    assert "E201" in second.stderr
