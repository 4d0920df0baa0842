"""Only plain YAML is read, every place in it is known, and what could be read in two ways is refused."""

from __future__ import annotations

import random

import pytest

from oncemore.rules import scalars
from oncemore.rules.diagnostics import KEPT, LONGEST, width
from oncemore.rules.source import MAX_MISTAKES, Document, Place, load, load_bytes


def codes(text: str) -> list[str]:
    return [one.code for one in load(text, "f.yaml").diagnostics]


def the_one(text: str) -> tuple[str, int, int, str]:
    [one] = load(text, "f.yaml").diagnostics
    return one.code, one.line, one.column, one.help or ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("12:30:45", "12:30:45"), ("017", 17), ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"), ("true", True), ("False", False), ("~", None), ("", None), ("0o17", 15),
        ("0x1F", 31), ("1.5", 1.5), ("1e3", 1000.0), (".inf", float("inf")), ("'1'", "1"), ('"true"', "true"),
        ("9" * 32, int("9" * 32)), ("+", "+"), ("-x", "-x"),
    ],
)  # fmt: skip
def test_plain_values_are_those_of_the_core_schema(text: str, value: object) -> None:
    root = load(f"a: {text}\n", "f.yaml").root
    assert root is not None
    assert root.value == {"a": value}
    assert type(root.value["a"]) is type(value)


def test_keys_stay_text() -> None:
    root = load("1: a\ntrue: b\n~: c\n", "f.yaml").root
    assert root is not None
    assert root.value == {"1": "a", "true": "b", "~": "c"}


def test_a_duplicate_key_names_both_places() -> None:
    code, line, column, help = the_one("a:\n  b: 1\n  b: 2\n")
    assert (code, line, column) == ("R102", 3, 3)
    assert "line 2, column 3" in help


@pytest.mark.parametrize("text", ["a: &x 1\n", "a: *x\n", "<<: {a: 1}\n", "a: &x [1]\n"])
def test_anchors_aliases_and_merge_keys_are_refused(text: str) -> None:
    assert codes(text) == ["R103"]


def test_an_alias_bomb_is_refused_at_its_anchors() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert set(codes("\n".join(lines))) == {"R103"}


@pytest.mark.parametrize("text", ["a: !!str 1\n", "a: !x 1\n", "a: !x [1]\n", "a: !<tag:x> 1\n"])
def test_tags_are_refused(text: str) -> None:
    assert codes(text) == ["R104"]


@pytest.mark.parametrize(
    ("line", "quoted", "other"),
    [
        ("require: ! a.b", "require: '! a.b'", "require: a.b == false"),
        ("require: !a.b", "require: '!a.b'", "require: a.b == false"),
        ("- require: !a.b  # why", "require: '!a.b'", "require: a.b == false"),
        ("when: !(a.b && c.d)", "when: '!(a.b && c.d)'", "a.b == false"),
        ("require: !a.b && !c.d", "require: '!a.b && !c.d'", "a.b == false"),
        ("require: !a.b || c.d", "require: '!a.b || c.d'", "a.b == false"),
        ("require: ! a.b == 'x'", "require: \"! a.b == 'x'\"", "a.b == false"),
    ],
)
def test_an_unquoted_bang_is_explained_with_the_line_quoted(line: str, quoted: str, other: str) -> None:
    code, number, column, help = the_one(f"x: 1\n{line}\n" if not line.startswith("-") else f"{line}\n")
    assert code == "R105"
    assert column == line.index("!") + 1
    assert quoted in help
    assert other in help
    mended = load(quoted, "f.yaml")
    assert mended.diagnostics == []
    assert number in (1, 2)


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029", "\x00", "\x1b", "\u202e", "\ufeff", "\ud800"])
def test_invisible_characters_are_refused_where_they_stand(char: str) -> None:
    code, line, column, _ = the_one(f"a: 1\nb: x{char}y\n")
    assert (code, line, column) == ("R106", 2, 5)


