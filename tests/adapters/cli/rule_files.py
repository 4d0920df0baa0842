"""Rule files and facts that the tests of the command line work with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from oncemore.rules.shipped import shipped_policies

POLICY = "continue-unfinished-work"


def continuation(folder: Path) -> Path:
    """A folder with the continuation policy and its groups alone."""
    folder.mkdir()
    shutil.copy(shipped_policies() / f"{POLICY}.yaml", folder)
    (folder / "groups").mkdir()
    for group in ("same-request", "nothing-used"):
        shutil.copy(shipped_policies() / "groups" / f"{group}.yaml", folder / "groups")
    (folder / "levels.yaml").write_text(f"{POLICY}: shadow\n")
    return folder


def case(file: Path, *, missing: tuple[str, ...] = (), **changes: Any) -> Path:
    """A facts file on which the continuation fires, with changes; `__` stands for the dot of a name."""
    tests = yaml.safe_load((shipped_policies() / f"{POLICY}_test.yaml").read_text())
    facts = tests["base"] | {name.replace("__", "."): value for name, value in changes.items()}
    file.write_text(json.dumps({"facts": {name: facts[name] for name in facts if name not in missing}}))
    return file


FIVE_MISTAKES = """\
policy: five-mistakes
revision: 1
summary: {en: Five mistakes., zh: 五处错误。}
when: turn.statsu == "completed"
gates:
  - id: never-inverted
    require: ! request.opted_out
    otherwise: dny
    why: {en: Switched off., zh: 已关闭。}
  - {id: soon, require: turn.ended_ago >= 60, otherwise: wait, why: {en: Soon., zh: 稍候。}}
then: {action: continue_wrk, attempt: work}
patience: 24h
"""
