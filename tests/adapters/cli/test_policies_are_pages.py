"""`docs`: what a policy's page says, and that a page which no longer says what the rules say is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation

from oncemore.rules.floor import floor_gates
from oncemore.rules.loading import load_policies
from oncemore.rules.markdown import cell, code
from oncemore.rules.pages import MARK
from oncemore.rules.policy import Policy
from oncemore.rules.shipped import shipped_policies

ROOT = Path(__file__).parents[3]
SHIPPED = load_policies([shipped_policies()]).policies


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = continuation(tmp_path / "rules")
    (folder / f"{POLICY}_test.yaml").write_text(
        f"policy: {POLICY}\nbase: {{turn.status: running}}\ncases:\n"
        "  - {name: a running turn *is* left alone, expect: {outcome: not_concerned}}\n"
        "  - {name: nothing blocks it, expect: {blocked_by: []}}\n"
    )
    return folder


def test_the_pages_of_the_shipped_policies_say_what_the_rules_say(run: Run) -> None:
    answer = run("docs", "--policies", shipped_policies(), "--write", ROOT / "docs" / "policies", "--check")
    assert (answer.exit_code, answer.stdout) == (0, "")


@pytest.mark.parametrize("policy", SHIPPED, ids=lambda policy: policy.name)
def test_a_page_says_everything_of_a_policy(run: Run, policy: Policy) -> None:
    told = run("docs", policy.name, "--policies", shipped_policies()).stdout
    assert told.startswith(f"{MARK}\n\n# {policy.name}\n")
    assert all(sentence in told for sentence in policy.summary.values())
    assert policy.when_text in told
    rows = [line for line in told.splitlines() if line.startswith("| `")]
    gates = [*policy.gates, *floor_gates(policy.action)]
    assert [row.split("`")[1] for row in rows] == [gate.id for gate in gates]
    for row, gate in zip(rows, gates, strict=True):
        assert f"| {cell(code(gate.text))} | {gate.otherwise} | {gate.unknown} |" in row
        assert all(cell(words) in row for words in gate.why.values())
        assert gate.group is None or f"of `{gate.group}`" in row


def test_the_sentences_of_tests_stand_by_outcome(run: Run, rules: Path) -> None:
    told = run("docs", POLICY, "--policies", rules).stdout
    assert "### It is not concerned\n\n- a running turn \\*is\\* left alone\n" in told
    assert "### Of its gates\n\n- nothing blocks it\n" in told
    (rules / f"{POLICY}_test.yaml").unlink()
    assert "It has no tests." in run("docs", POLICY, "--policies", rules).stdout


def test_all_pages_are_printed_without_a_name(run: Run, rules: Path) -> None:
    told = run("docs", "--policies", rules).stdout
    assert told.count(MARK) == 2
    assert "# Policies" in told and f"# {POLICY}" in told


def test_what_was_written_is_up_to_date_and_written_again_is_the_same(run: Run, rules: Path) -> None:
    first = run("docs", "--policies", rules, "--write", "pages")
    assert (first.exit_code, first.stdout.splitlines()) == (0, ["pages/README.md", f"pages/{POLICY}.md"])
    assert run("docs", "--policies", rules, "--write", "pages", "--check").exit_code == 0
    again = run("docs", "--policies", rules, "--write", "pages")
    assert (again.exit_code, again.stdout, "up to date" in again.stderr) == (0, "", True)


def test_pages_are_stale_when_a_rule_changes_a_page_is_gone_or_a_policy_is_gone(run: Run, rules: Path) -> None:
    run("docs", "--policies", rules, "--write", "pages")
    policy = rules / f"{POLICY}.yaml"
    policy.write_text(policy.read_text().replace("otherwise: wait", "otherwise: hold"))
    Path("pages/README.md").unlink()
    Path("pages/old-policy.md").write_text(f"{MARK}\n\n# old-policy\n")
    answer = run("docs", "--policies", rules, "--write", "pages", "--check")
    assert answer.exit_code == 1
    assert answer.stdout.splitlines() == [
        "pages/README.md: missing",
        f"pages/{POLICY}.md: changed",
        "pages/old-policy.md: left over",
    ]
    assert not Path("pages/README.md").exists()
    assert run("docs", "--policies", rules, "--write", "pages").exit_code == 0
    assert not Path("pages/old-policy.md").exists()
    assert run("docs", "--policies", rules, "--write", "pages", "--check").exit_code == 0


def test_somebodys_own_page_is_neither_overwritten_nor_removed(run: Run, rules: Path) -> None:
    Path("pages").mkdir()
    Path("pages/notes.md").write_text("mine\n")
    Path(f"pages/{POLICY}.md").write_text("mine too\n")
    answer = run("docs", "--policies", rules, "--write", "pages")
    assert answer.exit_code == 1
    assert "nothing was written" in answer.stderr
    assert sorted(file.name for file in Path("pages").iterdir()) == [f"{POLICY}.md", "notes.md"]
    assert run("docs", "--policies", rules, "--write", "pages", "--check").exit_code == 1
    Path(f"pages/{POLICY}.md").unlink()
    assert run("docs", "--policies", rules, "--write", "pages").exit_code == 0
    assert Path("pages/notes.md").read_text() == "mine\n"


def test_a_link_in_the_place_of_a_page_is_not_written_through(run: Run, rules: Path) -> None:
    Path("pages").mkdir()
    Path(f"pages/{POLICY}.md").symlink_to("nowhere")
    assert run("docs", "--policies", rules, "--write", "pages").exit_code == 1
    assert [file.name for file in Path("pages").iterdir()] == [f"{POLICY}.md"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--check"], "name it with --write DIR"),
        (["continue-unfinished-wrok"], f"did you mean '{POLICY}'?"),
        ([POLICY, "--write", "pages"], "leave POLICY out"),
    ],
)
def test_a_wrong_call_is_answered_with_what_to_do(run: Run, rules: Path, arguments: list[str], told: str) -> None:
    answer = run("docs", *arguments, "--policies", rules)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert told in answer.stderr


def test_rules_or_tests_that_do_not_load_make_no_pages(run: Run, rules: Path) -> None:
    tests = rules / f"{POLICY}_test.yaml"
    tests.write_text(tests.read_text().replace("blocked_by", "blokced_by"))
    answer = run("docs", "--policies", rules, "--write", "pages")
    assert answer.exit_code == 3
    assert f"{tests}:5:" in answer.stderr and not Path("pages").exists()
