"""How do findings and tests read as SARIF 2.1.0, which code scanning services and editors take?

Places are counted in UTF-16 code units, as the log says: most readers count so, whether they look at what it says or
not. What each code means travels along, so that it can be read where the log is shown. A finding's fingerprint stays
the same while lines above it come and go.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from oncemore.adapters.cli import output
from oncemore.adapters.cli.output import Exit
from oncemore.rules.diagnostics import Diagnostic, visible

if TYPE_CHECKING:
    from oncemore.adapters.cli.checking import Checked
    from oncemore.adapters.cli.testing import Run

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

FINGERPRINT = "oncemore/v1"

TESTS = {
    "test-failed": "A policy decides otherwise than its test says",
    "test-error": "It could not be told whether a policy decides as its test says",
}
"""The rules that are no codes of files, with their titles."""

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class _Result:
    rule: str
    level: str
    text: str
    file: str
    region: dict[str, int]
    known_by: tuple[str, ...]


def of_findings(checked: Checked) -> str:
    """A result for each."""
    return _log([_finding(one) for one in checked.found], checked.exit)


def of_tests(run: Run) -> str:
    """A result for each case that did not pass, and for everything that kept a file from loading."""
    return _log([*_cases(run), *map(_finding, run.broken)], run.exit)


def _finding(one: Diagnostic) -> _Result:
    text = one.message + (f"\n{one.help}" if one.help else "")
    known_by = (one.code, one.message, one.source_line.strip())
    return _Result(one.code, one.severity, text, one.file, _region(one), known_by)


def _cases(run: Run) -> Iterator[_Result]:
    for policy, result in run.results:
        if result.verdict != "PASS":
            rule = "test-failed" if result.verdict == "FAIL" else "test-error"
            text = f"{policy}: {result.name}\n{result.message}"
            yield _Result(rule, "error", text, result.file, {"startLine": result.line}, (rule, policy, result.name))


def _region(one: Diagnostic) -> dict[str, int]:
    region = {"startLine": one.line}
    if one.source_line:
        region["startColumn"] = one.left_out_units + _units(one.source_line, one.column - one.left_out)
        region["endColumn"] = one.left_out_units + _units(one.source_line, one.end_column - one.left_out)
    return region


def _units(line: str, column: int) -> int:
    """A column in UTF-16 code units; past the line's end as far past it as before."""
    before = line[: column - 1]
    beyond = column - 1 - len(before)
    return len(before.encode("utf-16-le", "surrogatepass")) // 2 + beyond + 1


def _log(results: Sequence[_Result], exit: Exit) -> str:
    from oncemore.adapters.cli import DISTRIBUTION, version

    rules = sorted({one.rule for one in results})
    seen: Counter[tuple[str, ...]] = Counter()
    driver = {
        "name": DISTRIBUTION,
        "version": version().split()[-1],
        "rules": [_rule(rule, results) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "invocations": [{"executionSuccessful": exit is not Exit.BUG, "exitCode": int(exit)}],
        "results": [_result(one, rules.index(one.rule), seen) for one in results],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return output.escaped(json.dumps(log, ensure_ascii=False, indent=2))


def _rule(rule: str, results: Sequence[_Result]) -> dict[str, Any]:
    level = next(one.level for one in results if one.rule == rule)
    described: dict[str, Any] = {"id": rule, "defaultConfiguration": {"level": level}}
    if rule in TESTS:
        return described | {"shortDescription": {"text": TESTS[rule]}}
    title, page = _page(rule)
    return described | {"shortDescription": {"text": title}, "help": {"text": page, "markdown": page}}


def _page(code: str) -> tuple[str, str]:
    """The title and the text of a code's page; links to other pages lead nowhere from a log, and are left out."""
    from oncemore.rules.shipped import shipped_pages

    head, _, text = (shipped_pages() / f"{code}.md").read_text("utf-8").partition("\n")
    return head.partition(": ")[2], _LINK.sub(r"\1", text.strip())


def _result(one: _Result, index: int, seen: Counter[tuple[str, ...]]) -> dict[str, Any]:
    key = (one.file, *one.known_by)
    seen[key] += 1
    known = json.dumps([*one.known_by, seen[key]], ensure_ascii=True)
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": visible(one.text)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(one.file), "region": one.region}}],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(known.encode()).hexdigest()},
    }


def _artifact(file: str) -> dict[str, str]:
    """Below the current folder relative to it, which in continuous integration is the repository."""
    here, path = Path.cwd(), Path(file)
    whole = here / path
    if whole.is_relative_to(here) and ".." not in path.parts:
        return {"uri": quote(os.fsencode(whole.relative_to(here).as_posix())), "uriBaseId": "%SRCROOT%"}
    return {"uri": "file://" + quote(os.fsencode(os.path.normpath(whole)))}
