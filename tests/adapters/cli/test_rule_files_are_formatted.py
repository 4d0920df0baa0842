"""`fmt` writes the one form, names what it changed, and leaves alone what it cannot read or may not touch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import FIVE_MISTAKES, continuation

from oncemore.adapters.cli.replacing import replace

LEVELS = "# levels\ncontinue-unfinished-work:   shadow  # at first\n"
FORMED = "# levels\ncontinue-unfinished-work: shadow  # at first\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A folder in which one file is not in its one form."""
    folder = continuation(tmp_path / "rules")
    (folder / "levels.yaml").write_text(LEVELS)
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_file_is_brought_into_its_one_form_and_named(run: Run, rules: Path) -> None:
    answer = run("fmt", rules)
    assert (answer.exit_code, answer.stdout) == (0, f"{rules / 'levels.yaml'}\n")
    assert answer.stderr == "1 file formatted, 3 left as they are\n"
    assert (rules / "levels.yaml").read_text() == FORMED


def test_a_second_time_there_is_nothing_to_do_and_nothing_is_written(run: Run, rules: Path) -> None:
    run("fmt", rules)
    before = state(rules)
    answer = run("fmt", rules)
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert state(rules) == before


def test_check_names_the_file_and_changes_nothing(run: Run, rules: Path) -> None:
    before = state(rules)
    answer = run("fmt", "--check", rules)
    assert (answer.exit_code, answer.stdout) == (1, f"{rules / 'levels.yaml'}\n")
    assert state(rules) == before
    run("fmt", rules)
    assert run("fmt", "--check", rules).exit_code == 0


def test_diff_shows_what_would_change_and_changes_nothing(run: Run, rules: Path) -> None:
    before = state(rules)
    answer = run("fmt", "--diff", rules)
    name = rules / "levels.yaml"
    assert answer.exit_code == 1
    assert answer.stdout == (
        f"--- {name}\n+++ {name}\n@@ -1,2 +1,2 @@\n # levels\n"
        "-continue-unfinished-work:   shadow  # at first\n+continue-unfinished-work: shadow  # at first\n"
    )
    assert state(rules) == before
    run("fmt", rules)
    answer = run("fmt", "--diff", rules)
    assert (answer.exit_code, answer.stdout) == (0, "")


def test_a_diff_says_where_the_last_line_has_no_end(run: Run, rules: Path) -> None:
    (rules / "levels.yaml").write_text(FORMED.rstrip("\n"))
    assert run("fmt", "--diff", rules).stdout.splitlines()[3:] == [
        " # levels",
        "-continue-unfinished-work: shadow  # at first",
        "\\ No newline at end of file",
        "+continue-unfinished-work: shadow  # at first",
    ]


def test_line_ends_of_windows_and_a_byte_order_mark_are_taken_away(run: Run, rules: Path) -> None:
    (rules / "levels.yaml").write_bytes(b"\xef\xbb\xbf" + FORMED.replace("\n", "\r\n").encode())
    assert run("fmt", "--check", rules).exit_code == 1
    assert run("fmt", rules).exit_code == 0
    assert (rules / "levels.yaml").read_bytes() == FORMED.encode()


def test_a_file_that_does_not_load_is_left_as_it_is_and_the_others_are_formatted(run: Run, rules: Path) -> None:
    (rules / "five.yaml").write_text(FIVE_MISTAKES)
    for options in ((), ("--check",), ("--diff",)):
        answer = run("fmt", *options, rules)
        assert answer.exit_code == 3
        assert answer.stderr.count("error[") == 5
        assert answer.stderr.splitlines()[-1].endswith(", 1 that does not load")
    assert (rules / "five.yaml").read_text() == FIVE_MISTAKES
    assert (rules / "levels.yaml").read_text() == FORMED


def test_tests_of_a_gate_that_does_not_exist_are_left_as_they_are(run: Run, rules: Path) -> None:
    text = "policy: continue-unfinished-work\ncases: [{name: a, expect: {blocked_by: [nobody]}}]\n"
    (rules / "c_test.yaml").write_text(text)
    answer = run("fmt", rules / "c_test.yaml")
    assert answer.exit_code == 3 and "error[R507]" in answer.stderr
    assert (rules / "c_test.yaml").read_text() == text


def test_a_single_group_is_a_group(run: Run, rules: Path) -> None:
    group = rules / "groups" / "nothing-used.yaml"
    group.write_text(group.read_text().replace("require: ", "require:   "))
    assert run("fmt", group).stdout == f"{group}\n"
    assert run("fmt", "--check", rules / "groups").exit_code == 0


def test_what_is_no_file_is_refused_without_waiting(run: Run, rules: Path) -> None:
    os.mkfifo(rules / "pipe.yaml")
    (rules / "endless.yaml").symlink_to("/dev/zero")
    answer = run("fmt", rules)
    assert answer.exit_code == 3
    assert answer.stderr.count("error[R108]") == 2


def test_the_mode_of_a_file_stays(run: Run, rules: Path) -> None:
    (rules / "levels.yaml").chmod(0o640)
    assert run("fmt", rules).exit_code == 0
    assert (rules / "levels.yaml").stat().st_mode & 0o7777 == 0o640


def test_a_link_stays_a_link_and_what_it_leads_to_is_formatted(run: Run, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = (rules / "levels.yaml").rename(tmp_path / "elsewhere" / "shared")
    (rules / "levels.yaml").symlink_to("../elsewhere/shared")
    assert run("fmt", rules).exit_code == 0
    assert (rules / "levels.yaml").is_symlink()
    assert target.read_text() == FORMED
    assert [path.name for path in target.parent.iterdir()] == ["shared"]


def test_a_disk_that_is_full_leaves_the_file_whole(run: Run, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = state(rules)
    monkeypatch.setattr(os, "fsync", full)
    answer = run("fmt", rules)
    assert answer.exit_code == 2
    assert (
        answer.stderr.splitlines()[-1] == f"Error: {rules / 'levels.yaml'} cannot be written: No space left on device"
    )
    assert state(rules) == before


def test_a_file_that_was_changed_meanwhile_is_left_to_whoever_changed_it(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("newer")
    with pytest.raises(OSError, match="changed meanwhile"):
        replace(file, b"older", b"formatted")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.yaml", "newer")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        replace(file, b"a", b"b")
    assert file.read_text() == "a"


def test_where_nothing_is_to_be_formatted_nothing_ran(run: Run, tmp_path: Path) -> None:
    assert run("fmt").exit_code == 5
    (tmp_path / "empty").mkdir()
    assert run("fmt", "empty").exit_code == 5


def test_check_and_diff_are_not_both_given(run: Run, rules: Path) -> None:
    assert run("fmt", "--check", "--diff", rules).exit_code == 2


def test_the_policies_here_are_formatted_when_none_are_named(run: Run, rules: Path) -> None:
    rules.rename("policies")
    answer = run("fmt")
    assert answer.stdout == "policies/levels.yaml\n"
    assert answer.stderr.startswith("policies: policies (the current folder)\n")


def test_what_init_makes_is_in_the_one_form(run: Run) -> None:
    assert run("init", "mine").exit_code == 0
    assert run("fmt", "--check", "mine/policies").exit_code == 0


def test_what_cases_writes_is_in_the_one_form(run: Run, rules: Path) -> None:
    file = rules / "continue-unfinished-work_test.yaml"
    assert run("cases", "continue-unfinished-work", "--policies", rules, "--write", file).exit_code == 0
    assert run("fmt", "--check", file).exit_code == 0
