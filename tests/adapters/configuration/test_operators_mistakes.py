"""Is every mistake in `oncemore.yaml` shown where it stands?"""

from __future__ import annotations

from pathlib import Path

import pytest

from oncemore.adapters.configuration import load_configuration
from oncemore.adapters.errors import ConfigurationInvalid
from oncemore.rules.diagnostics import Diagnostic

GOOD = """\
journal: data/oncemore.db
runtimes:
  codex:
    home: data/codex
workspaces:
  reports:
    path: reports
    owner: ou_1
    level: workspace_write
    revision: 4
worker:
  poll: 2s
"""


def mistakes(folder: Path, text: str) -> tuple[Diagnostic, ...]:
    file = folder / "oncemore.yaml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(ConfigurationInvalid) as caught:
        load_configuration(file)
    assert all(one.file == str(file) and one.severity == "error" for one in caught.value.diagnostics)
    return caught.value.diagnostics


def marked(one: Diagnostic) -> str:
    return one.source_line[one.column - 1 : one.end_column - 1]


@pytest.mark.parametrize(
    ("good", "bad", "line", "mark", "message", "help"),
    [
        ("level: workspace_write", "level: workspace_wirte", 9, "workspace_wirte", "is not one of", "workspace_write?"),
        ("owner: ou_1", "ownr: ou_1", 8, "ownr", '"ownr" is not known here', "did you mean owner?"),
        ("    owner: ou_1\n", "", 6, "reports", '"owner" is missing', None),
        ("journal: data/oncemore.db\n", "# none\n", 2, None, '"journal" is missing', None),
        ("revision: 4", "revision: 1.5", 10, "1.5", "a whole number", None),
        ("revision: 4", "revision: '4'", 10, "'4'", "a whole number", None),
        ("revision: 4", "revision: true", 10, "true", "a whole number", None),
        ("revision: 4", "revision: -1", 10, "-1", "1 or more", None),
        ("revision: 4", "revision: 9223372036854775808", 10, "9223372036854775808", "64 bits", None),
        ("owner: ou_1", "owner: 17", 8, "17", "quote what would be read", None),
        ("owner: ou_1", "owner: 'ou 1'", 8, "'ou 1'", "without spaces", None),
        ("owner: ou_1", "owner: ''", 8, "''", "1 to 200 characters", None),
        ("  reports:", "  Reports:", 6, "Reports", "an id has", None),
        ("  reports:", "  -reports:", 6, "-reports", "an id has", None),
        ("  codex:", "  codx:", 3, "codx", "not known here", "did you mean codex?"),
        ("path: reports", "path: ~/reports", 7, "~/reports", "not expanded", None),
        ("path: reports", "path: ''", 7, "''", "not empty", None),
        ("revision: 4", "revision: 0", 10, "0", "1 or more", None),
        ("home: data/codex", "home: x\n    environment: HOME", 5, "HOME", "a list", None),
        ("home: data/codex", "home: x\n    environment: [A, B=c]", 5, "B=c", "without its value", None),
        ("home: data/codex", "home: x\n    role: agent", 5, "role", "not known here", "known are home"),
        ("data/oncemore.db", "postgresql://u:secret@h/d", 1, "postgresql://u:secret@h/d", "PGPASSFILE", None),
        ("data/oncemore.db", "postgres://u@h/d?password=x", 1, "postgres://u@h/d?password=x", "holds a password", None),
        ("data/oncemore.db", "postgresql://u@h", 1, "postgresql://u@h", "names no database", None),
        ("data/oncemore.db", "'postgresql://u@h/a b'", 1, "'postgresql://u@h/a b'", "a space", None),
        ("data/oncemore.db", "postgresql://u@h:port/d", 1, "postgresql://u@h:port/d", "cannot be read", None),
        ("poll: 2s", "lease: 999ms", 12, "999ms", "1s or longer", None),
        ("poll: 2s", "batch: 0", 12, "0", "1 or more", None),
        ("poll: 2s", "name: 'mail 1'", 12, "'mail 1'", "without spaces", None),
        ("poll: 2s", "poll: 2", 12, "2", "with its unit", None),
        ("poll: 2s", "poll: 1.5s", 12, "1.5s", "is not a duration", None),
        ("poll: 2s", "poll: 0s", 12, "0s", "longer than 0s", None),
        ("worker:\n  poll: 2s", "worker: 2s", 11, "2s", "keys with their values", None),
        ("worker:\n  poll: 2s", "Worker: {}", 11, "Worker", "not known here", "did you mean worker?"),
    ],
)
def test_a_mistake_is_framed_where_it_stands(
    tmp_path: Path, good: str, bad: str, line: int, mark: str | None, message: str, help: str | None
) -> None:
    assert good in GOOD
    (one,) = mistakes(tmp_path, GOOD.replace(good, bad))
    assert message in one.message
    assert one.line == line
    if mark is not None:
        assert marked(one) == mark
    if help is not None:
        assert help in (one.help or "")
    assert one.code == "A101"


def test_all_mistakes_are_shown_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = GOOD.replace("codex:", "codx:").replace("ou_1", "17").replace("revision: 4", "revision: x\n    color: red")
    found = mistakes(tmp_path, text.replace("poll: 2s", "poll: soon"))
    assert [marked(one) for one in found] == ["codx", "17", "x", "color", "soon"]


def test_a_path_holds_no_character_that_nobody_sees(tmp_path: Path) -> None:
    [one] = mistakes(tmp_path, GOOD.replace("path: reports", 'path: "a\\0b"'))
    assert (one.code, one.line, one.message) == ("R106", 7, "the character U+0000 may not stand in a text")


def test_the_error_itself_names_the_first_mistake_and_counts_the_others(tmp_path: Path) -> None:
    file = tmp_path / "oncemore.yaml"
    file.write_text("journal: 1\nlevels: 2\npolicies: 3\n")
    file.chmod(0o600)
    with pytest.raises(ConfigurationInvalid) as caught:
        load_configuration(file)
    assert str(caught.value).startswith(f"{file}:1:10: error[A101]")
    assert str(caught.value).endswith("(and 2 more)")


def test_a_file_that_is_not_utf8_is_framed_at_the_byte(tmp_path: Path) -> None:
    file = tmp_path / "oncemore.yaml"
    file.write_bytes(b"journal: \xff\n")
    file.chmod(0o600)
    with pytest.raises(ConfigurationInvalid, match=r":1:10: .*byte 10 is not UTF-8"):
        load_configuration(file)


def test_mistakes_of_yaml_and_of_meaning_are_shown_together(tmp_path: Path) -> None:
    text = GOOD.replace("    owner: ou_1\n", "    owner: ou_1\n    owner: ou_2\n").replace("poll: 2s", "poll: soon")
    found = mistakes(tmp_path, text)
    assert [(one.line, one.code == "A101") for one in found] == [(9, False), (13, True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "- journal\n",
        "journal: [\n",
        "journal: a\njournal: b\n",
        "journal: &a b\n",
        "journal: !x b\n",
    ],
)
def test_what_is_no_plain_mapping_is_a_mistake_with_a_place(tmp_path: Path, text: str) -> None:
    assert mistakes(tmp_path, text)[0].line >= 1
