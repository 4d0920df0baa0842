"""All mistakes of all files are told at once, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncemore.rules.diagnostics import render
from oncemore.rules.errors import RulesInvalid
from oncemore.rules.loading import load_policies

FIVE = """\
policy: five-mistakes
revision: 1
summary: {en: Five mistakes., zh: 五处错误。}
when: turn.status == "complete"
gates:
  - {id: one, require: request.steerd == false, otherwise: hold, why: {en: a, zh: 甲}}
  - id: two
    require: ! request.opted_out
    otherwise: stop
    why: {en: b, zh: 乙}
then: {action: continue_work, attempt: work, colour: red}
patience: 24h
"""


def test_five_mistakes_in_twelve_lines_give_five_frames(tmp_path: Path) -> None:
    path = tmp_path / "five-mistakes.yaml"
    path.write_text(FIVE, encoding="utf-8")
    with pytest.raises(RulesInvalid) as caught:
        load_policies([path])
    found = [(one.code, one.line, one.column, one.yaml_path) for one in caught.value.diagnostics]
    assert found == [
        ("R304", 4, 22, "$.when"),
        ("R302", 6, 24, "$.gates[0].require"),
        ("R105", 8, 14, "$.gates[1].require"),
        ("R203", 9, 16, "$.gates[1].otherwise"),
        ("R201", 11, 46, "$.then.colour"),
    ]
    text = render(caught.value.diagnostics)
    assert text.count("-->") == 5
    assert 'did you mean "completed"?' in text
    assert "did you mean `request.steered`?" in text
    assert "require: request.opted_out == false" in text
    assert "did you mean `steered`" not in text


def test_the_mistakes_of_all_files_come_together_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text("policy: x\nnope: 1\n", encoding="utf-8")
    with pytest.raises(RulesInvalid) as caught:
        load_policies([tmp_path])
    found = caught.value.diagnostics
    assert [Path(one.file).name for one in found] == sorted(Path(one.file).name for one in found)
    assert {Path(one.file).name for one in found} == {"a.yaml", "b.yaml"}
    [missing] = [one for one in found if one.file.endswith("a.yaml") and one.code == "R202"]
    assert missing.message == "the keys `revision`, `summary`, `when`, `gates`, `then` are missing"
