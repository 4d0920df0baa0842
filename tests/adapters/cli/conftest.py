"""Fixtures of the tests of the command line: a way to run it, and a house in which a recovery really happened."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from oncemore.adapters import wiring
from oncemore.adapters.cli.commands import cli
from oncemore.adapters.codex.home import write_config
from oncemore.adapters.demo.model import ModelRequest, Say, Script, ScriptedModel, Shell
from oncemore.engine.worker import Worker

Run = Callable[..., Result]

ASKED = "Please write one.md and two.md"
KEY = "CLI_TESTS_MODEL_KEY"


def run_cli(*arguments: object, stdin: str | None = None) -> Result:
    """The command line in this process, with standard output and standard error apart."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in an empty folder, untouched by the environment of whoever runs the tests."""
    for name in ("ONCEMORE_HOME", "ONCEMORE_POLICIES", "ONCEMORE_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return run_cli


@dataclass(frozen=True)
class Story:
    """A message, its half of an answer, and the continuation, as the real worker and the real Codex did it.

    Attributes:
        waiting: a home as it was while the continuation waited.
        done: the home after the second reply.
        worked: what `work --once` printed for the first half.
    """

    request: str
    waiting: Path
    done: Path
    worked: str


def script(request: ModelRequest) -> Script:
    """A model that reports after its first part, and does the second when continued."""
    if "one continuation" in request.last_user:
        if not request.tool_results_since_user:
            return Shell("printf two > two.md")
        return Say("Part two is written too.")
    if not request.tool_results_since_user:
        return Shell("printf one > one.md")
    found = re.search(r"<oncemore-(\w+)>", request.last_user)
    assert found is not None
    report = {"completed": "one.md \u200b", "remaining": "two.md", "effects_settled": True}
    return Say(
        "Part one is written. \x1b[31mThe source failed.\n"
        f"<oncemore-{found[1]}>{json.dumps({'report': report})}</oncemore-{found[1]}>"
    )


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Run once; the tests only read it, or work on copies."""
    home = tmp_path_factory.mktemp("story") / "home"
    with pytest.MonkeyPatch.context() as patched, ScriptedModel(script) as model:
        patched.setenv(KEY, "a key for nobody")
        patched.delenv("ONCEMORE_POLICIES", raising=False)
        assert run_cli("init", home).exit_code == 0
        write_config(home / "data" / "codex", model.base_url, KEY)
        (home / "policies" / "levels.yaml").write_text("continue-unfinished-work: enforce\n")
        configuration = home / "oncemore.yaml"
        configuration.write_text(configuration.read_text().replace("OPENAI_API_KEY", KEY))
        asked = run_cli("ask", "first", ASKED, "--home", home)
        assert asked.exit_code == 0, asked.output
        request = asked.stdout.strip()
        worked = run_cli("work", "--once", "--home", home)
        assert worked.exit_code == 0, worked.output
        waiting = tmp_path_factory.mktemp("waiting") / "home"
        shutil.copytree(home, waiting)
        # The minute that the policy asks for goes by on the clock of the journal.
        with wiring.opened(configuration, worker=True, clock=lambda: time.time_ns() // 1_000_000 + 61_000) as house:
            Worker(wiring.context(house, wiring.rulebook(house.configuration))).run_due()
    yield Story(request, waiting, home, worked.stdout)


@pytest.fixture
def waiting(story: Story, tmp_path: Path) -> Path:
    """A copy of the home while it waited, to be changed at will."""
    copy = tmp_path / "waiting"
    shutil.copytree(story.waiting, copy)
    return copy
