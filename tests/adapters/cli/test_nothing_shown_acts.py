"""What people, models and rule files wrote never reaches a terminal as something that acts on it."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, case, continuation

from oncemore.adapters.cli import output
from oncemore.adapters.cli.telling import Telling

WORDS = "one\x1b[2J \u202etxt.exe\u2066 \u200bx\x07\x9b31m \u3000中\u2028文 e\u0301"
WHY = "because\n2026-01-01T00:00:00.000Z  released by hand \u202e \x1b[8m"


def acting(text: str) -> set[str]:
    return {char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.fixture
def home(run: Run, tmp_path: Path) -> tuple[Path, str]:
    """A home with a stopped Request, of which everything a person may write is as bad as it gets."""
    folder = tmp_path / "home"
    assert run("init", folder).exit_code == 0
    request = run("ask", "first", WORDS, "--home", folder).stdout.strip()
    assert run("stop", request, "--why", WHY, "--home", folder).exit_code == 0
    return folder, request


@pytest.mark.parametrize("format_", ["pretty", "json"])
def test_show_and_requests_print_no_character_that_acts(run: Run, home: tuple[Path, str], format_: str) -> None:
    folder, request = home
    for command in (("show", request), ("requests", "--state", "all")):
        answer = run(*command, "--format", format_, "--home", folder)
        assert answer.exit_code == 0
        assert acting(answer.stdout) == set()


def test_as_json_the_words_are_whole(run: Run, home: tuple[Path, str]) -> None:
    folder, request = home
    told = json.loads(run("show", request, "--format", "json", "--home", folder).stdout)
    assert told["timeline"][0]["text"] == WORDS
    assert [entry["why"] for entry in told["timeline"] if entry["kind"] == "stopped"] == [WHY]


def test_a_reason_cannot_look_like_another_line(run: Run, home: tuple[Path, str]) -> None:
    folder, request = home
    lines = run("show", request, "--home", folder).stdout.splitlines()
    assert not [line for line in lines if line.startswith("2026-01-01T00:00:00.000Z")]
    assert "\u3000中" in "\n".join(lines)


@pytest.mark.parametrize("format_", ["pretty", "json", "markdown"])
@pytest.mark.parametrize("audience", ["operator", "user", "agent"])
def test_a_stored_sentence_from_before_cannot_act_either(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str, audience: str
) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json", turn__ended_ago="5s"))
    [record] = [one for one in json.loads(answer.stdout)["decisions"] if one["outcome"] == "wait"]
    for gate in record["gates"]:
        gate["why"] = {"en": WORDS}
    Telling("en", audience, format_).tell([record])
    told = capsys.readouterr().out
    assert "txt.exe" in told
    assert acting(told) == set()


@pytest.mark.parametrize("format_", ["pretty", "compact", "json", "github", "sarif", "junit", "markdown"])
def test_a_mistake_is_framed_without_what_it_holds(run: Run, tmp_path: Path, format_: str) -> None:
    folder = continuation(tmp_path / "rules")
    file = folder / f"{POLICY}.yaml"
    file.write_text(file.read_text().replace('"completed"', r'"com\u202e\u0007pleted"'))
    answer = run("check", folder, "--format", format_)
    assert (answer.exit_code, "R304" in answer.stdout) == (3, True)
    assert acting(answer.stdout) == set()


def test_an_escaped_json_text_means_the_same() -> None:
    value = {"a": WORDS, "b": ["\U000e0001", "\ud800"], "c": "plain"}
    text = output.escaped(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(text) == value
    assert acting(text) == set()
