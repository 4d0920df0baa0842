"""How much of the rules do their tests hold: what have they seen, and which mistakes would they notice?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oncemore.adapters.cli import output
from oncemore.adapters.cli.output import Exit

if TYPE_CHECKING:
    from oncemore.adapters.cli.testing import Run
    from oncemore.rules.cases import TestFile
    from oncemore.rules.coverage import Coverage
    from oncemore.rules.mutation import Verdict
    from oncemore.rules.policy import Policy
    from oncemore.rules.testing import Decide


@dataclass
class Measured:
    """What was measured of each policy that was tested; nothing that was not asked for.

    Attributes:
        least: the percentage of results and outcomes that tests must have seen.
        undecided: policies with too many combinations to be measured.
    """

    least: float = 0
    coverages: list[Coverage] | None = None
    verdicts: dict[str, list[Verdict]] | None = None
    undecided: list[str] = field(default_factory=list)

    @property
    def exit(self) -> Exit:
        """No when tests saw too little, or a mutant survives."""
        covered = all(one.percent >= self.least for one in self.coverages or ())
        survives = any(one.killed_by is None for of_policy in (self.verdicts or {}).values() for one in of_policy)
        return Exit.YES if covered and not survives and not self.undecided else Exit.NO

    def as_json(self) -> dict[str, Any]:
        """The same as parts of a JSON object."""
        parts: dict[str, Any] = {}
        if self.coverages is not None:
            parts["coverage"] = [_coverage_json(one) for one in self.coverages]
        if self.verdicts is not None:
            parts["mutation"] = [_mutation_json(name, found) for name, found in self.verdicts.items()]
        if self.undecided:
            parts["undecided"] = self.undecided
        return parts

    def tell(self) -> None:
        """Tell it to a person, before the last line."""
        for coverage in self.coverages or ():
            _tell_coverage(coverage, self.least)
        for name, found in (self.verdicts or {}).items():
            _tell_mutation(name, found)
        for name in self.undecided:
            output.say(f"{name}: it has too many combinations to be measured; see R412")
        if self.coverages or self.verdicts or self.undecided:
            output.say()


def measure(run: Run, *, coverage: bool, least: float, mutate: bool) -> Measured:
    """Measure the tests that ran.

    Mutants are tried only when all tests pass: of one that fails it cannot be told what it would notice.
    """
    measured = Measured(least)
    if coverage:
        measured.coverages = list(_coverages(run, measured))
    if mutate and run.exit is Exit.YES:
        measured.verdicts = _verdicts(run, measured)
    elif mutate:
        output.note("no mutant was tried: first all tests have to pass")
    return measured


def _by_policy(run: Run) -> Iterator[tuple[Policy, list[TestFile]]]:
    """Each policy that was tested, with its test files."""
    found: dict[tuple[str, str], tuple[Policy, list[TestFile]]] = {}
    for file, loaded in run.tested:
        policy = loaded.get(file.policy)
        assert policy is not None
        found.setdefault((loaded.directory, file.policy), (policy, []))[1].append(file)
    yield from found.values()


def _coverages(run: Run, measured: Measured) -> Iterator[Coverage]:
    from oncemore.rules.cells import Undecided
    from oncemore.rules.coverage import coverage

    for policy, files in _by_policy(run):
        own = {file.file for file in files}
        records = [
            result.record
            for name, result in run.results
            if name == policy.name and result.file in own and result.record
        ]
        try:
            yield coverage(policy, records)
        except Undecided:
            measured.undecided.append(policy.name)


def _verdicts(run: Run, measured: Measured) -> dict[str, list[Verdict]]:
    from oncemore.rules.cells import Undecided
    from oncemore.rules.mutation import verdicts

    found: dict[str, list[Verdict]] = {}
    for policy, files in _by_policy(run):
        try:
            found[policy.name] = []
            for one in verdicts(policy, files, _deciding):
                found[policy.name].append(one)
                _progress(policy.name, len(found[policy.name]))
        except Undecided:
            measured.undecided.append(policy.name)
    _progress("", 0)
    return found


@contextmanager
def _deciding(policy: Policy) -> Iterator[Decide]:
    """The real engine with one policy alone; its memory is given back."""
    from oncemore.engine.decision import decide
    from oncemore.engine.evaluation import Evaluator

    evaluator = Evaluator([policy])
    try:
        yield lambda name, case: decide(evaluator, case, origin="posted", only=name).records[0]
    finally:
        evaluator.close()


def _progress(policy: str, tried: int) -> None:
    """How far it has come, on a terminal only; it is gone with the next line."""
    if output.on_terminal():
        import click

        click.echo(f"\r\033[K{policy}: {tried} mutants" if policy else "\r\033[K", nl=False, err=True)


def _tell_coverage(coverage: Coverage, least: float) -> None:
    count = f"{coverage.total - len(coverage.unseen)} of {coverage.total}"
    below = f", below {least:g} %" if coverage.percent < least else ""
    output.say(f"{coverage.policy}: {count} results and outcomes seen ({coverage.percent:.1f} %){below}")
    for gate, result in coverage.unseen:
        named = f"gate {gate} is never {_WORDS[result]}" if gate else f"the outcome {result} never comes"
        output.say(f"  {named}")


_WORDS = {"pass": "true", "fail": "false", "unknown": "unknown"}


def _tell_mutation(policy: str, found: list[Verdict]) -> None:
    survivors = [one for one in found if one.killed_by is None]
    noticed = len(found) - len(survivors)
    output.say(f"{policy}: {noticed} of {len(found)} mutants noticed ({_score(found):.1f} %)")
    for test in dict.fromkeys(one.test for one in survivors):
        output.say()
        for one in survivors:
            if one.test == test:
                about = f"gate {one.mutant.gate}" if one.mutant.gate is not None else "when"
                output.say(f"  {output.tone('survives', 'red')} {one.mutant.at} {about}: {one.mutant.change}")
        output.say("  no test fails; this one would:")
        output.say(test.rstrip())


def _score(found: list[Verdict]) -> float:
    return 100 * sum(one.killed_by is not None for one in found) / len(found) if found else 100


def _coverage_json(coverage: Coverage) -> dict[str, Any]:
    gates = {gate: results for gate, results in coverage.possible.items() if gate}
    return {
        "policy": coverage.policy,
        "percent": coverage.percent,
        "outcomes": {outcome: coverage.seen.get(("", outcome), 0) for outcome in coverage.possible[""]},
        "gates": {
            gate: {result: coverage.seen.get((gate, result), 0) for result in results}
            for gate, results in gates.items()
        },
    }


def _mutation_json(policy: str, found: list[Verdict]) -> dict[str, Any]:
    return {
        "policy": policy,
        "percent": _score(found),
        "mutants": [
            {
                "gate": one.mutant.gate,
                "at": one.mutant.at,
                "change": one.mutant.change,
                "killed_by": one.killed_by,
                "test": one.test or None,
            }
            for one in found
        ],
    }
