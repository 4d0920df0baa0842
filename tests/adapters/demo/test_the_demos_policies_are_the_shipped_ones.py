"""Do the demo's policies differ from the shipped ones in anything but their times?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from oncemore.adapters.demo.place import OWN_POLICIES
from oncemore.rules.shipped import shipped_policies

OWN = sorted(OWN_POLICIES.glob("*.yaml"))
SPAN = re.compile(r'duration\("(\d+)([smhd])"\)')
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.stem)
def test_a_policy_of_the_demo_is_the_shipped_one_but_for_the_times_it_waits(file: Path) -> None:
    own, shipped = read(file), read(shipped_policies() / file.name)
    shortened = 0
    for mine, theirs in zip(own["gates"], shipped["gates"], strict=True):
        if mine == theirs:
            continue
        spans = [SPAN.findall(gate["require"]) for gate in (mine, theirs)]
        (short,), (long,) = [[int(number) * SECONDS[unit] for number, unit in found] for found in spans]
        assert short < long
        assert "in operation" in mine["why"]["en"] and f"{short} seconds" in mine["why"]["en"]
        shortened += 1
        for gate in (mine, theirs):
            gate["why"] = ""
            gate["require"] = SPAN.sub('duration("a time")', gate["require"])
    assert shortened
    assert own == shipped
