"""Which case does a facts file or a test file describe?

A fact that is named nowhere is missing; `unknown` as a value means that the supplier itself said so. Nothing is
guessed: an undeclared name, a value that a fact cannot have and a fact stated twice are errors with their place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oncemore.rules import durations, times
from oncemore.rules.case import Case, Evidence, Reading, Value
from oncemore.rules.diagnostics import in_order
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.expectations import Known, check_expectations
from oncemore.rules.fact import Fact
from oncemore.rules.files import FactsEntry, TestsEntry
from oncemore.rules.source import Document, Node, load_bytes, read
from oncemore.rules.structure import validate
from oncemore.rules.typecheck import unknown_fact, value_problem
from oncemore.rules.vocabulary import FACTS

TEST_NOW: Final = times.parse("2026-01-01T00:00:00Z")
"""The moment of every test case that names none."""

SOURCE: Final = "file"
"""Who supplied the facts of a file, in their evidence."""

_REPORTED: Final = "unknown"

_RUN_ON: Final = re.compile(r"(?P<fact>[a-z_.]{1,60})[ ]*(?::|==?)[ ]*[\"']?(?P<value>[A-Za-z0-9_]{1,60})[\"']?")
"""A fact and its value that YAML takes for one word: no colon with a blank stands between them."""


@dataclass(frozen=True, slots=True)
class TestCase:
    """One case of a test file.

    Attributes:
        expect: only what the author named, with `until` as milliseconds since the epoch.
        line, column: where the case begins.
    """

    __test__ = False  # pytest collects by name

    name: str
    case: Case
    expect: Mapping[str, Any]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class TestFile:
    """`NAME_test.yaml`: cases of one policy.

    Attributes:
        base: what every case states unless it says otherwise; None where the supplier itself said unknown.
    """

    __test__ = False

    policy: str
    cases: tuple[TestCase, ...]
    file: str
    base: Mapping[str, Value | None]


def load_facts(path: Path, default_now: int) -> Case:
    """The case of a facts file, YAML or JSON.

    Args:
        default_now: the moment of the case when the file names none, milliseconds since the epoch.

    Raises:
        FactsInvalid: with everything wrong in the file.
    """
    return read_facts(read(path), default_now)


def facts_from_bytes(raw: bytes, file: str, default_now: int) -> Case:
    """The same of bytes that are at hand; `file` is the name that diagnostics show."""
    return read_facts(load_bytes(raw, file), default_now)


def read_facts(document: Document, default_now: int) -> Case:
    """The same of a document."""
    root = document.root
    if root is None:
        raise FactsInvalid(in_order(document.diagnostics))
    validate(FactsEntry, document, root)
    case = _Reader(document, root, ()).case({}, default_now)
    if document.diagnostics:
        raise FactsInvalid(in_order(document.diagnostics))
    return case


def load_tests(path: Path, known: Known | None = None) -> TestFile:
    """The cases of a test file.

    Args:
        known: the policies that there are; what the file names of others is a mistake. None looks at none.

    Raises:
        FactsInvalid: with everything wrong in the file.
    """
    return read_tests(read(path), known)


def read_tests(document: Document, known: Known | None = None) -> TestFile:
    """The same of a document."""
    root = document.root
    if root is None:
        raise FactsInvalid(in_order(document.diagnostics))
    model = validate(TestsEntry, document, root)
    base = _Reader(document, root, ()).values(root.get("base"), ("base",))
    cases: list[TestCase] = []
    nodes = root.get("cases")
    for index, node in enumerate(nodes.items() if nodes is not None else ()):
        reader = _Reader(document, node, ("cases", index))
        if isinstance(node.children, dict) and not node.broken:
            case = reader.case(base, TEST_NOW)
            expect = reader.expect(case.now)
            line, column = document.position(node.place.start)
            cases.append(TestCase(str(node.value.get("name")), case, expect, line, column))
    _check_names(document, root)
    if known is not None:
        check_expectations(document, known)
    if document.diagnostics or model is None:
        raise FactsInvalid(in_order(document.diagnostics))
    return TestFile(model.policy, tuple(cases), document.file, base)


def typed(fact: Fact, raw: Any) -> Value:
    """A raw value as the fact's value.

    Raises:
        ValueError: the fact cannot have it. Its arguments are code, message and suggestion.
    """
    if fact.type == "duration" and isinstance(raw, str):
        try:
            return durations.parse(raw)
        except ValueError as error:
            raise ValueError("R303", str(error), None) from None
    if not isinstance(raw, (bool, int, str)):
        raise ValueError("R303", f"`{fact.name}` cannot be {_shown(raw)}", _suggestion(fact))
    if problem := value_problem(fact, raw):
        code, message, help = problem
        if code == "R303":
            # How a condition would be written is no help here.
            help = _span_help(raw) if fact.type == "duration" else _suggestion(fact)
        raise ValueError(code, message, help)
    if fact.type == "int" and isinstance(raw, int) and raw < fact.lowest:
        raise ValueError("R305", f"`{fact.name}` is never below {fact.lowest}", None)
    return raw


class _Reader:
    """Reads one case of a document; what is wrong is reported there."""

    def __init__(self, document: Document, node: Node, path: tuple[str | int, ...]) -> None:
        self.document = document
        self.node = node
        self.path = path

    def case(self, base: Mapping[str, Value | None], default_now: int) -> Case:
        """The case, laid over a base: what it states replaces what the base states of the same fact."""
        now = self._moment("now", default_now, default_now)
        own = self.values(self.node.get("facts"), (*self.path, "facts"))
        missing = self._listed("missing")
        conflict = self._listed("conflict")
        ages = self._ages()
        self._check_twice(own, missing, conflict, ages)
        values = {name: value for name, value in {**base, **own}.items() if name not in missing}
        evidence = Evidence(SOURCE, now)
        readings = {
            name: Reading("reported", None, evidence) if value is None else Reading("known", value, evidence)
            for name, value in values.items()
        }
        for name in conflict:
            readings[name] = Reading("conflict", values.get(name), evidence)
        for name, age in ages.items():
            if values.get(name) is None:
                self._report_valueless(name)
            readings[name] = Reading("stale", values.get(name), Evidence(SOURCE, now - age))
        return Case(now, readings, self._moment("waiting_since", now, now))

    def values(self, node: Node | None, path: tuple[str | int, ...]) -> dict[str, Value | None]:
        """Stated values by fact; None where the supplier said unknown."""
        stated: dict[str, Value | None] = {}
        if node is None or not isinstance(node.children, dict):
            return stated
        for name, child in node.children.items():
            if self.document.full:
                break
            fact = self._known(name, node, path)
            if fact is None or child.broken:
                continue
            if child.value == _REPORTED:
                stated[name] = None
                continue
            try:
                stated[name] = typed(fact, child.value)
            except ValueError as error:
                code, message, suggestion = error.args
                place = child.place if child.place.end > child.place.start else node.keys[name]
                self.document.report(code, message, place, path=(*path, name), help=suggestion)
        return stated

    def expect(self, now: int) -> dict[str, Any]:
        """What the author expects, only what is named."""
        node = self.node.get("expect")
        if node is None or not isinstance(node.children, dict):
            return {}
        if not node.children:
            self.document.report(
                "R503", "a case that expects nothing tests nothing", node.place, path=(*self.path, "expect"),
                help="name at least one of outcome, blocked_by, unknown, until, action",
            )  # fmt: skip
        wanted = {key: child.value for key, child in node.children.items() if not child.broken}
        until = node.get("until")
        if until is not None and until.value is not None and not until.broken:
            wanted["until"] = self._until(until, now)
        return wanted

    def _until(self, node: Node, now: int) -> int | None:
        if not isinstance(node.value, str):
            return None  # refused with its type
        path = (*self.path, "expect", "until")
        moment = None
        for written, start in ((durations.parse, now), (times.parse, 0)):
            with suppress(ValueError):
                moment = start + written(node.value)
        if moment is None:
            self.document.report(
                "R502", f"`{node.value}` is neither a duration from now nor a time", node.place,
                path=path, help='write "23s" or "2026-01-01T00:00:23Z"',
            )  # fmt: skip
        elif not 0 <= moment <= times.MAX_MS:
            self.document.report("R502", "no time before 1970 or after the year 9999 is known", node.place, path=path)
            return None
        return moment

    def _moment(self, key: str, default: int, now: int) -> int:
        node = self.node.get(key)
        if node is None or node.broken or isinstance(node.value, bool) or not isinstance(node.value, (str, int)):
            return default
        path = (*self.path, key)
        try:
            moment = times.parse(node.value) if isinstance(node.value, str) else node.value
        except ValueError as error:
            self.document.report("R502", str(error), node.place, path=path)
            return default
        if not 0 <= moment <= times.MAX_MS:
            self.document.report(
                "R502", "a time as a number is milliseconds since 1970, up to the year 9999", node.place, path=path
            )
            return default
        if key == "waiting_since" and moment > now:
            self.document.report("R502", "waiting cannot have begun after now", node.place, path=path)
        return moment

    def _listed(self, key: str) -> dict[str, Node]:
        node = self.node.get(key)
        listed: dict[str, Node] = {}
        for index, item in enumerate(node.items() if node is not None else ()):
            if self.document.full:
                break
            path = (*self.path, key, index)
            if not isinstance(item.value, str) or item.broken:
                continue
            if item.value not in FACTS:
                message, suggestion = unknown_fact(item.value)
                self.document.report("R302", message, item.place, path=path, help=suggestion)
            elif item.value in listed:
                self._report_twice(item.value, item, path)
            else:
                listed[item.value] = item
        return listed

    def _ages(self) -> dict[str, int]:
        node = self.node.get("stale")
        ages: dict[str, int] = {}
        if node is None or not isinstance(node.children, dict):
            return ages
        for name, child in node.children.items():
            if self.document.full:
                break
            path = (*self.path, "stale", name)
            if self._known(name, node, (*self.path, "stale")) is None or child.broken:
                continue
            place = child.place if child.place.end > child.place.start else node.keys[name]
            if not isinstance(child.value, str):
                self.document.report("R303", "an age is a duration", place, path=path, help=_span_help(child.value))
                continue
            try:
                ages[name] = durations.parse(child.value)
            except ValueError as error:
                self.document.report("R303", str(error), place, path=path)
        return ages

    def _known(self, name: str, node: Node, path: tuple[str | int, ...]) -> Fact | None:
        fact = FACTS.get(name)
        if fact is None:
            message, suggestion = unknown_fact(name)
            within = node.get(name)
            if within is not None and isinstance(within.children, dict):
                first = next((fact for fact in FACTS if fact.startswith(f"{name}.")), None)
                meant = next((f"{name}.{part}" for part in within.children if f"{name}.{part}" in FACTS), first)
                suggestion = f"names of facts hold their dot: write `{meant}: ...`" if meant else suggestion
            elif (run_on := _RUN_ON.fullmatch(name)) and run_on["fact"] in FACTS:
                suggestion = f"write `{run_on['fact']}: {run_on['value']}`, with a colon and a blank between the two"
            self.document.report("R302", message, node.keys[name], path=(*path, name), help=suggestion)
        return fact

    def _check_twice(
        self,
        own: Mapping[str, object],
        missing: Mapping[str, Node],
        conflict: Mapping[str, Node],
        ages: Mapping[str, int],
    ) -> None:
        # A stale fact is the one that stands twice by design: its value under `facts`, its age under `stale`.
        for key, listed, others in (("missing", missing, (own, ages, conflict)), ("conflict", conflict, (own, ages))):
            for name, node in listed.items():
                if any(name in other for other in others):
                    self._report_twice(name, node, (*self.path, key))

    def _report_twice(self, name: str, node: Node, path: tuple[str | int, ...]) -> None:
        self.document.report("R501", f"`{name}` is stated twice", node.place, path=path, help="state it once")

    def _report_valueless(self, name: str) -> None:
        node = self.node.get("stale")
        assert node is not None
        self.document.report(
            "R504", f"`{name}` is stale, but what it was is not stated", node.keys[name],
            path=(*self.path, "stale", name), help=f"add its value under facts: `{name}: ...`",
        )  # fmt: skip


def _check_names(document: Document, root: Node) -> None:
    seen: dict[str, Node] = {}
    nodes = root.get("cases")
    for index, node in enumerate(nodes.items() if nodes is not None else ()):
        name = node.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        if name.value in seen:
            line, _ = document.position(seen[name.value].place.start)
            document.report(
                "R505", "another case has this name", name.place, path=("cases", index, "name"),
                help=f"the other one is in line {line}; say what differs",
            )  # fmt: skip
        seen.setdefault(name.value, name)


def _suggestion(fact: Fact) -> str:
    written = {"bool": "true or false", "int": "a whole number", "duration": 'a duration such as "90s"'}
    return f"write {written.get(fact.type, ' or '.join(fact.values))}, or unknown"


def _span_help(raw: object) -> str:
    """How a span of time is written; what a bare number counts is not known."""
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
        return f"write {durations.with_units(raw)}"
    return 'write a duration such as "90s", or unknown'


def _shown(raw: Any) -> str:
    if raw is None:
        return "empty"
    if isinstance(raw, (dict, list)):
        return "a mapping" if isinstance(raw, dict) else "a list"
    return str(raw)
