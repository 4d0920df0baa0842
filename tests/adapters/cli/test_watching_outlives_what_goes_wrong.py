"""`test --watch` ends when it is interrupted, and not before: what goes while it looks is looked for again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation

from oncemore.adapters.cli import testing, watching
from oncemore.adapters.cli.output import Exit
from oncemore.engine.errors import OncemoreError


def interrupted(_seconds: float) -> None:
    raise KeyboardInterrupt


def test_a_folder_that_goes_while_it_is_looked_at_is_one_without_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_self: Path, _pattern: str) -> Iterator[Path]:
        raise FileNotFoundError("it went just now")

    monkeypatch.setattr(Path, "glob", gone)
    monkeypatch.setattr(watching.time, "sleep", interrupted)
    assert watching.watch(lambda: Exit.YES, lambda: [tmp_path]) is Exit.YES


def test_policies_that_the_engine_refuses_are_told_and_watched_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_given: object) -> None:
        raise OncemoreError("the engine takes none of it")

    rules = continuation(tmp_path / "rules")
    (rules / f"{POLICY}_test.yaml").write_text(f"policy: {POLICY}\ncases: [{{name: a, expect: {{outcome: wait}}}}]\n")
    monkeypatch.setattr(testing, "decider", refused)
    monkeypatch.setattr(watching.time, "sleep", interrupted)
    done = run("test", rules, "--watch")
    assert "the engine takes none of it" in done.stderr and "watching; Ctrl-C ends it" in done.stderr
