"""How does a policy read as a page for people? Everything that its file, its groups and its tests say, in Markdown.

The same policy gives the same page, byte for byte, so that a page that was written can be compared with its rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from oncemore.rules import durations
from oncemore.rules.actions import ACTIONS
from oncemore.rules.cases import TestCase
from oncemore.rules.floor import floor_gates
from oncemore.rules.markdown import cell, code, prose
from oncemore.rules.outcome import FINALITY, Outcome
from oncemore.rules.policy import Gate, Policy

MARK = "<!-- Written by `oncemore docs` from the rule files; change those. -->"
"""The first line of every page, by which a page of ours is known."""

INDEX = "README.md"
"""The page that lists the others."""

_SAID: Mapping[Outcome, str] = {
    Outcome.FIRE: "It acts",
    Outcome.WAIT: "It waits",
    Outcome.HOLD: "It is held for a person",
    Outcome.DENY: "It is denied",
    Outcome.NOT_CONCERNED: "It is not concerned",
}


def pages(policies: Iterable[Policy], tests: Mapping[str, Sequence[TestCase]]) -> dict[str, str]:
    """The pages by file name: one for each policy, and one that lists them.

    Args:
        tests: the cases by the name of the policy that they are about.
    """
    listed = sorted(policies, key=lambda policy: policy.name)
    made = {f"{policy.name}.md": page(policy, tests.get(policy.name, ())) for policy in listed}
    return {INDEX: _index(listed), **made}


def page(policy: Policy, tests: Sequence[TestCase]) -> str:
    """The page of one policy."""
    lines = [MARK, "", f"# {policy.name}", ""]
    for sentence in policy.summary.values():
        lines += [prose(sentence), ""]
    lines += [*_facts(policy), "", "## Whom it concerns", "", code(policy.when_text), ""]
    lines += ["## What must hold", "", "Every gate, in this order.", "", *_gates(policy.gates), ""]
    lines += [*_floor(policy.action), ""]
    lines += [*_tests(tests)]
    return "\n".join(lines).rstrip() + "\n"


def _index(policies: Sequence[Policy]) -> str:
    lines = [MARK, "", "# Policies", "", "| policy | | action |", "|---|---|---|"]
    for policy in policies:
        said = cell("\n".join(map(prose, policy.summary.values())))
        lines.append(f"| [{policy.name}]({policy.name}.md) | {said} | {code(policy.action)} |")
    return "\n".join(lines) + "\n"


def _facts(policy: Policy) -> Iterator[str]:
    patience = "for ever"
    if policy.patience is not None:
        patience = f"{durations.format_ms(policy.patience)}; then a person is shown it"
    rows = {
        "revision": str(policy.revision),
        "action": f"{code(policy.action)}: {prose(ACTIONS[policy.action].meaning)}",
        "spends": f"one try of the kind {code(policy.attempt)}" if policy.attempt else "no try",
        **{key: code(value) for key, value in policy.parameters.items()},
        "waits": patience,
    }
    yield from ("| | |", "|---|---|")
    yield from (f"| {key} | {cell(value)} |" for key, value in rows.items())


def _gates(gates: Iterable[Gate]) -> Iterator[str]:
    yield from ("| gate | must hold | otherwise | unknown | why |", "|---|---|---|---|---|")
    for gate in gates:
        called = code(gate.id) + (f"\nof {code(gate.group)}" if gate.group else "")
        called += "" if gate.recheck else "\nnot judged again"
        why = "\n".join(map(prose, gate.why.values()))
        yield f"| {cell(called)} | {cell(code(gate.text))} | {gate.otherwise} | {gate.unknown} | {cell(why)} |"


def _floor(action: str) -> Iterator[str]:
    yield from ("## The floor", "")
    gates = floor_gates(action)
    if not gates:
        yield "It starts no model; no floor stands under it."
        return
    yield from ("The engine's own gates, judged when all of the above have passed. No file can remove them.", "")
    yield from _gates(gates)


def _tests(tests: Sequence[TestCase]) -> Iterator[str]:
    yield from ("## What its tests say", "")
    if not tests:
        yield "It has no tests."
    for outcome in FINALITY:
        yield from _sentences(_SAID[outcome], [test for test in tests if test.expect.get("outcome") == outcome])
    yield from _sentences("Of its gates", [test for test in tests if test.expect.get("outcome") is None])


def _sentences(title: str, tests: Sequence[TestCase]) -> Iterator[str]:
    if tests:
        yield from (f"### {title}", "")
        yield from (f"- {prose(' '.join(test.name.split()))}" for test in tests)
        yield ""
