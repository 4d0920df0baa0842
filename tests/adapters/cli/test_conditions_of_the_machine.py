"""What the machine does not let the program do is said with what mends it, exits 2, and is no bug of the program."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, case, continuation

PROGRAM = [sys.executable, "-m", "oncemore.adapters.cli"]
Damage = Callable[[Path], None]


@pytest.fixture
def home(run: Run, tmp_path: Path) -> Path:
    """A home with one Request in its journal."""
    folder = tmp_path / "home"
    assert run("init", folder).exit_code == 0
    assert run("ask", "first", "Please", "--home", folder).exit_code == 0
    return folder


def journal(home: Path) -> Path:
    return home / "data" / "oncemore.db"


def alone(path: Path) -> None:
    """Everything of the journal in its one file."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def no_database(path: Path) -> None:
    path.write_text("not a database, whatever its name says\n" * 100)


def truncated(path: Path) -> None:
    alone(path)
    os.truncate(path, path.stat().st_size // 2)


def scribbled(path: Path) -> None:
    """The first page says what it said, so that only reading finds out."""
    alone(path)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir(0o700)


DAMAGES = [no_database, truncated, scribbled, a_pipe, a_folder]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("command", [("requests",), ("verify",), ("ask", "first", "x"), ("show", "r-1"), ("levels",)])
def test_a_journal_that_is_none_is_told_with_what_mends_it(
    run: Run, home: Path, damage: Damage, command: tuple[str, ...]
) -> None:
    damage(journal(home))
    answer = run(*command, "--home", home)
    assert answer.exit_code == 2
    assert "error[E201]" in answer.stderr
    assert f"mv {journal(home)} {journal(home)}.broken" in answer.stderr
    assert answer.stderr.count("\n") <= 2


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_doctor_says_it_in_a_line_with_the_mend(run: Run, home: Path, damage: Damage) -> None:
    damage(journal(home))
    answer = run("doctor", "--home", home)
    assert answer.exit_code == 1
    lines = answer.stdout.splitlines()
    [at] = [number for number, line in enumerate(lines) if line.startswith("missing  journal:")]
    assert lines[at + 1].strip().startswith("mend it: put a copy of it back")
    assert "skipped  grants: needs a journal that may be opened" in lines


def test_a_folder_in_the_place_of_the_workers_lock_is_named(run: Run, home: Path) -> None:
    lock = journal(home).with_name("oncemore.db.worker")
    lock.mkdir()
    worked = run("work", "--once", "--home", home)
    assert (worked.exit_code, f"mv {lock} {lock}.away" in worked.stderr) == (2, True)
    assert f"mend it: move the folder away: mv {lock} {lock}.away" in run("doctor", "--home", home).stdout


@pytest.mark.parametrize("name", ["data/" + "x" * 300 + ".db", "README.md/oncemore.db", "x" * 300 + "/oncemore.db"])
def test_a_name_that_the_system_does_not_take_is_mended_in_the_configuration(run: Run, home: Path, name: str) -> None:
    file = home / "oncemore.yaml"
    file.write_text(file.read_text().replace("data/oncemore.db", name))
    for command in (("requests",), ("work", "--once")):
        answer = run(*command, "--home", home)
        assert (answer.exit_code, "another `journal:` in oncemore.yaml" in answer.stderr) == (2, True)
    assert "another `journal:` in oncemore.yaml" in run("doctor", "--home", home).stdout


def test_a_home_whose_name_is_too_long_is_refused(run: Run) -> None:
    for command in ("requests", "doctor"):
        answer = run(command, "--home", "x" * 300)
        assert answer.exit_code in (1, 2)
        assert "File name too long" in answer.output


def mounted(tmp_path: Path, home: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A script in a mount space of its own, with the journal on a disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    file = home / "oncemore.yaml"
    file.write_text(file.read_text().replace("journal: data/oncemore.db", f"journal: {disk}/oncemore.db"))
    program = f'"{sys.executable}" -m oncemore.adapters.cli'
    begin = f'mount -t tmpfs -o size=1m,mode=700 oncemore "{disk}" || exit 99\n'
    begin += f'oncemore() {{ {program} "$@" --home "{home}"; }}\ncd "{disk}"\n'
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare here")
    done = subprocess.run(
        [unshare, "--user", "--map-root-user", "--mount", "sh", "-c", begin + script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("nothing may be mounted here")
    return done


def test_a_full_disk_is_told_as_one(tmp_path: Path, home: Path) -> None:
    script = """
        oncemore ask first one >&2 || exit 98
        head -c 2000000 /dev/zero > fill 2>/dev/null
        oncemore ask first two; echo "exit $?"
        oncemore doctor | grep -A1 'missing  journal'
    """
    done = mounted(tmp_path, home, script)
    assert "exit 2\n" in done.stdout
    assert "make room on its disk: df -h" in done.stderr
    assert "mend it: make room on its disk: df -h" in done.stdout


def test_a_disk_that_may_only_be_read_is_told_as_one(tmp_path: Path, home: Path) -> None:
    script = """
        oncemore ask first one >&2 || exit 98
        mount -o remount,ro "$PWD"
        oncemore ask first two; echo "exit $?"
        oncemore work --once; echo "exit $?"
        oncemore doctor | grep -A1 'missing  journal'
    """
    done = mounted(tmp_path, home, script)
    assert done.stdout.count("exit 2\n") == 2
    assert done.stderr.count("let yourself write there: ls -ld") == 2
    assert "mend it: let yourself write there" in done.stdout


# Where results go -----------------------------------------------------------------------------------------------------


def shell(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A script in which `oncemore` is the program."""
    program = f'oncemore() {{ "{sys.executable}" -m oncemore.adapters.cli "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", program + script], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("command", ["--version", "--help", "facts", "decide --help", "decide --facts case.json"])
def test_standard_output_that_takes_nothing_is_said(tmp_path: Path, command: str) -> None:
    case(tmp_path / "case.json")
    done = shell(f"oncemore {command} > /dev/full", tmp_path)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "bug" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("command", ["--version", "facts"])
def test_standard_output_that_is_closed_is_said(tmp_path: Path, command: str) -> None:
    done = shell(f"oncemore {command} >&-", tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: standard output is closed\n")


def test_a_reader_who_leaves_ends_the_program_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for command in ("facts", "--version", "--help"):
        done = subprocess.run([*PROGRAM, command], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, timeout=60)
        assert (done.returncode, done.stderr) == (1, b"")
    os.close(writing)


def rule_tests(folder: Path, until: str = "1m") -> Path:
    """A test file of one case, beside its policy."""
    file = folder / f"{POLICY}_test.yaml"
    file.write_text(f"policy: {POLICY}\ncases:\n  - {{name: one, expect: {{until: {until}}}}}\n")
    return file


def pipe(folder: Path) -> Path:
    """A folder with a pipe `go`, on which one waits for the other."""
    os.mkfifo(folder / "go")
    return folder


@pytest.mark.parametrize("target", ["/dev/full", "missing/x.xml", "go"])
def test_a_junit_file_that_cannot_be_written_is_said(run: Run, tmp_path: Path, target: str) -> None:
    rule_tests(continuation(tmp_path / "rules"))
    pipe(tmp_path)
    answer = run("test", tmp_path / "rules", "--junit", target)
    assert answer.exit_code == 2
    assert f"{target} cannot be written" in answer.stderr


def test_schemas_are_not_written_into_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run("schema", "--write", "file").exit_code == 2
    assert run("schema", "--write", "file/docs").exit_code == 2


# What is given --------------------------------------------------------------------------------------------------------


def test_bytes_that_are_no_text_are_refused(home: Path) -> None:
    for argument in ("- < bytes", "$'\\xffx'"):
        (home / "bytes").write_bytes(b"a\xffb")
        done = shell(f"oncemore ask first {argument}", home)
        assert done.returncode == 2
        assert "is not UTF-8" in done.stderr


def test_names_that_are_no_text_are_refused(home: Path) -> None:
    for command in (
        "show $'\\xffx'",
        "explain --request $'\\xffx'",
        "stop $'\\xffx' --why x",
        "stop r-1 --why $'\\xff'",
    ):
        done = shell(f"oncemore {command}", home)
        assert (done.returncode, "not UTF-8" in done.stderr) == (2, True), done.stderr


def test_a_file_whose_name_is_no_text_can_be_checked(tmp_path: Path) -> None:
    done = shell("cp case.json $'\\xff.yaml'; oncemore check $'\\xff.yaml'", tmp_path)
    assert done.returncode == 2
    case(tmp_path / "case.json")
    done = shell("cp case.json $'\\xff.yaml'; oncemore check $'\\xff.yaml'", tmp_path)
    assert (done.returncode, "bug" in done.stderr) == (3, False)


@pytest.mark.parametrize("source", ["- < /dev/zero", "go", "zero", "."])
def test_facts_that_never_come_or_never_end_are_refused(tmp_path: Path, source: str) -> None:
    (pipe(tmp_path) / "zero").symlink_to("/dev/zero")
    for command in ("decide", "explain"):
        done = shell(f"oncemore {command} --facts {source}", tmp_path)
        assert done.returncode == 2


@pytest.mark.parametrize("option", ["--policies go", "--policies zero"])
def test_policies_that_are_no_files_are_refused(tmp_path: Path, option: str) -> None:
    (pipe(tmp_path) / "zero").symlink_to("/dev/zero")
    case(tmp_path / "case.json")
    done = shell(f"oncemore decide --facts case.json {option}", tmp_path)
    assert (done.returncode, "R108" in done.stderr) == (3, True)


def test_levels_that_are_a_pipe_are_refused(run: Run, home: Path) -> None:
    file = home / "oncemore.yaml"
    file.write_text(file.read_text().replace("levels: policies/levels.yaml", "levels: go"))
    pipe(home)
    for command in (("levels",), ("work", "--once")):
        answer = run(*command, "--home", home)
        assert (answer.exit_code, "Is a pipe" in answer.stderr) == (3, True)
    assert "Is a pipe" in run("doctor", "--home", home).stdout


def test_an_endless_message_is_refused(home: Path) -> None:
    done = shell("oncemore ask first - < /dev/zero", home)
    assert (done.returncode, "more than" in done.stderr) == (2, True)


def test_an_age_beyond_the_numbers_of_a_record_is_framed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("facts: {native.latest: true}\nstale: {native.latest: 99999999999h}\n")
    answer = run("decide", "--facts", "old.yaml")
    assert (answer.exit_code, "old.yaml:2:24" in answer.stderr) == (2, True)


@pytest.mark.parametrize("until", ["2501999792h", "9999-12-31T23:59:59-23:00", "0000-01-01T00:00:00Z"])
def test_a_test_expects_no_moment_that_cannot_be_written(run: Run, tmp_path: Path, until: str) -> None:
    answer = run("test", rule_tests(continuation(tmp_path / "rules"), until))
    assert (answer.exit_code, "R502" in answer.output) == (3, True)
