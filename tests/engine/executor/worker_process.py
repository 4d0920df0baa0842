"""A worker of its own process, which stops at one crash point until it is killed.

usage: python -m tests.engine.executor.worker_process CONFIGURATION OFFSET_MS [POINT SUBJECT_END]

At the point it says so on its standard output and waits for its end; else it works until nothing is due and says done.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.worker import Worker


def main(arguments: list[str]) -> None:
    file, offset = Path(arguments[0]), int(arguments[1])
    point, subject = (arguments[2], arguments[3]) if len(arguments) > 2 else ("", "")

    def checkpoint(reached: CrashPoint, about: str) -> None:
        if reached.value == point and about.endswith(subject):
            print(f"at {reached.value} {about}", flush=True)
            sys.stdin.read()

    with wiring.opened(file, clock=lambda: time.time_ns() // 1_000_000 + offset, worker=True) as house:
        worker = Worker(wiring.context(house, wiring.rulebook(house.configuration), checkpoint))
        while worker.run_due():
            pass
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
