"""Does the page about `oncemore.yaml` show files that load?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oncemore.adapters.configuration import load_configuration

PAGE = Path(__file__).resolve().parents[3] / "docs" / "configuration.md"
SHOWN = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("shown", SHOWN)
def test_every_file_that_is_shown_loads(tmp_path: Path, shown: str) -> None:
    file = tmp_path / "oncemore.yaml"
    file.write_text(shown if shown.startswith("journal:") else f"journal: data/oncemore.db\n{shown}", encoding="utf-8")
    file.chmod(0o600)
    configuration = load_configuration(file)
    assert bool(configuration.runtimes) == ("runtimes:" in shown)


def test_the_durations_that_are_shown_are_those_that_count_when_left_out(tmp_path: Path) -> None:
    file = tmp_path / "oncemore.yaml"
    found = []
    for text in (
        SHOWN[0],
        re.sub(r"(?m)^ *(hard_timeout|spread|queue_patience|poll|observe_again):.*\n", "", SHOWN[0]),
    ):
        file.write_text(text.replace("worker:\n", "") if "poll" not in text else text, encoding="utf-8")
        file.chmod(0o600)
        configuration = load_configuration(file)
        found.append((configuration.runtimes, configuration.queue_patience, configuration.worker))
    assert found[0] == found[1]
