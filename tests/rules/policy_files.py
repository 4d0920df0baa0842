"""Rule files for tests: a good policy, changed where a test needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import RulesInvalid
from oncemore.rules.loading import load_policies

GATE = """\
  - id: {id}
    require: {require}
    otherwise: wait
    why: {{en: w, zh: 为}}
"""

POLICY = """\
policy: {name}
revision: 1
summary: {{en: s, zh: 要}}
when: {when}
gates:
{gates}then:
  {then}
{more}"""


def gate(require: str = "native.latest", id: str = "one", more: str = "") -> str:
    return GATE.format(id=id, require=require) + (f"    {more}\n" if more else "")


def policy(
    *gates: str,
    name: str = "p",
    when: str = 'turn.status == "completed"',
    then: str = "{action: continue_work, attempt: work}",
    more: str = "",
) -> str:
    return POLICY.format(name=name, when=when, gates="".join(gates or (gate(),)), then=then.strip(), more=more)


def write(folder: Path, text: str, name: str = "p.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def errors(*paths: Path) -> tuple[Diagnostic, ...]:
    with pytest.raises(RulesInvalid) as caught:
        load_policies(paths)
    return caught.value.diagnostics


def the_error(path: Path) -> Diagnostic:
    [one] = errors(path)
    return one
