"""The choices of the one form, each by an example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.rules.policy_files import policy

from oncemore.rules.formatting import format_paths, formatted
from oncemore.rules.layout import Kind
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.source import load

ROOT = Path(__file__).parents[3]


def form(text: str, kind: Kind = "policy") -> str:
    document = load(text, "f.yaml")
    assert document.diagnostics == []
    return formatted(document, kind)


def test_what_we_ship_is_in_the_one_form() -> None:
    files = format_paths([shipped_policies()])
    assert len(files) > 15
    assert [one.path for one in files if one.changes or one.errors] == []


def test_the_demos_policies_are_in_the_one_form() -> None:
    for file in (ROOT / "adapters" / "oncemore" / "adapters" / "demo" / "policies").glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        assert form(text) == text, file


def test_the_guides_examples_are_in_the_one_form() -> None:
    guide = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    of_policy, of_tests = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    assert form(of_policy) == of_policy
    assert form(of_tests, "tests") == of_tests


def test_keys_stand_in_the_order_of_the_guide_and_facts_in_that_of_their_author() -> None:
    text = "cases:\n- expect: {action: x, outcome: fire}\n  facts: {b.c: 1, a.b: 2}\n  name: n\npolicy: p\n"
    assert form(text, "tests") == (
        "policy: p\ncases:\n  - name: n\n    facts: {b.c: 1, a.b: 2}\n    expect: {outcome: fire, action: x}\n"
    )


def test_gates_and_sentences_take_a_line_for_each_key() -> None:
    text = "gates: [{why: {zh: 中, en: a}, id: g, otherwise: wait, require: native.latest}]\ngroup: h\n"
    assert form(text, "group") == (
        "group: h\ngates:\n  - id: g\n    require: native.latest\n    otherwise: wait\n"
        "    why:\n      en: a\n      zh: 中\n"
    )


def test_facts_that_are_too_many_for_a_line_take_one_each() -> None:
    facts = ", ".join(f"native.some_{number}: unknown" for number in range(4))
    fits = f"policy: p\ncases:\n  - name: n\n    facts: {{{facts}}}\n"
    assert form(fits, "tests") == fits
    wide = form(fits.replace("}", ", native.some_4: unknown, native.some_5: unknown}"), "tests")
    assert wide.count("\n      native.some_") == 6


def test_a_comment_among_facts_opens_the_braces() -> None:
    text = "policy: p\ncases:\n  - name: n\n    facts: {\n      # why\n      a.b: 1, # so\n      c.d: 2 } # all\n"
    assert form(text, "tests") == (
        "policy: p\ncases:\n  - name: n\n    facts:  # all\n      # why\n      a.b: 1  # so\n      c.d: 2\n"
    )


@pytest.mark.parametrize(
    ("written", "one"),
    [
        ("a.b=='x'&&!c.d", 'a.b == "x" && !c.d'),
        ("a.b  ==\n 'x'", 'a.b == "x"'),
        ("! (a.b||c.d)", "'!(a.b || c.d)'"),
        ("a.b in['x' ,\"y\"]", 'a.b in ["x", "y"]'),
        ('duration ( "60s" )<=a . b', 'duration("60s") <= a.b'),
        ("((a.b))", "((a.b))"),
        ("'x' == a.b", "'\"x\" == a.b'"),
        (r'a.b == "\u0078\"\\"', r'a.b == "x\"\\"'),
    ],
)
def test_a_condition_has_one_spacing_and_one_kind_of_quotes(written: str, one: str) -> None:
    when = "when: |-\n" + "".join(f"  {line}\n" for line in written.split("\n"))
    assert f"\nwhen: {one}\n" in form(f"policy: p\n{when}")


def test_a_condition_is_broken_before_its_outermost_signs_and_only_when_it_is_too_long() -> None:
    part = 'turn.status == "running"'
    line = " && ".join([part] * 4)
    assert f"when: {line}\n" in form(f"when: {line}\n")
    assert form(f"when: {line} && turn.x || ({line} && {line})\n") == (
        f"when: >-\n  {line} && turn.x\n  || (\n       {part}\n" + f"       && {part}\n" * 7 + "     )\n"
    )


def test_a_sentence_is_folded_when_it_is_too_long_and_stands_on_one_line_when_it_is_not() -> None:
    assert "  en: a b\n" in form("summary:\n  en: >-\n    a\n    b\n")
    long = " ".join(["word"] * 40)
    lines = form(f"summary: {{en: {long}}}\n").split("\n")
    assert lines[1] == "  en: >-"
    assert " ".join(line.strip() for line in lines[2:-1]) == long
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("written", "one"),
    [
        ('"a"', "a"), ("'it''s'", "it's"), ('"a: b"', '"a: b"'), ("'say \"so: x\"'", "'say \"so: x\"'"),
        ('"no"', '"no"'), ("no", '"no"'), ("2026-01-01T00:00:00Z", '"2026-01-01T00:00:00Z"'), ("60s", "60s"),
        ('"1"', '"1"'), ("0x10", "16"), ("True", "true"), ("~", "null"), ("", "null"), ('"a\\tb"', '"a\\tb"'),
        ("'# x'", '"# x"'), ('" a"', '" a"'), ('"- a"', '"- a"'), ("<<", '"<<"'), ('"\\u4e2d"', "中"),
    ],
)  # fmt: skip
def test_a_value_has_quotes_where_some_yaml_would_read_it_otherwise(written: str, one: str) -> None:
    assert form(f"patience: {written}\n") == f"patience: {one}\n"


def test_a_key_that_plain_would_be_another_keeps_its_quotes() -> None:
    text = '"<<": shadow\n"a: b": shadow\n? ' + "x" * 2_000 + "\n: off\n"
    assert form(text, "levels") == text.replace("off", '"off"')


def test_comments_stay_with_what_they_speak_of() -> None:
    text = (
        "# yaml-language-server: $schema=x\n# the try\nrevision: 1\n# whom\n\n\n\nwhen: a.b #why\n"
        "gates:\n # first\n - require: c.d\n   # its name\n   id: g\n   # done\n\n # last\npolicy: p # p\n#end\n"
    )
    assert form(text) == (
        "# yaml-language-server: $schema=x\npolicy: p  # p\n# the try\nrevision: 1\n# whom\n\nwhen: a.b  #why\n"
        "gates:\n  # first\n  # its name\n  - id: g\n    require: c.d\n    # done\n\n  # last\n#end\n"
    )


def test_a_directive_a_document_mark_and_a_byte_order_mark_go() -> None:
    assert form("%YAML 1.2\n# a\n---\n# b\npolicy: p\n...\n# c\n") == "# a\n# b\npolicy: p\n# c\n"


def test_an_allowance_still_silences_its_finding(tmp_path: Path) -> None:
    from oncemore.rules.check import check_paths

    gates = policy(
        "  -\n    # oncemore: allow R403, so it is\n    require: native.steps_ended\n    id: a\n"
        "    why: {en: a, zh: 甲}\n    otherwise: wait\n"
        "  - otherwise: hold\n    require: material.kind != 'none' # oncemore: allow R403, this one too\n    id: b\n"
        "    why: {en: b, zh: 乙}\n"
    )
    file = tmp_path / "p.yaml"
    file.write_text(gates, encoding="utf-8")
    assert check_paths([file]) == []
    file.write_text(form(gates), encoding="utf-8")
    assert check_paths([file]) == []
