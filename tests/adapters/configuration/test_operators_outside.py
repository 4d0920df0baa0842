"""What does the operator's file say of runtimes, sources and routes, and which mistakes in it are shown?"""

from __future__ import annotations

from pathlib import Path

import pytest

from oncemore.adapters.configuration import (
    CapacityEntry,
    HarnessEntry,
    RuntimeEntry,
    SecretEntry,
    ServerEntry,
    SourceEntry,
    WorkspaceEntry,
    load_configuration,
)
from oncemore.adapters.errors import ConfigurationInvalid
from oncemore.rules.diagnostics import Diagnostic

WHOLE = """\
journal: data/oncemore.db
runtimes:
  codex:
    home: data/codex
    capacity: {url: "https://status.example/v1/quota?of=team", path: quota.0.state, available: ok, exhausted: 0}
  antigravity:
    home: data/antigravity
    server: https://127.0.0.1:4242
    token: {file: token}
    planners:
      read_only: {model: m, tools: [view]}
      workspace_write: {model: m}
    markers: [CLEARED, TRUNCATED]
    skew: 2s
    results: {bytes: 9000}
reviews: codex
sources:
  team:
    kind: feishu
    app_id: cli_1
    secret: {environment: LARK_SECRET}
  abroad:
    kind: feishu
    base: https://open.larksuite.com
    app_id: cli_2
    secret: {file: /run/lark}
    language: zh
workspaces:
  reports: {path: /srv/r, owner: ou_1, level: workspace_read, revision: 1, source: team, chats: [oc_1, oc_2]}
  notes: {path: /srv/n, owner: ou_1, level: workspace_read, revision: 1, source: team, runtime: antigravity}
"""

