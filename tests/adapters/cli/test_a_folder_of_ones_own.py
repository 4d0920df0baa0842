"""`init` makes a folder that is right from the start, and `doctor` says what is missing and what mends it."""

from __future__ import annotations

import json
import os
import re
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


def test_the_schema_that_a_rule_file_names_in_its_first_line_is_there(run: Run) -> None:
    run("init", "home")
    named = [
        file.parent / found[1]
        for file in Path("home/policies").rglob("*.yaml")
        if (found := re.search(r"\$schema=(\S+)", file.read_text("utf-8")))
    ]
    assert len(named) >= 3
    for schema in named:
        assert json.loads(schema.read_text("utf-8"))["type"] == "object"


def test_a_schema_is_printed_or_written(run: Run, tmp_path: Path) -> None:
    assert run("schema").stdout.split() == ["facts", "group", "levels", "policy", "test"]
    printed = run("schema", "policy")
    assert json.loads(printed.stdout)["properties"]["policy"]
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "policy.schema.json").write_text("an earlier one")
    assert run("schema", "policy", "--write", "there").stdout == "there/policy.schema.json\n"
    assert (tmp_path / "there" / "policy.schema.json").read_text("utf-8") == printed.stdout
    assert len(run("schema", "--write", "all").stdout.splitlines()) == len(list((tmp_path / "all").iterdir())) == 5


def test_a_schema_that_is_not_there_or_cannot_be_written_is_said(run: Run, tmp_path: Path) -> None:
    answer = run("schema", "polciy")
    assert (answer.exit_code, "'policy'" in answer.stderr) == (2, True)
    (tmp_path / "file").write_text("")
    assert run("schema", "--write", "file/under").exit_code == 2


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
    assert "login" in found["codex home"]["mends"] and "one of the two is enough" in found["codex home"]["says"]
    assert "mkdir" not in found["codex home"]["mends"]
    assert "pip install" in found["codex"]["mends"]
    assert found["environment"]["verdict"] == "skipped"
    assert found["policies"]["mends"].startswith("oncemore check")
    assert found["grants"]["verdict"] == "skipped"


def test_a_login_or_a_provider_with_its_key_is_enough(run: Run, waiting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    lacking = findings(run, waiting, 1)
    assert lacking["codex home"]["mends"] == f"export {KEY}=..." and "environment" not in lacking
    monkeypatch.setenv(KEY, "a key for nobody")
    assert findings(run, waiting, 1)["codex home"]["verdict"] == "ok"
    monkeypatch.delenv(KEY)
    (waiting / "data" / "codex" / "auth.json").write_text("{}")
    found = findings(run, waiting, 1)
    assert (found["codex home"]["verdict"], found["environment"]["verdict"]) == ("ok", "skipped")


def test_a_key_that_is_set_but_not_handed_on_is_named(run: Run, waiting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "a key for nobody")
    configuration = waiting / "oncemore.yaml"
    configuration.write_text(configuration.read_text().replace(f"[{KEY}]", "[]"))
    assert f"add {KEY} to `environment:`" in findings(run, waiting, 1)["codex home"]["mends"]


def test_what_keeps_turns_from_running_is_noted_in_one_line(run: Run) -> None:
    run("init", "home")
    for arguments in (["work", "--once"], ["ask", "first", "hello"]):
        answer = run(*arguments, "--home", "home")
        notes = [line for line in answer.stderr.splitlines() if "no model can be reached yet" in line]
        assert len(notes) == 1, answer.output
        assert "one of the two is enough" in notes[0] and "oncemore doctor --home home" in notes[0]


def test_mistakes_of_the_configuration_are_told_once_each_with_what_helps(run: Run) -> None:
    run("init", "home")
    configuration = Path("home/oncemore.yaml")
    configuration.write_text(configuration.read_text().replace("owner:", "ownr:").replace("journal:", "jurnal:"))
    told = run("doctor", "--home", "home").stdout
    for word in ("jurnal", "ownr"):
        assert told.count(f'"{word}" is not known here') == 1
    assert "did you mean journal?" in told and "did you mean owner?" in told


def test_a_command_that_stands_in_the_message_is_not_repeated(run: Run) -> None:
    run("init", "home")
    os.chmod("home/oncemore.yaml", 0o666)
    assert run("doctor", "--home", "home").stdout.count("chmod go-w") == 1


def test_doctor_says_how_to_close_a_configuration_that_others_can_write(run: Run, tmp_path: Path) -> None:
    run("init", "home")
    os.chmod("home/oncemore.yaml", 0o666)
    assert findings(run, "home", 1)["configuration"]["mends"].startswith("chmod go-w ")
