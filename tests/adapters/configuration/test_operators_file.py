"""What does a good `oncemore.yaml` become, and which files are not read at all?"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from oncemore.adapters.configuration import RuntimeEntry, WorkerEntry, WorkspaceEntry, find, load_configuration
from oncemore.adapters.errors import ConfigurationRefused
from oncemore.engine import queueing

WHOLE = """\
# an operator's file
journal: data/oncemore.db
policies: policies
levels: ../levels.yaml
runtimes:
  codex:
    home: data/codex
    binary: /opt/codex
    environment: [HTTPS_PROXY, OPENAI_API_KEY]
    hard_timeout: 20m
workspaces:
  reports:
    path: /srv/reports
    owner: ou_1
    level: workspace_write
    revision: 4
    role: steward
  notes:
    path: ./a/../notes
    owner: "7"
    level: workspace_read
    revision: 1
queue_patience: 2h
worker: {poll: 500ms, observe_again: 10s}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "oncemore.yaml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("url", ["postgresql://ann@db.example/oncemore", "postgres:///oncemore?host=/run/postgresql"])
def test_a_journal_on_a_server_is_kept_as_it_is_written(tmp_path: Path, url: str) -> None:
    text = WHOLE.replace("data/oncemore.db", url).replace(
        "poll: 500ms,", "name: mail-1, lease: 20s, batch: 3, poll: 1s,"
    )
    configuration = load_configuration(write(tmp_path, text))
    assert (configuration.journal, configuration.data) == (url, tmp_path / "data")
    assert configuration.worker == WorkerEntry(1_000, 10_000, "mail-1", 20_000, 3)


def test_what_is_kept_beside_a_file_stands_in_its_folder(tmp_path: Path) -> None:
    text = WHOLE.replace("data/oncemore.db", "../elsewhere/oncemore.db")
    assert load_configuration(write(tmp_path, text)).data == tmp_path.parent / "elsewhere"


def test_every_field_is_read_and_every_path_is_absolute(tmp_path: Path) -> None:
    configuration = load_configuration(write(tmp_path, WHOLE))
    assert configuration.file == tmp_path / "oncemore.yaml"
    assert configuration.journal == tmp_path / "data/oncemore.db"
    assert configuration.policies == tmp_path / "policies"
    assert configuration.levels == tmp_path.parent / "levels.yaml"
    assert configuration.runtimes == {
        "codex": RuntimeEntry(
            home=tmp_path / "data/codex",
            binary=Path("/opt/codex"),
            environment=("HTTPS_PROXY", "OPENAI_API_KEY"),
            hard_timeout=1_200_000,
        )
    }
    assert configuration.workspaces == {
        "reports": WorkspaceEntry(Path("/srv/reports"), "ou_1", "workspace_write", 4, "steward"),
        "notes": WorkspaceEntry(tmp_path / "notes", "7", "workspace_read", 1, "project"),
    }
    assert configuration.queue_patience == 7_200_000
    assert configuration.worker == WorkerEntry(poll=500, observe_again=10_000)


def test_what_is_left_out_has_its_documented_value(tmp_path: Path) -> None:
    configuration = load_configuration(write(tmp_path, "journal: a.db\nruntimes: {codex: {home: codex}}\n"))
    assert (configuration.policies, configuration.levels, dict(configuration.workspaces)) == (None, None, {})
    assert configuration.queue_patience == queueing.PATIENCE
    assert configuration.worker == WorkerEntry(poll=2_000, observe_again=30_000)
    assert configuration.runtimes["codex"] == RuntimeEntry(tmp_path / "codex", None, (), 900_000)


def test_a_reading_cannot_be_changed(tmp_path: Path) -> None:
    configuration = load_configuration(write(tmp_path, WHOLE))
    with pytest.raises(TypeError):
        configuration.workspaces["more"] = configuration.workspaces["notes"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        configuration.journal = Path("/")  # type: ignore[misc]


def test_the_digest_tells_two_texts_apart(tmp_path: Path) -> None:
    first = load_configuration(write(tmp_path, WHOLE)).digest
    assert load_configuration(write(tmp_path, WHOLE)).digest == first
    assert load_configuration(write(tmp_path, WHOLE + "# more\n")).digest != first


def test_relative_paths_go_through_no_link_when_the_folder_is_named_by_one(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    write(real, WHOLE)
    (tmp_path / "link").symlink_to(real)
    configuration = load_configuration(tmp_path / "link" / "oncemore.yaml")
    assert configuration.workspaces["notes"].path == real / "notes"


def test_links_below_the_folder_are_left_for_the_grants_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "notes").symlink_to(tmp_path)
    assert load_configuration(write(tmp_path, WHOLE)).workspaces["notes"].path == tmp_path / "notes"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused_and_the_line_given_mends_it(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    file = write(folder, WHOLE)
    file.chmod(mode)
    with pytest.raises(ConfigurationRefused, match="can be written by others") as caught:
        load_configuration(file)
    line = str(caught.value).rpartition(": ")[2]
    assert shlex.split(line) == ["chmod", "go-w", str(file)]
    subprocess.run(line, shell=True, check=True)
    load_configuration(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, WHOLE)
    os.chown(file, 54321, -1)
    with pytest.raises(ConfigurationRefused, match="belongs to another user"):
        load_configuration(file)


def test_the_right_to_write_is_judged_on_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    file = write(tmp_path, WHOLE)
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    load_configuration(link)
    file.chmod(0o666)
    with pytest.raises(ConfigurationRefused, match="can be written by others"):
        load_configuration(link)


def test_what_is_no_readable_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationRefused, match="cannot be read"):
        load_configuration(tmp_path / "absent.yaml")
    with pytest.raises(ConfigurationRefused, match="cannot be read"):
        load_configuration(tmp_path)
    large = write(tmp_path, "# " + "x" * 1024 * 1024)
    with pytest.raises(ConfigurationRefused, match="larger than"):
        load_configuration(large)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "oncemore.yaml"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(ConfigurationRefused, match="not a file"):
        load_configuration(pipe)


def test_the_named_folder_comes_before_the_environment_and_that_before_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("named", "environment", "current"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, WHOLE)
    monkeypatch.chdir(tmp_path / "current")
    monkeypatch.delenv("ONCEMORE_HOME", raising=False)
    assert find() == tmp_path / "current/oncemore.yaml"
    monkeypatch.setenv("ONCEMORE_HOME", str(tmp_path / "environment"))
    assert find() == tmp_path / "environment/oncemore.yaml"
    assert find(Path("../named")).samefile(tmp_path / "named/oncemore.yaml")


def test_a_folder_without_the_file_is_said_and_nothing_else_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, WHOLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONCEMORE_HOME", str(tmp_path / "empty place"))
    with pytest.raises(ConfigurationRefused, match="ONCEMORE_HOME") as caught:
        find()
    assert "oncemore init " + shlex.quote(str(tmp_path / "empty place")) in str(caught.value)
    with pytest.raises(ConfigurationRefused, match="named by --home"):
        find(tmp_path / "other")