@pytest.mark.parametrize("escape", ["\\e", "\\0", "\\u202e", "\\L", "\\N", "\\x7f", "\\ufeff", "\\r"])
def test_an_escape_may_not_smuggle_them_into_a_text_or_a_key(escape: str) -> None:
    assert the_one(f'a: 1\nb: "x{escape}y"\n')[:3] == ("R106", 2, 6)
    assert the_one(f'a: 1\n"x{escape}y": [1]\n')[:3] == ("R106", 2, 3)


def test_line_breaks_and_tabs_may_be_escaped() -> None:
    root = load('a: "x\\n\\ty"\n', "f.yaml").root
    assert root is not None
    assert root.value == {"a": "x\n\ty"}


@pytest.mark.parametrize("number", ["9" * 33, "-" + "9" * 5_000, "0x" + "f" * 40, "1e999", "-1e999"])
def test_a_number_beyond_all_bounds_is_named_as_too_large(number: str) -> None:
    [one] = load(f"a: 1\nb: {number}\n", "f.yaml").diagnostics
    assert (one.code, one.message, one.line, one.column) == ("R305", "this number is too large", 2, 4)


@pytest.mark.parametrize("directive", ["%YAML 1.1", "%TAG ! tag:example.org,2000:"])
def test_a_directive_is_refused_on_its_line(directive: str) -> None:
    assert the_one(f"# first\n{directive}\n---\na: 1\n")[:3] == ("R110", 2, 1)


def test_yaml_may_say_that_it_is_yaml_1_2() -> None:
    assert codes("%YAML 1.2\n---\na: 1\n") == []


def test_a_lone_carriage_return_is_refused() -> None:
    assert codes("a: 1\rb: 2\n") == ["R106"]


def test_a_tab_that_indents_is_named() -> None:
    assert the_one("a:\n\tb: 1\n")[:3] == ("R106", 2, 1)


def test_carriage_returns_before_line_feeds_change_nothing() -> None:
    text = "a:\n  b: [1, 'x']\n  c: |\n    y\n"
    unix, dos = load(text, "f"), load(text.replace("\n", "\r\n"), "f")
    assert unix.root is not None
    assert dos.root is not None
    assert unix.root.value == dos.root.value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "R108"), ("# only a comment\n", "R108"), ("a: 1\n---\nb: 2\n", "R108"), ("a: 'x\n", "R101"),
        ("a: [1, 2\n", "R101"), ("? [a]\n: 1\n", "R109"), ("{a: 1}: 2\n", "R109"), ("a: " + "[" * 40, "R107"),
        ("a: [" + "1, " * 60_000 + "]", "R107"), ("#" * 1_000_001, "R107"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_has_one_code(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_what_is_not_utf_8_is_refused_at_its_byte() -> None:
    [one] = load_bytes(b"a: 1\nb: \xff\n", "f").diagnostics
    assert (one.code, one.line, one.column) == ("R108", 2, 4)


def test_after_a_syntax_error_what_was_found_before_is_reported_too() -> None:
    assert codes("a: &x 1\nb: !y 2\nc: 'open\n") == ["R103", "R104", "R101"]


def test_everything_refused_is_reported_in_one_go() -> None:
    assert codes("a: &x 1\nb: *x\na: 2\nrequire: ! c.d\n") == ["R103", "R103", "R102", "R105"]


@pytest.mark.parametrize(
    "text",
    [
        "a: one XX two\n",
        "a: one\n  XX two\n",
        "a: 'it''s XX two'\n",
        'a: "\\"one\\" \\u4e2d XX two"\n',
        'a: "one \\\n  XX two"\n',
        "a: >-\n  one\n  XX two\n",
        "a: |\n  one\n    XX two\n",
        "a: >2\n    one\n\n   XX\n  two\n",
        "a: 名前 XX\n",
        "a: 'one\n\n  XX'\n",
        "a: >\r\n  one\r\n  XX two\r\n",
        "- {a: [one, XX two]}\n",
    ],
)
def test_a_place_inside_a_scalar_is_the_place_in_the_file(text: str) -> None:
    document = load(text, "f")
    node = document.root
    for part in (0, "a", 1) if text.startswith("-") else ("a",):
        assert node is not None
        node = node.get(part)
    assert node is not None
    at = str(node.value).index("XX")
    place = document.inside(node, at, at + 2)
    assert document.text[place.start : place.end] == "XX"


def scalar(rng: random.Random) -> str:
    pieces = [*"ab \n\t'\"\\#:é中&|>-", "\n ", "\n\n", "  ", "\\n", "\\\n", "\\u4e2d", "''", " #"]
    body = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 14)))
    style = rng.choice("'\"|>p")
    deeper = body.replace("\n", "\n    ")
    if style == "'":
        return "'" + deeper.replace("'", "''") + "'"
    if style == '"':
        return '"' + deeper.replace('"', "") + '"'
    if style == "p":
        return deeper
    return style + rng.choice(["", "-", "+", "2", "2-", "+1"]) + rng.choice(["", " # c"]) + "\n    " + deeper