HARNESS = """\
journal: data/oncemore.db
runtimes:
  antigravity:
    home: data/antigravity
    hard_timeout: 3m
    harness: {model: m, base_url: http://127.0.0.1:9/v1, binary: bin/harness, confined: true}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "oncemore.yaml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return file


def mistakes(folder: Path, text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ConfigurationInvalid) as caught:
        load_configuration(write(folder, text))
    return caught.value.diagnostics


def marked(one: Diagnostic) -> str:
    return one.source_line[one.column - 1 : one.end_column - 1]


def test_everything_outside_is_read_as_it_is_written(tmp_path: Path) -> None:
    found = load_configuration(write(tmp_path, WHOLE))
    route = CapacityEntry("https://status.example", "/v1/quota?of=team", ("quota", "0", "state"), "ok", 0, 10_000)
    assert found.runtimes["codex"] == RuntimeEntry(tmp_path / "data/codex", None, (), 900_000, capacity=route)
    server = ServerEntry(
        "https://127.0.0.1:4242",
        SecretEntry(file=tmp_path / "token"),
        {"read_only": {"model": "m", "tools": ["view"]}, "workspace_write": {"model": "m"}},
    )
    assert found.runtimes["antigravity"] == RuntimeEntry(
        tmp_path / "data/antigravity",
        None,
        (),
        900_000,
        server=server,
        markers=("CLEARED", "TRUNCATED"),
        skew=2_000,
        result_bytes=9_000,
    )
    assert found.reviews == "codex"
    assert found.sources == {
        "team": SourceEntry("feishu", "https://open.feishu.cn", "cli_1", SecretEntry("LARK_SECRET"), "en"),
        "abroad": SourceEntry(
            "feishu", "https://open.larksuite.com", "cli_2", SecretEntry(file=Path("/run/lark")), "zh"
        ),
    }
    assert found.workspaces["reports"] == WorkspaceEntry(
        Path("/srv/r"), "ou_1", "workspace_read", 1, "project", "codex", "team", ("oc_1", "oc_2")
    )
    assert (found.workspaces["notes"].runtime, found.workspaces["notes"].chats) == ("antigravity", ())


def test_antigravity_may_run_through_its_harness(tmp_path: Path) -> None:
    found = load_configuration(write(tmp_path, HARNESS)).runtimes["antigravity"]
    assert found == RuntimeEntry(
        tmp_path / "data/antigravity",
        tmp_path / "bin/harness",
        (),
        180_000,
        harness=HarnessEntry("m", "http://127.0.0.1:9/v1", True),
    )


def test_what_is_left_out_is_not_configured(tmp_path: Path) -> None:
    text = "journal: a\nworkspaces: {n: {path: n, owner: o, level: workspace_read, revision: 1, source: inbox}}\n"
    found = load_configuration(write(tmp_path, text))
    assert (dict(found.runtimes), found.reviews, dict(found.sources)) == ({}, None, {})
    assert (found.workspaces["n"].runtime, found.workspaces["n"].source) == ("codex", None)


@pytest.mark.parametrize(
    ("good", "bad", "mark", "message"),
    [
        ("https://127.0.0.1:4242", "https://agent.example", "https://agent.example", "not on the loopback"),
        ("https://127.0.0.1:4242", "https://127.0.0.1:4242/x", "https://127.0.0.1:4242/x", "has no path"),
        ("{file: token}", "abc", "abc", "keys with their values"),
        ("{file: token}", "{}", "{}", "one place of the secret"),
        ("{file: token}", "{file: a, environment: B}", "{file: a, environment: B}", "one place of the secret"),
        ("{file: token}", "{fil: a}", "fil", "not known here"),
        ("    token: {file: token}\n", "", None, "needs its token's place"),
        ("read_only: {model", "readonly: {model", "readonly", "is not one of read_only, workspace_write"),
        ("read_only: {model: m, tools: [view]}", "read_only: m", "m", "keys with their values"),
        ("    server: https", "    binary: x\n    server: https", "binary", "not known here"),
        ("    server: https", "    harness: {model: m, base_url: https://m}\n    server: https", None, "one of both"),
        ("[CLEARED, TRUNCATED]", "[]", "[]", "at least one"),
        ("bytes: 9000", "bytes: 0", "0", "1 or more"),
        ("skew: 2s", "skew: 2", "2", "with its unit"),
        ("https://status.example/v1", "http://status.example/v1", None, "not an address to ask"),
        ("https://status.example/v1", "https://u:p@status.example/v1", None, "not an address to ask"),
        ("quota?of=team", "quota#of", None, "a plain path"),
        ("/v1/quota?of", "/v1/../quota?of", None, "a plain path"),
        ("path: quota.0.state", "path: quota..state", "quota..state", "dots between them"),
        ("available: ok", "available: [ok]", "[ok]", "a text, a whole number"),
        ("available: ok", "available: 0", None, "two values"),
        ("exhausted: 0", "exhausted: 0, spread: 0s", "0s", "longer than 0s"),
        ("reviews: codex", "reviews: codeks", "codeks", "is not one of codex, antigravity"),
        ("  team:\n", "  inbox:\n", "inbox", "the App's own"),
        ("kind: feishu\n    app", "kind: slack\n    app", "slack", "is not one of feishu"),
        ("app_id: cli_1", "app_id: cli 1", "cli 1", "without spaces"),
        ("language: zh", "language: de", "de", "is not one of en, zh"),
        ("base: https://open.larksuite.com", "base: ftp://x", "ftp://x", "not an address to ask"),
        ("source: team, chats", "source: taem, chats", "taem", "no source taem"),
        ("source: team, chats", "chats", "[oc_1, oc_2]", "chats are those of a source"),
        ("[oc_1, oc_2]", "[oc_1, oc_1]", "oc_1", "leads to the workspace reports already"),
        ("[oc_1, oc_2]", "[]", "[]", "at least one"),
        ("[oc_1, oc_2]", "[oc/1]", "oc/1", "as the Source names it"),
        ("source: team, chats: [oc_1, oc_2]", "source: team", "team", "leads to the workspace reports already"),
    ],
)
def test_a_mistake_about_the_outside_is_framed(
    tmp_path: Path, good: str, bad: str, mark: str | None, message: str
) -> None:
    assert good in WHOLE
    (one,) = mistakes(tmp_path, WHOLE.replace(good, bad, 1))
    assert message in one.message and one.code == "A101"
    assert mark is None or marked(one) == mark


def test_a_runtime_that_is_named_has_to_be_configured(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        HARNESS + "reviews: codex\nworkspaces: {n: {path: n, owner: o, level: workspace_read,"
        " revision: 1, runtime: codex}}\n",
    )
    assert [(one.line, one.message) for one in found] == [
        (7, "no runtime codex is configured here"),
        (8, "no runtime codex is configured here"),
    ]


def test_the_harness_takes_no_token(tmp_path: Path) -> None:
    (one,) = mistakes(tmp_path, HARNESS + "    token: {environment: A}\n")
    assert "the harness takes none" in one.message


def test_no_secret_is_shown_by_a_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LARK_SECRET", "canary")
    assert "canary" not in repr(load_configuration(write(tmp_path, WHOLE)))
