"""A folder of policies is followed, and the last good set stays in force whatever is written there."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from oncemore.engine.evaluation import Evaluator
from oncemore.engine.reloading import EVERY, STILL, PolicyWatch
from oncemore.rules.case import Case
from oncemore.rules.errors import NoPolicies
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

FILE = "continue-unfinished-work.yaml"


class Desk:
    """A folder with one policy, and whoever follows it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE
        shutil.copytree(shipped_policies() / "groups", folder / "groups")
        shutil.copyfile(shipped_policies() / FILE, self.file)
        self.good = self.file.read_text()
        self.time = 0.0
        self.watch = PolicyWatch(folder, lambda: self.time)
        self.first = self.watch.rules

    def later(self) -> bool:
        """The folder is looked at twice, with as much time between as it must have stood still."""
        self.time += EVERY
        looked = self.watch.look()
        self.time += max(EVERY, STILL)
        return self.watch.look() or looked


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_an_edit_comes_into_force_as_a_set_of_its_own(desk: Desk) -> None:
    told = []
    desk.watch.told.append(told.append)
    desk.file.write_text(desk.good.replace('duration("60s")', 'duration("90s")'))
    assert desk.later()
    assert desk.watch.rules is not desk.first
    assert desk.watch.rules.digest != desk.first.digest
    assert told == [desk.watch.rules]
    judged = desk.watch.rules.decide(Case(0, {}), stage="admission", request="r", levels={})
    assert [one["policy"]["digest"] for one in judged.records] == [
        policy.digest for policy in load_policies([desk.file.parent]).policies
    ]


def test_what_does_not_load_leaves_the_last_good_set_and_is_told(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.file.write_text(desk.good.replace("turn.phase ==", "turn.phsae =="))
    assert not desk.later()
    assert "`oncemore check` says why" in caplog.text
    assert desk.watch.rules is desk.first
    assert desk.first.trouble is not None
    assert desk.first.trouble.startswith("R001")
    desk.file.write_text(desk.good)
    desk.later()
    assert desk.watch.rules is desk.first
    assert desk.first.trouble is None


@pytest.mark.parametrize("place", ["another.yaml", "groups/another.yaml"])
@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder"])
def test_what_is_no_file_leaves_the_last_good_set_and_keeps_nobody_waiting(desk: Desk, place: str, kind: str) -> None:
    path = desk.file.parent / place
    make = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "loop": lambda: path.symlink_to(path),
        "folder": path.mkdir,
    }[kind]
    make()
    assert not desk.later()
    assert desk.watch.rules is desk.first
    path.rmdir() if kind == "folder" else path.unlink()
    desk.later()
    assert desk.watch.rules is desk.first
    assert desk.first.trouble is None


def test_a_folder_that_is_gone_leaves_the_last_good_set(desk: Desk) -> None:
    desk.file.unlink()
    assert not desk.later()
    assert desk.first.trouble is not None
    assert desk.first.trouble.startswith(NoPolicies.code)


def test_what_has_not_stood_still_is_not_taken(desk: Desk) -> None:
    # Without its last lines the file is whole YAML, and a policy with a gate less.
    half = desk.good[: desk.good.index("then:")]
    for text in (half, desk.good.replace("60s", "61s"), desk.good.replace("60s", "62s")):
        desk.file.write_text(text)
        desk.time += EVERY
        assert not desk.watch.look()
    assert desk.watch.rules is desk.first
    assert desk.first.trouble is None
    desk.time += STILL
    assert desk.watch.look()


def test_somebody_who_says_that_it_is_whole_is_believed(desk: Desk) -> None:
    desk.file.write_text(desk.good.replace("60s", "61s"))
    desk.watch.hurry()
    assert desk.watch.look()


def test_it_is_followed_whatever_else_is_done_meanwhile(desk: Desk) -> None:
    taken = threading.Event()
    desk.watch.told.append(lambda rules: taken.set())
    with desk.watch.followed(every=0.01):
        desk.file.write_text(desk.good.replace("60s", "61s"))
        desk.watch.hurry()
        assert taken.wait(60)
    assert desk.watch.rules is not desk.first
    assert all(thread.name != "policies" for thread in threading.enumerate())


def test_who_looks_while_another_does_is_not_kept_waiting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    loading, go_on = threading.Event(), threading.Event()

    def slow(paths: list[Path]) -> object:
        loading.set()
        assert go_on.wait(60)
        return load_policies(paths)

    monkeypatch.setattr("oncemore.engine.reloading.load_policies", slow)
    desk.file.write_text(desk.good.replace("60s", "61s"))
    desk.watch.hurry()
    other = threading.Thread(target=desk.watch.look)
    other.start()
    try:
        assert loading.wait(60)
        assert not desk.watch.look()
        assert desk.watch.rules is desk.first
    finally:
        go_on.set()
        other.join()
    assert desk.watch.rules is not desk.first


def test_the_same_content_under_another_time_is_no_edit(desk: Desk) -> None:
    desk.file.write_text(desk.good)
    assert not desk.later()
    assert desk.watch.rules is desk.first


def test_a_file_that_is_no_policy_is_no_edit(desk: Desk) -> None:
    (desk.file.parent / "continue-unfinished-work_test.yaml").write_text("policy: x\n")
    (desk.file.parent / ".#lock.yaml").write_text("x")
    assert not desk.later()


def test_an_engine_that_refuses_leaves_the_last_good_set(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = desk.file.parent / "module"
    stand_in.mkdir()
    text = "error = ValueError\ndef create_ruleset(name, text):\n    raise error('not this one')\n"
    (stand_in / "durable_rules_engine.py").write_text(text + "def __getattr__(name):\n    return None\n")
    monkeypatch.setenv("PYTHONPATH", str(stand_in))
    desk.file.write_text(desk.good.replace("60s", "61s"))
    assert not desk.later()
    assert desk.watch.rules is desk.first
    assert "continue-unfinished-work" in (desk.first.trouble or "")


def resident() -> int:
    """This process's memory, in KB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="its memory is read from /proc")
def test_what_is_no_longer_in_force_gives_its_memory_back_in_every_thread_that_used_it() -> None:
    policies = load_policies([shipped_policies() / FILE]).policies
    used: list[Evaluator] = []
    asked, done, memory = threading.Barrier(2), threading.Event(), []

    def other() -> None:
        while True:
            asked.wait()
            if done.is_set():
                return
            assert used[-1].ask("continue-unfinished-work", Case(0, {})).fault is None
            asked.wait()

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(30):
        used[:] = [Evaluator(policies)]
        assert used[-1].ask("continue-unfinished-work", Case(0, {})).fault is None
        asked.wait()
        asked.wait()
        memory.append(resident())
    done.set()
    asked.wait()
    thread.join()
    # One set in one thread is some 6 MB; kept, these would be hundreds.
    assert memory[-1] - memory[4] < 20_000
