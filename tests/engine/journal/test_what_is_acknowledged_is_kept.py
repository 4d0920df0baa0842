"""A message that was acknowledged is in the journal whatever happens to the process, and no other one is half there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import postgres

from oncemore.engine import events, texts
from oncemore.engine.journal import Journal
from oncemore.engine.tables import Event, Request, Turn

PROGRAM = Path(__file__).with_name("intaking.py")
MESSAGES = 1_000


@postgres.both
def test_a_kill_in_the_middle_loses_nothing_that_was_acknowledged(place: Path | str) -> None:
    with subprocess.Popen(
        [sys.executable, PROGRAM, str(place), str(MESSAGES), "32"], stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        acknowledged = [running.stdout.readline() for _ in range(MESSAGES // 4)]
        running.kill()
        acknowledged += running.stdout.readlines()
    names = [line.decode().strip() for line in acknowledged if line.endswith(b"\n")]
    assert MESSAGES // 4 <= len(names) < MESSAGES and "commits" not in names[-1]

    journal = Journal(place)
    try:
        kept = {row.message: row for row in Request.select()}
        assert set(names) <= set(kept)
        for row in kept.values():
            assert texts.fetch(row.digest) == f"write {row.message[1:]}"
            turn = Turn.get(Turn.request == row.id)
            assert (turn.status, texts.fetch(turn.input_digest) != "") == ("queued", True)
            assert [one.kind for one in Event.select().where(Event.request == row.id)] == ["accepted", "queued"]
            assert events.verify(row.id) is None
        orphans = Turn.select().where(Turn.request.not_in(Request.select(Request.id)))
        assert not orphans.exists() and Turn.select().count() == len(kept)
    finally:
        journal.close()


@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed: what reaches the disk is not counted"
)
def test_each_commit_reaches_the_disk_once(tmp_path: Path) -> None:
    def counted(name: str, messages: int) -> tuple[int, int]:
        """How often the kernel was asked to write to the disk, and how many commits took messages in."""
        tally = tmp_path / f"{name}.strace"
        told = subprocess.run(
            ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", tally, sys.executable, PROGRAM,
             tmp_path / name / "oncemore.db", str(messages), "8"],
            stdout=subprocess.PIPE, check=True,
        ).stdout.decode()  # fmt: skip
        calls = re.findall(
            r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?:fsync|fdatasync)$", tally.read_text(), re.M
        )
        return sum(map(int, calls)), int(told.split()[-1])

    # Opening, and the first commit with the folder that its log is new in, are the same in both.
    first, one = counted("first", 1)
    whole, commits = counted("whole", 80)
    assert one == 1 and 10 <= commits <= 80
    assert whole - first == commits - 1
