"""How fast is a decision, beside other engines on the same gates? Ratios from one interleaved run.

python -m tests.bench             speed in process, and whole commands
python -m tests.bench --memory    a million decisions in one process
python -m tests.bench --author    what those wait for who write rules
python -m tests.bench --claims    finding due work among a thousand and a million, on both databases
python -m tests.bench --crowd 400 so many Requests, four workers on PostgreSQL, one killed every three seconds
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from tests.bench import authoring, claims, crowds, memory, processes
from tests.bench.peers import BASELINE, PEERS
from tests.bench.subjects import Subject, subjects

from oncemore.engine.decision import decide
from oncemore.rules.outcome import Truth

CASES, ROUNDS = 300, 15

PLUGIN_MS = 5
"""What our pytest plugin may cost a project that has no rules."""


def ours(subject: Subject) -> dict[str, Callable[[Any], object]]:
    """The three ways in which Oncemore is asked."""
    evaluator, policy = subject.evaluator, subject.policy

    def results(case: Any) -> object:
        fired = evaluator.ask(policy, case)
        return fired.outcome, fired.when, fired.gates

    return {
        "(a) Oncemore, outcome and every gate": results,
        "(b) Oncemore, with the stored record": lambda case: decide(evaluator, case).stored,
        "(c) Oncemore, rendered as JSON": lambda case: decide(evaluator, case).json(),
    }


def measured(ask: Callable[[Any], object], cases: Iterable[Any], count: int) -> float:
    """Microseconds per case."""
    start = time.perf_counter()
    for case in cases:
        ask(case)
    return (time.perf_counter() - start) / count * 1e6


def speed(subject: Subject, rounds: int) -> None:
    """Check that all give the same answers, then measure them in turn and print medians."""
    asked: dict[str, tuple[Callable[[Any], object], tuple[Any, ...]]] = {}
    expected = []
    for case in subject.cases:
        fired = subject.evaluator.ask(subject.policy, case)
        assert Truth.UNKNOWN not in (fired.when, *fired.gates)
        expected.append([truth is Truth.PASS for truth in (fired.when, *fired.gates)])
    for name, build in PEERS.items():
        try:
            ask = build(subject.gates)
        except ImportError as error:
            print(f"  {name}: left out, {error}")
            continue
        wrong = sum(ask(case) != answer for case, answer in zip(subject.plain, expected, strict=True))
        if wrong:
            raise SystemExit(f"{name} answers {wrong} of {len(expected)} cases otherwise")
        asked[name] = (ask, subject.plain)
    asked |= {name: (ask, subject.cases) for name, ask in ours(subject).items()}
    times: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, (ask, cases) in asked.items():
            few = cases[: len(cases) // 10] if name.startswith("(c)") else cases
            times[name].append(measured(ask, few, len(few)))
    medians = {name: statistics.median(found) for name, found in times.items()}
    conditions = len(subject.gates)
    print(f"\n{subject.name}: {conditions} conditions, {len(subject.cases)} cases, all answers equal")
    for name, median in sorted(medians.items(), key=lambda item: item[1]):
        ratio = f"{median / medians[BASELINE]:6.2f} x" if BASELINE in medians else ""
        print(f"  {name:<40} {median:8.1f} us {ratio}")


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memory", action="store_true", help="a million decisions in one process instead")
    parser.add_argument("--author", action="store_true", help="checks, tests, mutants and nearest changes instead")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--decisions", type=int, default=memory.DECISIONS)
    parser.add_argument("--claims", action="store_true", help="finding due work on both databases instead")
    parser.add_argument("--crowd", type=int, metavar="N", help="N Requests that need a recovery each, instead")
    parser.add_argument("--workers", type=int, default=4, help="of the crowd")
    arguments = parser.parse_args()
    if arguments.claims:
        raise SystemExit(not claims.show())
    if arguments.crowd:
        crowds.show(arguments.crowd, arguments.workers)
        return
    if arguments.author:
        authoring.measure()
        return
    shipped, twelve = subjects(CASES)
    if arguments.memory:
        sizes = memory.measure(shipped, arguments.decisions)
        growth = sizes[-1] - sizes[1]
        print(f"{arguments.decisions} decisions with stored record; resident kB after each tenth:")
        print("  " + " ".join(map(str, sizes)))
        print(f"  last against second: {growth:+d} kB, allowed {memory.LIMIT_KB}")
        raise SystemExit(growth > memory.LIMIT_KB)
    for subject in (shipped, twelve):
        speed(subject, arguments.rounds)
    print(f"\nwhole commands, median of {processes.RUNS}")
    for name, median in processes.measure().items():
        print(f"  {name:<40} {median:8.1f} ms")
    plugin = processes.plugin_import()
    print(f"  {'import of the pytest plugin':<40} {plugin:8.1f} ms, allowed {PLUGIN_MS}")
    raise SystemExit(plugin > PLUGIN_MS)


if __name__ == "__main__":
    main()
