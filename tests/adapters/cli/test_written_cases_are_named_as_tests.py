"""`cases --write` makes a file that other commands take for tests, and none that keeps the policies from loading."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation


def test_another_name_is_refused_with_the_one_to_write(run: Run, tmp_path: Path) -> None:
    continuation(tmp_path / "rules")
    done = run("cases", POLICY, "--policies", "rules", "--write", "rules/boundaries.yaml")
    assert done.exit_code == 2
    assert "tests are named *_test.yaml: write rules/boundaries_test.yaml" in done.stderr
    assert not Path("rules/boundaries.yaml").exists()