def test_every_scalar_that_loads_can_be_followed_character_by_character() -> None:
    rng = random.Random(5)
    followed = 0
    for _ in range(4_000):
        text = f"a:\n  b: {scalar(rng)}\n" + rng.choice(["", "c: 1\n", "# x\n", "\n\n"])
        document: Document = load(text.replace("\n", "\r\n") if rng.random() < 0.2 else text, "f")
        node = document.root.get("a", "b") if document.root is not None and not document.diagnostics else None
        if node is None or not isinstance(node.value, str):
            continue
        places = scalars.offsets(document.text, node.place.start, node.place.end, node.style, node.value)
        assert places is not None, text
        assert len(places) == len(node.value) + 1
        assert places == sorted(places)
        followed += 1
    assert followed > 2_000


def test_of_one_file_so_many_mistakes_are_told_and_no_more() -> None:
    found = load("a: 1\n" * 1_000, "f").diagnostics
    assert len(found) == MAX_MISTAKES
    assert {one.code for one in found[:-1]} == {"R102"}
    assert found[-1].code == "R107"


def test_a_mistake_keeps_but_a_part_of_a_long_line() -> None:
    [one] = load("x: [" + "1, " * 10_000 + "1, &a 1, " + "1, " * 10_000 + "1]", "f").diagnostics
    assert (one.code, len(one.source_line)) == ("R103", KEPT)
    frame = one.pretty().splitlines()
    assert frame[3][frame[4].index("^") :].startswith("&a")


@pytest.mark.parametrize("column", [0, 1, 57, 58, 59, 118, 119, 120, 399, 400, 401, 5_000])
@pytest.mark.parametrize("filling", ["x", "中", "e\u0301"])
def test_the_caret_stands_under_its_place_wherever_that_is_on_a_line(column: int, filling: str) -> None:
    line = filling * column + "XX" + filling * 500
    document = Document("f", line)
    frame = document.diagnostic("R203", "x", Place(len(filling) * column, len(filling) * column + 2)).pretty()
    shown, marks = frame.splitlines()[3:5]
    assert width(shown[: shown.index("XX")]) == marks.index("^")
    assert marks.count("^") == 2
    assert width(shown) <= LONGEST + len("1 | ")


@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
def test_the_joiners_of_scripts_and_emoji_may_stand(joiner: str) -> None:
    assert codes(f"a: x{joiner}y\n") == []


@pytest.mark.parametrize("raw", ["policy: p\n".encode("utf-16"), "policy: p\n".encode("utf-16-le"), b"\0" * 99])
def test_what_is_no_text_is_refused_in_one_message(raw: bytes) -> None:
    [one] = load_bytes(raw, "f").diagnostics
    assert (one.code, one.line, one.column) == ("R108", 1, 1)
