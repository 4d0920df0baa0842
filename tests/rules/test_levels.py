"""Levels are those of the file, and what is none of them is refused where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import write

from oncemore.rules.errors import RulesInvalid
from oncemore.rules.levels import load_levels
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies


def test_what_is_shipped_starts_in_the_shadow() -> None:
    names = [policy.name for policy in load_policies([shipped_policies()]).policies]
    assert load_levels(shipped_policies() / "levels.yaml") == dict.fromkeys(names, "shadow")


@pytest.mark.parametrize(
    ("text", "place", "help"),
    [
        ("a: enforced\n", (1, 4), "did you mean `enforce`?"),
        ("a: off\nb: true\n", (2, 4), "it is one of off, shadow, advise, enforce"),
        ("a:\n", (1, 1), "it is one of"),
        ("- a\n", (1, 1), ""),
        ("", (1, 1), ""),
    ],
)
def test_another_level_is_refused_where_it_stands(tmp_path: Path, text: str, place: tuple[int, int], help: str) -> None:
    with pytest.raises(RulesInvalid) as caught:
        load_levels(write(tmp_path, text, "levels.yaml"))
    [one] = caught.value.diagnostics
    assert (one.line, one.column) == place
    assert help in (one.help or "")
