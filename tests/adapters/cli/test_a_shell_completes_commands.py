"""A real bash, with our lines in it, is asked how command lines go on."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, continuation

from oncemore.adapters.cli.commands import WHERE
from oncemore.rules.loading import load_policies
from oncemore.rules.schemas import SCHEMAS
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.vocabulary import FACTS

ASK = """\
eval "$(oncemore completion bash)"
complete -p oncemore >&2
COMP_WORDS=({words}) COMP_CWORD={place}
_oncemore_completion oncemore
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(folder: Path, *words: str, **environment: str) -> set[str]:
    """What bash offers for the last of the words."""
    asked = ASK.format(words=" ".join(map(shlex.quote, ("oncemore", *words))), place=len(words))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", asked],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "complete -o nosort -F _oncemore_completion oncemore\n"
    return set(done.stdout.split())


def test_commands_are_offered(tmp_path: Path) -> None:
    assert offered(tmp_path, "") == set(WHERE)
    assert offered(tmp_path, "de") == {"decide", "demo"}


def test_options_and_what_they_choose_from_are_offered(tmp_path: Path) -> None:
    assert {"--format", "--junit", "--sarif", "--help"} <= offered(tmp_path, "check", "--")
    assert offered(tmp_path, "check", "--format", "s") == {"sarif"}
    assert offered(tmp_path, "levels", "any", "") == {"off", "shadow", "advise", "enforce"}


def test_the_stories_of_the_demo_are_offered(tmp_path: Path) -> None:
    assert offered(tmp_path, "demo", "--story", "") == {"unfinished", "exhausted", "cancelled", "interrupted"}


def test_facts_and_their_first_parts_are_offered(tmp_path: Path) -> None:
    assert offered(tmp_path, "facts", "") == set(FACTS) | {name.partition(".")[0] for name in FACTS}
    assert offered(tmp_path, "facts", "native.st") == {"native.status", "native.steps", "native.steps_ended"}


def test_schemas_are_offered(tmp_path: Path) -> None:
    assert offered(tmp_path, "schema", "") == {name.removesuffix(".schema.json") for name in SCHEMAS}


def test_the_policies_that_the_command_would_use_are_offered(tmp_path: Path) -> None:
    shipped = {policy.name for policy in load_policies([shipped_policies()]).policies}
    assert offered(tmp_path, "decide", "--policy", "") == shipped
    continuation(tmp_path / "policies")
    assert offered(tmp_path, "levels", "") == offered(tmp_path, "cases", "") == {POLICY}
    assert offered(tmp_path, "docs", "settle", "", ONCEMORE_POLICIES=str(shipped_policies())) == set()
    assert offered(tmp_path, "docs", "settle", ONCEMORE_POLICIES=str(shipped_policies())) == {"settle-cancelled-turn"}
    given = ("explain", "--policies", str(shipped_policies()), "--policy", "retry-q")
    assert offered(tmp_path, *given) == {"retry-quota"}


def test_what_cannot_be_read_is_offered_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "bytes.yaml").write_bytes(b"policy: a\n\xff")
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    (folder / "good.yaml").write_text("policy: good # one\n")
    (folder / "good_test.yaml").write_text("policy: other\n")
    assert offered(tmp_path, "levels", "") == {"good"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_lines_that_ask_the_program(run: Run, shell: str) -> None:
    answer = run("completion", shell)
    assert answer.exit_code == 0
    assert f"_ONCEMORE_COMPLETE={shell}_complete" in answer.stdout


def test_another_shell_is_refused(run: Run) -> None:
    assert run("completion", "csh").exit_code == 2


def test_completing_imports_nothing_slow(tmp_path: Path) -> None:
    code = (
        "import os, sys, atexit\n"
        "slow = {'pydantic', 'lark', 'yaml', 'peewee', 'httpx', 'durable_rules_engine'}\n"
        "atexit.register(lambda: print(sorted(slow & sys.modules.keys()), file=sys.stderr))\n"
        "from oncemore.adapters.cli import main\n"
        "main()\n"
    )
    for words, place in (("oncemore ", "1"), ("oncemore facts native", "2"), ("oncemore decide --policy r", "3")):
        asked = {"_ONCEMORE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.startswith("plain,")
        assert done.stderr == "[]\n"
