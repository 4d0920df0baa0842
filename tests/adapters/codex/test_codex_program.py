"""Is a codex program found, and is one that is none told apart with advice?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.adapters.codex.stage import Fake

from oncemore.adapters.codex.binary import find
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import SessionView, TurnView


def test_the_program_of_the_wheel_is_found_without_importing_the_wheel() -> None:
    assert find().name == "codex"
    assert "codex_cli_bin" not in sys.modules


def test_a_configured_path_that_is_no_program_is_named_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "codex"
    path.write_text("not executable")
    for wrong in (path, tmp_path / "nowhere", tmp_path):
        with pytest.raises(Unreadable, match=f"{wrong} is not an executable file.*oncemore\\[codex\\]"):
            CodexRuntime(wrong)


@pytest.mark.parametrize("wrong", ["/bin/false", "/bin/true", "/bin/cat"])
def test_a_program_that_is_not_codex_is_named_with_advice(fake: Fake, wrong: str) -> None:
    runtime = CodexRuntime(Path(wrong), start_seconds=5)
    session = SessionView("s", "codex", str(fake.home), ())
    with pytest.raises(Unreadable, match=f"{wrong} does not answer as a codex app-server.*oncemore\\[codex\\]"):
        runtime.inventory(session, TurnView("request-1"))


def test_a_file_that_the_system_cannot_run_is_named_with_advice(fake: Fake, tmp_path: Path) -> None:
    path = tmp_path / "codex"
    path.write_bytes(b"\x00\x01\x02")
    path.chmod(0o755)
    runtime = CodexRuntime(path)
    with pytest.raises(Unreadable, match="cannot be started"):
        runtime.inventory(SessionView("s", "codex", str(fake.home), ()), TurnView("request-1"))


def test_a_home_that_is_missing_is_unreadable_and_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    with pytest.raises(Unreadable, match="home"):
        CodexRuntime().inventory(SessionView("s", "codex", str(home), ()), TurnView("request-1"))
    assert not home.exists()
