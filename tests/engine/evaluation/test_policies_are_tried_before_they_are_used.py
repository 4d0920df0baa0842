"""Is a policy set built and asked in another process before it is used in this one?"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.evaluation.written import case, evaluator, gate, policy

from oncemore.engine import smoke
from oncemore.engine.errors import EngineUnavailable
from oncemore.engine.smoke import PolicyRefused, publish, try_elsewhere
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import Outcome
from oncemore.rules.shipped import shipped_policies

LIMIT = 60.0


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Another rules engine for the child alone: this process has loaded the real one."""
    (folder / "durable_rules_engine.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was tried from this process yet."""
    monkeypatch.setattr(smoke, "_passed", set())


def test_what_passed_is_not_tried_again_and_anything_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try_elsewhere(evaluator(policy(gate("is", "a.flag"))), LIMIT)
    stand_in(
        tmp_path, monkeypatch, "import os\nerror = ValueError\ndef __getattr__(name):\n    os.kill(os.getpid(), 11)\n"
    )
    try_elsewhere(evaluator(policy(gate("is", "a.flag"))), LIMIT)
    for _ in range(2):
        with pytest.raises(PolicyRefused):
            try_elsewhere(evaluator(policy(gate("is", "a.done"))), LIMIT)


def test_the_shipped_policies_are_good() -> None:
    asked = publish(load_policies([shipped_policies()]), time_limit=LIMIT)
    assert "continue-unfinished-work" in asked.plans


def test_a_good_set_is_used_afterwards() -> None:
    asked = evaluator(policy(gate("is", "a.flag && a.count in [1, 2]")), policy(gate("is", "a.done"), name="other"))
    try_elsewhere(asked, LIMIT)
    assert asked.ask("other", case({"a.done": True})).outcome is Outcome.FIRE


def test_a_policy_over_which_the_process_dies_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import os\nerror = ValueError\ndef __getattr__(name):\n    os.kill(os.getpid(), 11)\n"
    stand_in(tmp_path, monkeypatch, text)
    with pytest.raises(PolicyRefused, match="written: the engine ended its process, status -11"):
        try_elsewhere(evaluator(policy(gate("is", "a.flag"))), LIMIT)


def test_a_policy_over_which_the_engine_hangs_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import threading\nerror = ValueError\ndef __getattr__(name):\n    threading.Event().wait()\n"
    stand_in(tmp_path, monkeypatch, text)
    with pytest.raises(PolicyRefused, match=r"no answer within 1 s"):
        try_elsewhere(evaluator(policy(gate("is", "a.flag"))), 1.0)


def test_a_policy_that_gives_a_fault_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
class error(Exception):
    pass
def create_ruleset(name, text):
    raise error("not this one")
def __getattr__(name):
    return None
"""
    stand_in(tmp_path, monkeypatch, text)
    with pytest.raises(PolicyRefused, match=r"written: ruleset l0 is refused: not this one"):
        try_elsewhere(evaluator(policy(gate("is", "a.flag"))), LIMIT)


def test_an_engine_that_the_other_process_cannot_load_is_no_fault_of_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "raise ImportError('undefined symbol: PyEval_CallObject')")
    with pytest.raises(EngineUnavailable, match="PyEval_CallObject"):
        try_elsewhere(evaluator(policy(gate("is", "a.flag"))), LIMIT)
