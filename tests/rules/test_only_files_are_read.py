"""What a name leads to is read only when it is a regular file, and never further than its limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.rules.policy_files import policy, write

from oncemore.rules import check
from oncemore.rules.cases import load_facts
from oncemore.rules.errors import FactsInvalid, RulesInvalid
from oncemore.rules.levels import load_levels
from oncemore.rules.loading import read_policies
from oncemore.rules.named_file import read_up_to
from oncemore.rules.source import MAX_BYTES, read


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that nobody writes into."""
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.yaml"
    path.symlink_to("/dev/zero")
    return path


def test_a_pipe_is_refused_without_waiting_for_its_other_end(pipe: Path) -> None:
    with pytest.raises(OSError, match="Is a pipe, not a file"):
        read_up_to(pipe, 10)


def test_a_link_to_an_endless_device_is_refused(endless: Path) -> None:
    with pytest.raises(OSError, match="Is a device, not a file"):
        read_up_to(endless, 10)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_up_to(tmp_path, 10)


def test_a_long_file_is_read_one_byte_beyond_the_limit(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * 100)
    assert len(read_up_to(tmp_path / "long", 10)) == 11
    assert len(read_up_to(tmp_path / "long", 100)) == 100


def test_a_document_that_is_no_file_has_the_reason_as_its_diagnostic(pipe: Path, endless: Path) -> None:
    for path, word in ((pipe, "pipe"), (endless, "device")):
        [one] = read(path).diagnostics
        assert one.code == "R108"
        assert word in one.message


def test_a_document_beyond_its_limit_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "sparse.yaml"
    path.touch()
    os.truncate(path, 2**40)
    [one] = read(path).diagnostics
    assert one.code == "R107"
    path.write_bytes(b"x" * MAX_BYTES)
    [one] = read(path).diagnostics
    assert one.code == "R107"


def test_facts_and_levels_are_refused_as_pipes(pipe: Path) -> None:
    with pytest.raises(FactsInvalid, match="Is a pipe"):
        load_facts(pipe, 0)
    with pytest.raises(RulesInvalid, match="Is a pipe"):
        load_levels(pipe)


def test_a_pipe_among_rule_files_is_named_and_not_left_out(tmp_path: Path, pipe: Path) -> None:
    write(tmp_path, policy())
    assert [one.code for one in read_policies([tmp_path]).errors] == ["R108"]
    assert [one.file for one in read_policies([pipe]).errors] == [str(pipe)]
    assert [one.code for one in check.check_paths([tmp_path])] == ["R108"]


def test_a_link_to_nothing_is_named_and_not_left_out(tmp_path: Path) -> None:
    write(tmp_path, policy())
    (tmp_path / "q.yaml").symlink_to("nothing.yaml")
    assert [one.file for one in read_policies([tmp_path]).errors] == [str(tmp_path / "q.yaml")]


def test_what_editors_leave_beside_a_file_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, policy())
    (tmp_path / ".#p.yaml").symlink_to("ann@host.1234")
    (tmp_path / "._p.yaml").write_bytes(b"\x00\x05\x16\x07")
    assert read_policies([tmp_path]).errors == []
