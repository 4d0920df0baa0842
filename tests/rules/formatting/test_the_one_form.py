"""Whatever a rule file looked like, its one form means the same and keeps every comment where it belongs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.rules.formatting.wild import Draw, Wild, condition, found, sentence
from tests.rules.policy_files import policy

from oncemore.rules.cases import load_tests
from oncemore.rules.expression import Expression
from oncemore.rules.formatting import format_paths
from oncemore.rules.levels import load_levels
from oncemore.rules.loading import read_group, read_policies
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.reading import Loaded
from oncemore.rules.vocabulary import FACTS

WILD = settings(
    deadline=None,
    max_examples=60,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

CONSEQUENCES = ["wait", "hold", "deny"]


@dataclasses.dataclass
class Made:
    """Where generated files come from: texts from Hypothesis, which finds odd ones, the rest by chance."""

    draw: Draw
    chance: Random

    def words(self) -> dict[str, str]:
        return {"en": sentence(self.draw), "zh": self.chance.choice(["中", "轮次结束后先静置一分钟。"])}

    def gate(self, index: int) -> dict[str, Any]:
        made: dict[str, Any] = {
            "id": f"gate-{index}",
            "require": condition(self.chance),
            "otherwise": self.chance.choice(CONSEQUENCES),
            "why": self.words(),
        }
        if self.chance.random() < 0.5:
            made["unknown"] = self.chance.choice(CONSEQUENCES)
        if self.chance.random() < 0.5:
            made |= {"recheck": False, "because": sentence(self.draw)}
        return made

    def policy(self) -> dict[str, Any]:
        made = {
            "policy": "p",
            "revision": self.chance.randint(1, 99),
            "summary": self.words(),
            "when": 'turn.status == "completed"' + self.chance.choice(["", "\n&& turn.phase=='business'"]),
            "gates": [self.gate(index) for index in range(self.chance.randint(1, 3))],
            "then": {"action": "continue_work", "attempt": "work"},
        }
        return made | self.chance.choice([{}, {"patience": "24h"}])

    def facts(self, most: int) -> dict[str, Any]:
        chosen = self.chance.sample(list(FACTS.values()), self.chance.randint(0, most))
        values = {"bool": [True, False], "int": [1, 2, 17], "duration": ["5m", "1h30m"]}
        return {fact.name: self.chance.choice(["unknown", *values.get(fact.type, fact.values)]) for fact in chosen}

    def case(self, index: int) -> dict[str, Any]:
        facts = self.facts(6)
        known = [name for name, value in facts.items() if value != "unknown"]
        others = self.chance.sample(sorted(set(FACTS) - set(facts)), self.chance.randint(0, 4))
        parts = {
            "stale": dict.fromkeys(known[:2], "90s"),
            "missing": others[:2],
            "conflict": others[2:],
            "now": "2026-01-01T00:00:00Z",
            "waiting_since": self.chance.choice(["2025-12-01T00:00:00Z", 1_700_000_000_000]),
        }
        expect = {
            "outcome": self.chance.choice(["fire", "wait", "hold"]),
            "blocked_by": [f"gate-{number}" for number in range(self.chance.randint(0, 20))],
            "unknown": [],
            "until": self.chance.choice([None, "23s", "2026-01-01T00:00:23Z"]),
            "action": self.chance.choice([None, "continue_work"]),
        }
        asked = self.some(expect) or expect
        return {"name": f"{index}: {sentence(self.draw)}", "facts": facts} | self.some(parts) | {"expect": asked}

    def cases(self) -> dict[str, Any]:
        cases = [self.case(index) for index in range(self.chance.randint(0, 3))]
        return {"policy": "p", "base": self.facts(12), "cases": cases}

    def some(self, parts: dict[str, Any]) -> dict[str, Any]:
        return {name: part for name, part in parts.items() if self.chance.random() < 0.5}


def unplaced(part: object) -> object:
    """A loaded part without what only says how or where it was written."""
    if isinstance(part, (Policy, Gate)):
        left = ("digest", "texts", "text", "at", "when_text", "when_at")
        return {one.name: unplaced(getattr(part, one.name)) for one in dataclasses.fields(part) if one.name not in left}
    if isinstance(part, Expression):
        named = [(one.name, getattr(part, one.name)) for one in dataclasses.fields(part) if "span" not in one.name]
        return [type(part).__name__, *((name, unplaced(value)) for name, value in named)]
    if isinstance(part, (tuple, list)):
        return [unplaced(one) for one in part]
    return (type(part).__name__, part)


def meaning(file: Path) -> object:
    """What a file loads as, by the code that loads it for everything else."""
    if file.name.endswith("_test.yaml"):
        tests = load_tests(file)
        cases = tuple(dataclasses.replace(one, line=0, column=0) for one in tests.cases)
        return dataclasses.replace(tests, cases=cases, file="")
    if file.name.startswith("levels"):
        return list(load_levels(file).items())
    if file.parent.name == "groups":
        document = read_group(file)
        assert document.root is not None and not [one for one in document.diagnostics if one.severity == "error"]
        taking = file.parent.parent / "taking.yaml"
        taking.write_text(policy("  - use: g\n"), encoding="utf-8")
        loaded = read_policies([taking])
    else:
        loaded = read_policies([file])
    return the_policy(loaded)


def the_policy(loaded: Loaded) -> object:
    assert loaded.errors == []
    [one] = loaded.policies
    return unplaced(one)


def formatted(file: Path) -> str:
    """The one form of a file, seen to have all that is promised of each; the file then holds it."""
    before = meaning(file)
    [one] = format_paths([file])
    assert one.errors == ()
    file.write_bytes(one.after)
    assert meaning(file) == before
    [again] = format_paths([file])
    assert not again.changes
    text = one.after.decode()
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert not any(char in text for char in "\r\ufeff")
    assert [line for line in text.split("\n") if line != line.rstrip()] == []
    return text


def check(made: Made, file: Path, data: dict[str, Any], *, ordered: bool = True) -> None:
    wild = Wild(made.chance, ordered)
    text = wild.text(data)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(made.chance.choice([b"", b"", b"\xef\xbb\xbf"]) + text.encode())
    written = formatted(file)
    assert found(written, wild.placed) == wild.placed
    assert all(written.count(f"{comment}\n") == 1 for comment in wild.placed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wild")


SEED = st.integers(0, 2**32)


@WILD
@given(st.data(), SEED)
def test_a_policy_keeps_its_meaning_and_every_comment(folder: Path, data: Any, seed: int) -> None:
    made = Made(data.draw, Random(seed))
    check(made, folder / "policies" / "p.yaml", made.policy())


@WILD
@given(st.data(), SEED)
def test_a_group_keeps_its_meaning_and_every_comment(folder: Path, data: Any, seed: int) -> None:
    made = Made(data.draw, Random(seed))
    gates = [made.gate(index) for index in range(made.chance.randint(1, 2))]
    check(made, folder / "shared" / "groups" / "g.yaml", {"group": "g", "gates": gates})


@WILD
@given(st.data(), SEED)
def test_tests_keep_their_meaning_and_every_comment(folder: Path, data: Any, seed: int) -> None:
    made = Made(data.draw, Random(seed))
    check(made, folder / "tests" / "p_test.yaml", made.cases())


@WILD
@given(SEED)
def test_levels_keep_their_meaning_and_every_comment(folder: Path, seed: int) -> None:
    chance = Random(seed)
    names = chance.sample(["p", "q-1", "true", "null", "1", "a b", "ä: ö", "中", "#x"], chance.randint(1, 9))
    levels = {name: chance.choice(["off", "shadow", "advise", "enforce"]) for name in names}
    check(Made(Wild, chance), folder / "levels" / "levels.yaml", levels, ordered=False)
