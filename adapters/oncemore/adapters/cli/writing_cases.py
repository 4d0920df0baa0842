"""Which test file do the boundaries of a policy make?"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import Choice, choose

if TYPE_CHECKING:
    from oncemore.rules.policy import Policy
    from oncemore.rules.witness import Values

_TEST_SCHEMA = "test.schema.json"
_MODELINE = re.compile(r"# yaml-language-server: \$schema=(?P<where>\S*/|)policy\.schema\.json[ \t]*$", re.MULTILINE)


def written(name: str, policies: Path | None, file: Path | None = None) -> str | None:
    """The text of a test file for a policy; None when the policy never fires.

    Args:
        file: where it is going to stand; the line for editors names the schema from there.

    Raises:
        UsageError: there is no such policy.
        RulesInvalid, NoPolicies, PolicyRefused, EngineUnavailable: the policies cannot be used.
    """
    from oncemore.engine.smoke import publish
    from oncemore.rules.boundaries import boundaries, firing
    from oncemore.rules.loading import load_policies
    from oncemore.rules.vocabulary import FACTS
    from oncemore.rules.witness import said

    choice = choose(policies)
    choice.announce()
    loaded = load_policies([choice.folder])
    policy = loaded.get(name)
    if policy is None:
        known = [one.name for one in loaded.policies]
        raise click.UsageError(f"there is no policy {name!r}{output.did_you_mean_or_list(name, known)}")
    base = firing(policy, _base_of(policy, choice))
    if base is None:
        return None
    evaluator = publish(loaded)
    facts = {fact: value for fact in FACTS if (value := base.get(fact)) is not None}
    editors = [] if file is None else _for_editors(policy, choice, file)
    head = [
        *editors,
        f"policy: {name}",
        "base:",
        *(f"  {fact}: {said(fact, value)}" for fact, value in facts.items()),
        "cases:",
    ]
    entries = [_entry(evaluator, name, one, facts) for one in boundaries(policy, facts)]
    return "\n".join([*head, *entries])


def _entry(evaluator: Any, policy: str, boundary: Any, base: Values) -> str:
    """One case, with what the policy says of it now."""
    from oncemore.engine.decision import decide
    from oncemore.rules.case import Case, Evidence, Reading
    from oncemore.rules.cases import SOURCE, TEST_NOW
    from oncemore.rules.writing import expectations, test_case

    evidence = Evidence(SOURCE, TEST_NOW)
    values = {**base, **boundary.changed}
    readings = {fact: Reading("known", value, evidence) for fact, value in values.items() if value is not None}
    readings |= {fact: Reading("stale", readings[fact].value, evidence) for fact in boundary.stale}
    record = decide(evaluator, Case(TEST_NOW, readings, TEST_NOW), origin="posted", only=policy).records[0]
    return test_case(boundary.name, boundary.changed, base, expectations(record), boundary.stale).rstrip("\n")


def _folder_of(choice: Choice) -> Path:
    return choice.folder if choice.folder.is_dir() else choice.folder.parent


def _for_editors(policy: Policy, choice: Choice, file: Path) -> list[str]:
    """The line by which editors find the schema of tests, where it stands beside that which the policy names."""
    found = _MODELINE.match(policy.texts[policy.file])
    if found is None:
        return []
    schema = f"{found['where']}{_TEST_SCHEMA}"
    if "://" not in schema and not schema.startswith("/"):
        there = _folder_of(choice).resolve() / schema
        if not there.is_file():
            return []
        schema = os.path.relpath(there, file.parent.resolve())
    return [f"# yaml-language-server: $schema={schema}"]


def _base_of(policy: Policy, choice: Choice) -> Values:
    """The base of the policy's own tests, where it has some that load."""
    from oncemore.rules.cases import load_tests
    from oncemore.rules.errors import FactsInvalid

    folder = _folder_of(choice)
    file = folder / f"{Path(policy.file).stem}_test.yaml"
    try:
        return load_tests(file).base if file.is_file() else {}
    except FactsInvalid:
        return {}
