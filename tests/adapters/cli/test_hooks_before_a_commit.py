"""The real pre-commit takes our hooks, in a repository of its own and without the network."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from pre_commit.clientlib import load_config, load_manifest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation

from oncemore.adapters.cli.commands import WHERE

HOOKS = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"

CASES = (
    f"policy: {POLICY}\nbase: {{turn.status: running}}\ncases:\n  - {{name: a, expect: {{outcome: not_concerned}}}}\n"
)


@dataclass(frozen=True)
class Repository:
    """A repository with rules, and what its hooks are asked with."""

    folder: Path
    environment: dict[str, str]

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.folder, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def hooks(self, config: object) -> subprocess.CompletedProcess[str]:
        """Run all hooks of a configuration on all files, as `pre-commit run` does."""
        (self.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        self.git("add", "-A")
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"],
            cwd=self.folder,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def repository(tmp_path: Path, run: Run) -> Repository:
    """One whose rules, tests and pages are as they should be."""
    folder = tmp_path / "repository"
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "ONCEMORE_"))}
    for who in ("AUTHOR", "COMMITTER"):
        kept |= {f"GIT_{who}_NAME": "ann", f"GIT_{who}_EMAIL": "ann@localhost"}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    home = {"HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "hooks"), "PATH": path}
    made = Repository(folder, {**kept, **home, "PRE_COMMIT_COLOR": "never"})
    made.git("init", "-q")
    continuation(folder / "policies")
    (folder / "policies" / f"{POLICY}_test.yaml").write_text(CASES)
    assert run("fmt", folder / "policies").exit_code == 0
    assert run("docs", "--policies", folder / "policies", "--write", folder / "docs" / "policies").exit_code == 0
    return made


@pytest.fixture
def ours(repository: Repository, tmp_path: Path) -> dict[str, object]:
    """A configuration that takes every hook from a repository of ours, run by the program that is installed here.

    `language: system` leaves out what pre-commit would do first, which is to install that repository.
    """
    source = tmp_path / "oncemore"
    source.mkdir()
    (source / HOOKS.name).write_bytes(HOOKS.read_bytes())
    repository.git("init", "-q", cwd=source)
    repository.git("add", "-A", cwd=source)
    repository.git("commit", "-q", "-m", "hooks", cwd=source)
    hooks = [{"id": hook["id"], "language": "system"} for hook in load_manifest(HOOKS)]
    return {"repos": [{"repo": str(source), "rev": repository.git("rev-parse", "HEAD", cwd=source), "hooks": hooks}]}


def test_the_hooks_are_a_manifest_of_commands_that_there_are() -> None:
    hooks = load_manifest(HOOKS)
    assert all(hook["language"] == "python" and hook["pass_filenames"] is False for hook in hooks)
    assert [hook["id"] for hook in hooks] == [f"oncemore-{hook['entry'].split()[1]}" for hook in hooks]
    assert {hook["entry"].split()[1] for hook in hooks} <= set(WHERE)


def test_every_hook_passes_where_all_is_well(repository: Repository, ours: dict[str, object]) -> None:
    done = repository.hooks(ours)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Passed") == len(load_manifest(HOOKS))


def test_the_hooks_that_are_concerned_fail(repository: Repository, ours: dict[str, object]) -> None:
    policy = repository.folder / "policies" / f"{POLICY}.yaml"
    policy.write_text(policy.read_text().replace("revision: 1", "revision: 2"))
    done = repository.hooks(ours)
    assert done.returncode == 1
    assert f"docs/policies/{POLICY}.md: changed" in done.stdout
    assert done.stdout.count("Failed") == 1
    policy.write_text(policy.read_text().replace("otherwise: wait", "otherwise: wiat", 1))
    broken = repository.hooks(ours)
    assert "exit code: 3" in broken.stdout and f"policies/{POLICY}.yaml:" in broken.stdout


def test_a_file_that_is_not_in_its_one_form_is_formatted_and_fails_once(
    repository: Repository, ours: dict[str, object]
) -> None:
    levels = repository.folder / "policies" / "levels.yaml"
    formed = levels.read_text()
    levels.write_text(formed.replace(": ", ":   "))
    done = repository.hooks(ours)
    assert done.returncode == 1 and "files were modified by this hook" in done.stdout
    assert levels.read_text() == formed


def test_other_files_concern_no_hook(repository: Repository, ours: dict[str, object]) -> None:
    for file in [*repository.folder.rglob("*.yaml"), *repository.folder.rglob("*.md")]:
        file.unlink()
    (repository.folder / "deploy.yaml").write_text("kind: Deployment\n")
    assert repository.hooks(ours).stdout.count("Skipped") == len(load_manifest(HOOKS))


def test_the_lines_that_init_gives_are_hooks_that_pass(repository: Repository, run: Run, tmp_path: Path) -> None:
    assert run("init", tmp_path / "mine").exit_code == 0
    given = tmp_path / "mine" / "rules-pre-commit.yaml"
    load_config(given)
    done = repository.hooks(yaml.safe_load(given.read_text()))
    assert (done.returncode, done.stdout.count("Passed")) == (0, 3), done.stdout


def test_the_workflow_that_init_gives_checks_tests_and_sums_up(run: Run, tmp_path: Path) -> None:
    assert run("init", tmp_path / "mine").exit_code == 0
    workflow = yaml.safe_load((tmp_path / "mine" / "rules-workflow.yaml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["rules"]["steps"] if "run" in step]
    assert [step.split()[:2] for step in steps[1:]] == [
        ["oncemore", "fmt"],
        ["oncemore", "check"],
        ["oncemore", "test"],
        ["oncemore", "test"],
    ]
    assert steps[-1].endswith('>> "$GITHUB_STEP_SUMMARY"')
