"""`init` and `doctor`."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import KEY, Run

from oncemore.rules.shipped import shipped_policies


def findings(run: Run, home: Path | str, status: int) -> dict[str, dict[str, str]]:
    answer = run("doctor", "--format", "json", "--home", home)
    assert answer.exit_code == status, answer.output
    return {one["what"]: one for one in json.loads(answer.stdout)}


def test_a_new_folder_checks_clean_and_its_tests_pass(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("init", "home").exit_code == 0
    assert stat.S_IMODE(os.stat("home/oncemore.yaml").st_mode) == 0o600
    assert stat.S_IMODE(os.stat("home/data").st_mode) == 0o700
    monkeypatch.chdir("home")
    assert run("check").exit_code == 0
    assert run("test", "-k", "edited").exit_code == 0
    assert run("requests").exit_code == 0
    copied = {file.relative_to("policies") for file in Path("policies").rglob("*.yaml")}
    assert copied == {file.relative_to(shipped_policies()) for file in shipped_policies().rglob("*.yaml")}


def test_nothing_is_overwritten_and_nothing_is_half_written(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "policies").mkdir(parents=True)
    (home / "policies" / "levels.yaml").write_text("mine: off\n")
    answer = run("init", home)
    assert answer.exit_code == 1
    assert f"{home / 'policies' / 'levels.yaml'} is there already" in answer.stderr
    assert [file for file in home.rglob("*") if file.is_file()] == [home / "policies" / "levels.yaml"]
    assert (home / "policies" / "levels.yaml").read_text() == "mine: off\n"


def test_a_link_that_leads_nowhere_is_not_written_through(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "oncemore.yaml").symlink_to(tmp_path / "elsewhere")
    assert run("init", home).exit_code == 1
    assert not (tmp_path / "elsewhere").exists()


def test_doctor_in_an_empty_folder_says_how_to_begin(run: Run, tmp_path: Path) -> None:
    found = findings(run, tmp_path, 1)
    assert found["configuration"]["mends"] == f"oncemore init {tmp_path}"
    assert found["journal"]["verdict"] == "skipped"
    assert list(tmp_path.iterdir()) == []


def test_doctor_finds_nothing_missing_where_a_recovery_ran(
    run: Run, waiting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "a key for nobody")
    found = findings(run, waiting, 1)
    # The copy is another folder than the one that was granted; everything else is in order.
    missing = [what for what, one in found.items() if one["verdict"] == "missing"]
    assert missing == ["grant of first"]
    assert "codex-cli" in found["codex"]["says"]


def test_doctor_names_the_command_that_mends_each_thing(run: Run, waiting: Path, tmp_path: Path) -> None:
    (waiting / "data" / "oncemore.db").chmod(0o644)
    (waiting / "workspace").chmod(0o777)
    (waiting / "data" / "codex" / "config.toml").unlink()
    configuration = waiting / "oncemore.yaml"
    configuration.write_text(configuration.read_text().replace("  codex:\n", "  codex:\n    binary: /bin/false\n"))
    (waiting / "policies" / "levels.yaml").write_text("continue-unfinished-work: loud\n")
    found = findings(run, waiting, 1)
    assert found["journal"]["mends"] == f"chmod 600 {waiting / 'data' / 'oncemore.db'}"
    assert found["workspace first"]["mends"] == f"chmod o-w {waiting / 'workspace'}"
    assert "login" in found["codex home"]["mends"]
    assert "pip install" in found["codex"]["mends"]
    assert found["environment"]["mends"].startswith(f"export {KEY}=")
    assert found["policies"]["mends"].startswith("oncemore check")
    assert found["grants"]["verdict"] == "skipped"


def test_doctor_says_how_to_close_a_configuration_that_others_can_write(run: Run, tmp_path: Path) -> None:
    run("init", "home")
    os.chmod("home/oncemore.yaml", 0o666)
    assert findings(run, "home", 1)["configuration"]["mends"].startswith("chmod go-w ")
