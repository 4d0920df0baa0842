"""A lock or a swap file that an editor or a system puts beside rule tests is no rule test, whichever command looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = continuation(tmp_path / "rules")
    (folder / f"{POLICY}_test.yaml").write_text(
        f"policy: {POLICY}\nbase:\n  turn.status: running\ncases:\n"
        "  - name: it runs\n    expect: {outcome: not_concerned}\n"
    )
    (folder / f".#{POLICY}_test.yaml").symlink_to("ann@host.1")
    (folder / f"._{POLICY}_test.yaml").write_bytes(b"\0\5\26\7")
    return folder


@pytest.mark.parametrize(
    "command", [("check",), ("test",), ("fmt", "--check"), ("docs", "--policies")], ids=lambda command: command[0]
)
def test_a_command_that_reads_a_folder_reads_no_hidden_tests(run: Run, rules: Path, command: tuple[str, ...]) -> None:
    done = run(*command, rules)
    assert done.exit_code == 0, done.output
