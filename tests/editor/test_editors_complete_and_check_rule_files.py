"""What an author is offered, told and warned of while typing, by the real language server and our shipped schemas."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.editor.language_server import ROOT, LanguageServer

from oncemore.rules.actions import ACTIONS
from oncemore.rules.vocabulary import FACTS

POLICY = """\
# yaml-language-server: $schema=../docs/policy.schema.json
policy: p
revision: 1
summary: {en: Once., zh: 一次。}
when: turn.has_reply
gates:
"""
TESTS = """\
# yaml-language-server: $schema=../docs/test.schema.json
policy: p
cases:
  - name: one
"""
LEVELS = "# yaml-language-server: $schema=../docs/levels.schema.json\n"


def documented(item: dict[str, object]) -> str:
    told = item["documentation"]
    return str(told["value"]) if isinstance(told, dict) else str(told)


def test_the_keys_of_a_policy_are_offered_with_what_they_mean(editor: LanguageServer) -> None:
    offered = editor.completions("p.yaml", f"{POLICY}  - use: same-request\n§")
    assert {"then", "patience"} <= set(offered)
    assert "before a person is shown it" in documented(offered["patience"])
    assert "policy" not in offered


def test_the_keys_of_a_gate_are_offered(editor: LanguageServer) -> None:
    offered = editor.completions("p.yaml", f"{POLICY}  - id: one\n    §")
    assert {"require", "otherwise", "unknown", "recheck", "because", "why"} <= set(offered)
    assert "use" not in offered


def test_what_may_happen_otherwise_is_offered_with_what_each_word_means(editor: LanguageServer) -> None:
    offered = editor.completions("p.yaml", f"{POLICY}  - id: one\n    otherwise: §")
    assert set(offered) == {"deny", "hold", "wait"}
    assert "looked at again" in documented(offered["wait"])


def test_every_fact_is_offered_where_a_condition_is_written(editor: LanguageServer) -> None:
    offered = editor.completions("p.yaml", f"{POLICY}  - id: one\n    require: §")
    assert set(FACTS) <= set(offered)
    assert documented(offered["native.read"]) == FACTS["native.read"].meaning
    assert offered["native.read"]["insertText"] == 'native.read == "stable"'


def test_only_stored_facts_are_offered_for_when(editor: LanguageServer) -> None:
    offered = editor.completions("p.yaml", f"{POLICY.partition('when')[0]}when: §")
    assert {name for name, fact in FACTS.items() if fact.stored} == set(FACTS) & set(offered)


def test_every_action_is_offered(editor: LanguageServer) -> None:
    offered = editor.completions("p.yaml", f"{POLICY}  - use: same-request\nthen:\n  action: §")
    assert {name: documented(item) for name, item in offered.items()} == {
        action.name: action.meaning for action in ACTIONS.values()
    }


def test_the_facts_of_a_case_and_their_values_are_offered(editor: LanguageServer) -> None:
    assert set(FACTS) <= set(editor.completions("p_test.yaml", f"{TESTS}    facts:\n      §"))
    values = editor.completions("p_test.yaml", f"{TESTS}    facts:\n      source.state: §")
    assert set(values) == {*FACTS["source.state"].values, "unknown"}
    assert "Proves nothing" in documented(values["missing"])
    assert set(editor.completions("p_test.yaml", f"{TESTS}    missing:\n      - §")) == set(FACTS)


def test_the_levels_are_offered(editor: LanguageServer) -> None:
    offered = editor.completions("levels.yaml", f"{LEVELS}p: §")
    # The server quotes `off`, which was no text in YAML 1.1.
    assert {name.strip('"') for name in offered} == {"off", "shadow", "advise", "enforce"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{POLICY}  - id: one\n    otherw§ise: wait\n", "Nothing more happens by itself"),
        (f"{POLICY}  - id: one\n    requ§ire: native.latest\n", "turn.ended_ago >= duration"),
        (f"{POLICY}  - use: same-request\nthen:\n  action: settle§_turn\n", "cancelling the runtime has finished"),
    ],
)
def test_what_the_pointer_rests_on_is_explained(editor: LanguageServer, text: str, told: str) -> None:
    assert told in editor.hover("p.yaml", text)


def test_a_fact_is_explained(editor: LanguageServer) -> None:
    told = editor.hover("p_test.yaml", f"{TESTS}    facts:\n      native.re§ad: stable\n")
    assert FACTS["native.read"].meaning in told


@pytest.mark.parametrize(
    ("name", "text", "line", "told"),
    [
        ("p.yaml", f"{POLICY}  - use: same-request\nthn: {{}}\n", 7, "thn"),
        ("p.yaml", f"{POLICY}  - {{id: one, requre: native.latest}}\n", 6, "requre"),
        ("p.yaml", f"{POLICY}  - id: one\n    otherwise: dny\n", 7, '"deny"'),
        ("p.yaml", f"{POLICY}  - use: a\nthen: {{action: settle_turn, attempt: work}}\n", 7, "attempt"),
        ("p_test.yaml", f"{TESTS}    facts: {{native.raed: stable}}\n", 4, "native.raed"),
        ("p_test.yaml", f"{TESTS}    facts: {{native.read: stabel}}\n", 4, '"stable"'),
        ("p_test.yaml", f"{TESTS}    facts: {{turn.ended_ago: 5}}\n", 4, "string"),
        ("p_test.yaml", f"{TESTS}    expect: {{}}\n", 4, "fewer properties"),
        ("levels.yaml", f"{LEVELS}p: enfroce\n", 1, '"enforce"'),
    ],
)
def test_a_mistake_is_marked_while_it_is_typed(
    editor: LanguageServer, name: str, text: str, line: int, told: str
) -> None:
    found = editor.diagnostics(name, text)
    assert any(one["range"]["start"]["line"] == line and told in one["message"] for one in found), found


@pytest.mark.parametrize("file", sorted((ROOT / "policies").rglob("*.yaml")), ids=lambda file: file.name)
def test_nothing_is_marked_in_a_shipped_file(editor: LanguageServer, file: Path) -> None:
    assert file.read_text().startswith("# yaml-language-server: $schema=")
    assert editor.diagnostics(str(file.relative_to(ROOT / "policies")), file.read_text()) == []
