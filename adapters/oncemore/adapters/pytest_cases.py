"""How does a case of a rule test run as a test of pytest?

Deciding is the test's set-up and comparing its call: a case that could not be judged is an error, one that was decided
otherwise is a failure, and pytest, its plugins and its reports tell these apart by themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from oncemore.adapters.cli import testing
from oncemore.adapters.cli.output import counted
from oncemore.engine.errors import OncemoreError
from oncemore.rules.case import Case
from oncemore.rules.cases import TestCase, TestFile, load_tests
from oncemore.rules.diagnostics import Diagnostic, render
from oncemore.rules.errors import RulesError
from oncemore.rules.expectations import Known, known_of
from oncemore.rules.loading import load_policies
from oncemore.rules.testing import CaseResult, run_case


class Policies:
    """The policies of a folder; the engine is started with the first case that asks them."""

    def __init__(self, folder: Path) -> None:
        self._loaded = load_policies([folder])
        self.known: Known = known_of(self._loaded)

    @cached_property
    def decide(self) -> Callable[[str, Case], Mapping[str, Any]]:
        """What decides a case.

        Raises:
            PolicyRefused, EngineUnavailable: the policies cannot be used.
        """
        return testing.decider(self._loaded)


_USED = pytest.StashKey[dict[Path, Policies]]()


class RuleTests(pytest.File):
    """A file `*_test.yaml`."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each case.

        Raises:
            CollectError: the file, or the policies that it is about, do not load; with every mistake framed.
        """
        file = _from_here(self.path)
        used = self.session.stash.setdefault(_USED, {})
        try:
            folder = testing.policies_of(file, None).folder
            if folder not in used:
                used[folder] = Policies(folder)
            tests = load_tests(file, used[folder].known)
        except (RulesError, OncemoreError) as error:
            raise self.CollectError(_framed(error)) from None
        names: set[str] = set()
        for case in tests.cases:
            name = _name(case.name, names)
            names.add(name)
            yield RuleTest.from_parent(self, name=name, tests=tests, case=case, policies=used[folder])


class RuleTest(pytest.Item):
    """A case of it."""

    def __init__(self, *, tests: TestFile, case: TestCase, policies: Policies, **named: Any) -> None:
        super().__init__(**named)
        self._tests, self._case, self._policies = tests, case, policies
        self._result: CaseResult | None = None
        self.extra_keyword_matches.add(tests.policy)
        self.user_properties.append(("policy", tests.policy))

    def setup(self) -> None:
        """Decide the case; an error when that is not possible."""
        self._result = run_case(self._tests, self._case, lambda policy, case: self._policies.decide(policy, case))
        if self._result.verdict == "ERROR":
            self._end(self._result)

    def runtest(self) -> None:
        """Compare; a failure when something else was expected."""
        assert self._result is not None
        if self._result.verdict != "PASS":
            self._end(self._result)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case begins."""
        return self.path, self._case.line - 1, f"{self._tests.policy}: {self.name}"

    def _end(self, result: CaseResult) -> None:
        pytest.fail(f"{result.message}\n{testing.told(self._tests.policy, result)}", pytrace=False)


def _name(sentence: str, taken: Container[str]) -> str:
    """The name of a case by which pytest tells it from the others of its file, and takes it on its command line."""
    plain = re.sub(":{2,}", ":", " ".join(sentence.split()))
    if plain not in taken:
        return plain
    return next(name for number in count(2) if (name := f"{plain} ({number})") not in taken)


def _from_here(path: Path) -> Path:
    """A path as a person would write it in the current folder."""
    here = Path.cwd()
    return Path(os.path.relpath(path, here)) if path.is_relative_to(here) else path


def _framed(error: RulesError | OncemoreError) -> str:
    diagnostics: tuple[Diagnostic, ...] = getattr(error, "diagnostics", ())
    if not diagnostics:
        return f"error[{error.code}] {error}"
    return f"{render(diagnostics)}\n\n{counted(diagnostics)}"
