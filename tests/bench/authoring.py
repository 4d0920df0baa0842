"""How long does an author wait: for checks, tests and mutants of many policies, and for the nearest change?"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.broken.test_broken_files_are_explained import CASES as BROKEN
from tests.broken.test_broken_files_are_explained import command, prepared
from tests.rules.policy_files import gate, policy

from oncemore.adapters.cli.commands import cli
from oncemore.engine.evaluation import Evaluator
from oncemore.engine.supposing import suppose
from oncemore.rules.case import Case, Evidence, Reading
from oncemore.rules.check import check_paths
from oncemore.rules.loading import load_policies, read_policies
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.typecheck import MAX_INT
from oncemore.rules.vocabulary import FACTS

POLICIES, GATES, CASES, RUNS = 100, 12, 1_000, 5

_CONDITIONS = [
    "request.opted_out == false", 'request.audience == "private" && request.host == "managed"',
    'source.state == "unchanged" && source.sender_verified', 'grant.state == "intact"', 'session.state == "idle"',
    'native.read == "stable" && native.coverage == "complete"', 'native.effects in ["none", "settled"]',
    'turn.ended_ago >= duration("{n}s")', "native.steps < {n}", 'native.pending == "none"',
    'native.runtime != "codex" || native.live_owner in ["none", "ours"]', "native.user_inputs == 1",
    "attempts.open == false", 'delivery.notice in ["verified", "none"]',
]  # fmt: skip


def write_policies(folder: Path, *, apart: bool) -> None:
    """A hundred policies of twelve gates; apart by their `when`, or each of them for the same cases."""
    draw = random.Random(1)
    for number in range(POLICIES):
        chosen = draw.sample(_CONDITIONS, GATES)
        gates = [gate(f"'{text.format(n=number + 60)}'", f"g{place}") for place, text in enumerate(chosen)]
        attempt = number + 1 if apart else 1
        text = policy(*gates, name=f"p{number:03}", when=f"turn.attempt == {attempt}")
        (folder / f"p{number:03}.yaml").write_text(text)


def write_tests(folder: Path) -> None:
    """A thousand cases of one of them."""
    cases = "".join(
        f"  - name: case {number}\n    facts: {{native.steps: {number}}}\n    expect: {{outcome: wait}}\n"
        for number in range(CASES)
    )
    (folder / "p000_test.yaml").write_text(f"policy: p000\nbase: {{turn.attempt: 1}}\ncases:\n{cases}")


def timed(run: Callable[[], object], runs: int = RUNS) -> float:
    """Median, seconds."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _empty() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def _command(*arguments: str) -> Callable[[], None]:
    def run() -> None:
        code = cli.main([*arguments], prog_name="oncemore", standalone_mode=False)
        if code not in (0, 1):
            raise SystemExit(f"{arguments} ended with {code}")

    return run


def measure() -> None:
    """Print medians beside an empty Python in the same run."""
    with tempfile.TemporaryDirectory() as name:
        apart, same = Path(name, "apart"), Path(name, "same")
        for folder in (apart, same):
            folder.mkdir()
            write_policies(folder, apart=folder is apart)
        write_tests(apart)
        rows: list[tuple[str, float]] = [
            ("python -c pass", timed(_empty)),
            (f"{POLICIES} policies of {GATES} gates: read and typed", timed(lambda: read_policies([apart]))),
            ("  and every finding, 4,950 pairs, none both fire", timed(lambda: check_paths([apart]))),
            ("  and every finding, 4,950 pairs, all both fire", timed(lambda: check_paths([same]))),
        ]
        rows.append((f"{CASES} test cases, whole command", _silent(_command("test", str(apart)))))
        rows.append(("mutants of the shipped policies, whole command", _silent(_mutate(), 1)))
    for label, seconds in rows:
        print(f"  {label:<52} {seconds * 1_000:10.1f} ms {seconds / rows[0][1]:8.1f} x")
    _nearest()
    _broken()


def _mutate() -> Callable[[], None]:
    return _command("test", str(shipped_policies()), "--mutate")


def _silent(run: Callable[[], None], runs: int = RUNS) -> float:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return timed(run, runs)


def _nearest() -> None:
    """A thousand random cases of the shipped policies."""
    draw = random.Random(2)
    loaded = load_policies([shipped_policies()])
    evaluator, times = Evaluator(loaded.policies), []
    for _ in range(1_000):
        chosen = draw.choice(loaded.policies)
        case = _case(draw)
        start = time.perf_counter()
        suppose(evaluator, chosen.name, case)
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"  nearest change, 1,000 cases: p50 {times[500] * 1_000:.1f} ms, p95 {times[950] * 1_000:.1f} ms")


def _broken() -> None:
    """Every broken file of the tests by a command of its own, as a person waits for it."""
    times = []
    for case in BROKEN:
        with tempfile.TemporaryDirectory() as name:
            here = prepared(case, Path(name))
            run = [sys.executable, "-m", "oncemore.adapters.cli", *command(case)]
            start = time.perf_counter()
            subprocess.run(run, cwd=here, capture_output=True, stdin=subprocess.DEVNULL, check=False, env=_plain())
            times.append((time.perf_counter() - start, case))
    times.sort()
    slowest = ", ".join(f"{seconds * 1_000:.0f} ms {case}" for seconds, case in reversed(times[-3:]))
    median = times[len(times) // 2][0] * 1_000
    print(f"  {len(times)} broken files, whole commands: p50 {median:.0f} ms; slowest {slowest}")


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ONCEMORE_")}


def _case(draw: random.Random) -> Case:
    evidence = Evidence("file", 1_796_040_000_000)
    readings = {}
    for fact in FACTS.values():
        if fact.type == "bool":
            value: bool | int | str = draw.random() < 0.5
        elif fact.type == "enum":
            value = draw.choice(fact.values)
        else:
            value = min(draw.randrange(fact.lowest, fact.lowest + 10) * 60_000 ** (fact.type == "duration"), MAX_INT)
        if draw.random() < 0.9:
            readings[fact.name] = Reading("known", value, evidence)
    return Case(evidence.observed_at, readings)
