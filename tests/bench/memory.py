"""Does a process that has decided a million times still have the size it had at the start?"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

from tests.bench.subjects import Subject

from oncemore.engine.decision import decide

DECISIONS = 1_000_000
LIMIT_KB = 2_048


def resident_kb() -> int:
    """Resident memory of this process; Linux only."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_024


def measure(subject: Subject, decisions: int = DECISIONS) -> list[int]:
    """Resident memory in kB after each tenth, with holes in one case of three; every pass is stored and dropped."""
    rng = random.Random(1)
    cases = []
    for number, case in enumerate(subject.cases):
        gone = set(rng.sample(sorted(case.readings), 3)) if number % 3 == 0 else set()
        cases.append(replace(case, readings={name: one for name, one in case.readings.items() if name not in gone}))
    sizes = []
    for _ in range(10):
        for number in range(decisions // 10):
            # Another time each, so that no two passes are the same.
            case = replace(cases[number % len(cases)], now=cases[0].now + number)
            assert decide(subject.evaluator, case, request=f"request-{number}").stored
        sizes.append(resident_kb())
    return sizes
