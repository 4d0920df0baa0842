"""Is what the demo says so? Everything is read again here, with other means than its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.adapters.demo.told import told as play

from oncemore.adapters.demo.place import KEY


def test_the_demo_tells_one_recovery_and_every_word_of_it_holds(tmp_path: Path) -> None:
    told = play(tmp_path / "demo")
    assert told.result == 0, told.text
    assert "NO " not in told.text
    assert KEY not in os.environ

    # Both parts stand there, the first one older than the whole wait.
    one, two = (told.folder / "workspace" / name for name in ("part-one.md", "part-two.md"))
    assert (one.read_text(), two.read_text()) == tuple(
        (told.folder / "workspace" / "source" / name).read_text() for name in ("one.txt", "two.txt")
    )
    (waited,) = told.rows("SELECT max(until) AS until FROM decision WHERE outcome = 'wait' AND reason_gate = 'backoff'")
    assert one.stat().st_mtime * 1000 < waited["until"] - 7_000
    assert two.stat().st_mtime * 1000 >= waited["until"]
    assert f"inode {one.stat().st_ino}" in told.text

    # Two Turns in one thread, one Attempt, two answers, and nothing fired before its time.
    turns = told.rows("SELECT * FROM turn ORDER BY position")
    assert [(turn["phase"], turn["status"], turn["report_state"]) for turn in turns] == [
        ("business", "completed", "valid"),
        ("work", "completed", "none"),
    ]
    (thread,) = {turn["native_thread"] for turn in turns}
    assert turns[0]["ended_at"] < waited["until"] - 7_000
    fired = told.rows("SELECT at, pass FROM decision WHERE outcome = 'fire'")
    assert fired and all(one["at"] >= waited["until"] for one in fired)
    (attempt,) = told.rows("SELECT * FROM attempt")
    assert (attempt["state"], attempt["turn"]) == ("answered", turns[1]["id"])
    replies = told.rows("SELECT body FROM inbox_reply JOIN text USING (digest) ORDER BY inbox_reply.at")
    assert len(replies) == 2
    assert all(json.dumps(reply["body"]) in told.text for reply in replies)

    # Codex's own store, asked by another process, holds two turns and the very ids that the journal sent.
    count = [sys.executable, "-m", "oncemore.adapters.codex.count", str(told.folder / "codex"), thread]
    counted = json.loads(subprocess.run(count, capture_output=True, check=True).stdout)
    assert counted["turns"] == 2
    assert [turn["client_ids"] for turn in counted["listed"]] == [[turn["id"]] for turn in turns]

    # The last words name what stands in the journal, and the processes were two.
    (request,) = told.rows("SELECT * FROM request")
    assert request["state"] == "answered"
    assert f"show --home {told.folder} {request['id']}" in told.text
    assert f"explain --home {told.folder} {attempt['decision']}" in told.text
    pids = re.findall(r"process (\d+), thread", told.text)
    assert len(set(pids)) == 2
    assert not any(Path(f"/proc/{pid}/exe").exists() and "codex" in os.readlink(f"/proc/{pid}/exe") for pid in pids)
