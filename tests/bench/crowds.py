"""How long do workers take for many Requests when one of them is killed every three seconds, and what comes of it?"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests import postgres
from tests.engine.workers.crowd import checked, crowd, played

ROUNDS = 4
"""How often each conversation asks for work."""

SECONDS_EACH = 3.0
"""How long a Request may take at most, on the average, before it has failed."""


def show(requests: int, workers: int) -> None:
    """Play it, check every book, and print what came of it."""
    conversations = -(-requests // ROUNDS)
    with (
        tempfile.TemporaryDirectory(prefix="oncemore-bench-") as folder,
        crowd(Path(folder), postgres.server().fresh()) as made,
    ):
        began = time.perf_counter()
        played(made, conversations, ROUNDS, workers, every=3, limit=60 + requests * SECONDS_EACH)
        seconds = time.perf_counter() - began
        print(f"{made.asked} Requests that need a recovery, {workers} workers, {made.kills} killed: {seconds:.0f} s")
        for way, number in checked(made).most_common():
            print(f"  {number:6} {way}")
        print("  no continuation and no reply twice, every queue in its order, every chain whole")
