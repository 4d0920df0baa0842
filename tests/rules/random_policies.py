"""Small random policies over few facts, whose every combination of cells can be gone through."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.rules.policy_files import gate, policy

from oncemore.rules.cells import Cells
from oncemore.rules.expression import Expression
from oncemore.rules.loading import policy_from_texts
from oncemore.rules.policy import Policy

ATOMS = [
    "native.latest", "native.latest == false", "native.steps > 2", "native.steps <= 4", "native.steps != 3",
    'native.effects == "none"', 'native.effects in ["none", "settled"]', 'native.effects != "failed"',
    'turn.status == "failed"', 'turn.status in ["failed", "completed"]',
]  # fmt: skip


def conditions(count: int, seed: int) -> Iterator[str]:
    """Conditions of one to three comparisons, some turned round."""
    draw = random.Random(seed)
    for _ in range(count):
        parts = draw.sample(ATOMS, draw.randint(1, 3))
        text = f" {draw.choice(['&&', '||'])} ".join(f"!({part})" if draw.random() < 0.2 else part for part in parts)
        yield f"!({text})" if draw.random() < 0.2 else text


def written(seed: int, when: str = "turn.attempt == 1") -> str:
    """The text of a policy without a floor: gates `g0`, `g1`, ... of every outcome."""
    draw = random.Random(seed)
    gates = [
        gate(f"'{text}'", f"g{number}").replace(
            "otherwise: wait", f"otherwise: {draw.choice(['wait', 'hold', 'deny'])}"
        )
        for number, text in enumerate(conditions(draw.randint(2, 4), seed))
    ]
    return policy(*gates, when=when, then="{action: settle_turn}")


def loaded(text: str) -> Policy:
    """The policy of a text."""
    return policy_from_texts("policies/p.yaml", {"policies/p.yaml": text})


def every_case(conditions: list[Expression]) -> Iterator[dict[str, Any]]:
    """The known values of every combination of cells of what conditions speak of."""
    cells = Cells(conditions)
    for values in product(*cells.values.values()):
        yield {fact: value for fact, value in zip(cells.values, values, strict=True) if value is not None}
