"""A journal is opened only where it is its owner's alone, and by one worker at a time."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from oncemore.engine.errors import JournalRefused
from oncemore.engine.journal import Journal
from oncemore.engine.tables import Clock


def test_folder_and_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "oncemore.db"
    journal = Journal(path, worker=True)
    try:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    finally:
        journal.close()


def test_a_folder_that_others_can_read_is_refused_with_the_command_that_mends_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    with pytest.raises(JournalRefused, match=f"chmod 700 {folder}"):
        Journal(folder / "oncemore.db")


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data" / "oncemore.db"
    Journal(path).close()
    path.chmod(0o644)
    with pytest.raises(JournalRefused, match="chmod 600"):
        Journal(path)


def test_a_second_worker_on_one_file_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    path = tmp_path / "data" / "oncemore.db"
    reader = (
        "import sys, pathlib; from oncemore.engine.journal import Journal; Journal(pathlib.Path(sys.argv[1])).close()"
    )
    first = Journal(path, worker=True)
    try:
        with pytest.raises(JournalRefused, match="one worker"):
            Journal(path, worker=True)
        subprocess.run([sys.executable, "-c", reader, path], check=True)
    finally:
        first.close()


def test_a_process_has_one_journal_at_a_time(tmp_path: Path) -> None:
    first = Journal(tmp_path / "data" / "oncemore.db")
    try:
        with pytest.raises(JournalRefused, match="open already"):
            Journal(tmp_path / "data" / "other.db")
    finally:
        first.close()
    Journal(tmp_path / "data" / "other.db").close()


def test_the_lock_is_free_again_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "data" / "oncemore.db"
    Journal(path, worker=True).close()
    before = len(os.listdir("/proc/self/fd"))
    Journal(path, worker=True).close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_now_is_never_below_the_last_time_and_says_when_the_clock_is_wrong(tmp_path: Path) -> None:
    time = [100_000]
    journal = Journal(tmp_path / "data" / "oncemore.db", clock=lambda: time[0])
    try:
        with journal.transaction():
            journal.advance_clock()
        time[0] = 95_000
        assert (journal.now().ms, journal.now().trusted) == (100_000, True)
        time[0] = 94_999
        assert (journal.now().ms, journal.now().trusted) == (100_000, False)
        time[0] = 100_001
        assert (journal.now().ms, journal.now().trusted) == (100_001, True)
    finally:
        journal.close()


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "data" / "oncemore.db", clock=lambda: 7)
    try:
        with pytest.raises(RuntimeError), journal.transaction():
            journal.advance_clock()
            raise RuntimeError
        assert Clock.get().last == 0
    finally:
        journal.close()
