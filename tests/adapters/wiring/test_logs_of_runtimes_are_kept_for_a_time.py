"""What a runtime wrote to its standard error is private, and goes when texts go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oncemore.adapters import native_log
from oncemore.rules import times

NOON = times.parse("2026-11-30T12:00:00.000Z")


def written(folder: Path, *parts: tuple[str, str]) -> Path:
    file = folder / native_log.CODEX
    file.write_text("".join(f"--- begins {at}\n{text}\n" for at, text in parts))
    file.chmod(0o600)
    return file


def test_a_process_begins_with_its_time_in_a_private_file(tmp_path: Path) -> None:
    for _ in range(2):
        os.close(native_log.opened(tmp_path / native_log.CODEX))
    file = tmp_path / native_log.CODEX
    assert file.stat().st_mode & 0o777 == 0o600
    assert [line.split()[:2] for line in file.read_text().splitlines()] == [["---", "begins"]] * 2


def test_what_old_processes_wrote_goes_and_the_rest_stays_private(tmp_path: Path) -> None:
    file = written(tmp_path, ("2026-08-01T00:00:00.000Z", "old words"), ("2026-11-30T11:00:00.000Z", "new words"))
    native_log.drop_in([tmp_path, tmp_path / "nowhere"], NOON - 86_400_000)
    assert file.read_text() == "--- begins 2026-11-30T11:00:00.000Z\nnew words\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_file_that_is_old_altogether_goes(tmp_path: Path) -> None:
    file = written(tmp_path, ("2026-08-01T00:00:00.000Z", "old words"))
    native_log.drop_in([tmp_path], NOON)
    assert not file.exists()


def test_what_stands_there_without_a_time_is_old(tmp_path: Path) -> None:
    file = tmp_path / native_log.HARNESS
    file.write_text("words\n--- begins yesterday\nmore\n")
    native_log.drop_in([tmp_path], NOON)
    assert not file.exists()


def test_a_young_file_stays_as_it_is(tmp_path: Path) -> None:
    file = written(tmp_path, ("2026-11-30T11:00:00.000Z", "new words"))
    before = file.stat().st_ino
    native_log.drop_in([tmp_path], NOON - 86_400_000)
    assert file.stat().st_ino == before


def test_a_link_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / native_log.CODEX).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        native_log.opened(tmp_path / native_log.CODEX)
