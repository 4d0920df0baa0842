"""A worker as a process of its own, which stops at a crash point until it is killed.

It is forked from a server that has everything imported and the shipped policies published, so that it is there at
once. It works at each of some times of the clock until nothing is due, and says that it is done. At its crash point,
which counts at the last of them, it says so and waits there.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

from oncemore.adapters import wiring
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.worker import Worker
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

PATIENCE = 60.0
"""Seconds for a worker to come to its point or its end."""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["pytest", "tests.engine.executor.worker_preload"])
"""The first is what a fork takes for its main module."""


@cache
def shipped_rulebook() -> Rulebook:
    """The shipped policies, published once for all forks."""
    return Rulebook(load_policies([shipped_policies()]))


class WorkerProcess:
    """One worker, from its start.

    Args:
        offsets: how far the clock is put forward, milliseconds, at one time after the other.
        point, subject: the crash point, and the end of the id that it is about; none when the point is empty.
    """

    def __init__(self, file: Path, offsets: Sequence[int], point: str = "", subject: str = "") -> None:
        self._told, telling = _FORKS.Pipe()
        arguments = (telling, file, tuple(offsets), point, subject, dict(os.environ))
        self._process = _FORKS.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        telling.close()

    def said(self) -> str:
        """What it says next: `done`, `at` its point, or what went wrong."""
        assert self._told.poll(PATIENCE), "the worker says nothing"
        try:
            return str(self._told.recv())
        except EOFError:
            return "it ended without a word"

    def finish(self) -> None:
        """Let it go on from its point, and wait until it has done everything and is gone."""
        self._told.send("go on")
        told = self.said()
        self.join()
        assert told == "done", told

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """End it with SIGKILL, wherever it is, and wait until it is gone, and the programs that it had started.

        These end by themselves once nobody reads them any more, which takes them a moment on a busy machine; until
        then they hold their threads.
        """
        programs = []
        if self._process.is_alive():
            programs = _programs(self.pid)
            os.kill(self.pid, signal.SIGKILL)
        self.join()
        for program in programs:
            ended, _, _ = select.select([program], [], [], PATIENCE)
            os.close(program)
            assert ended, "a program outlives the worker that had started it"

    def join(self) -> None:
        """Wait until it is gone."""
        self._process.join()
        self._told.close()


def _programs(parent: int) -> list[int]:
    """A descriptor of each child of a process, which can be read once that child has ended."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(ValueError, OSError):
            _, _, told = (folder / "stat").read_text().rpartition(")")
            if int(told.split()[1]) == parent:
                found.append(os.pidfd_open(int(folder.name)))
    return found


def _work(
    told: Connection, file: Path, offsets: Sequence[int], point: str, subject: str, environment: dict[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    offset = offsets[0]

    def checkpoint(reached: CrashPoint, about: str) -> None:
        if offset == offsets[-1] and reached.value == point and about.endswith(subject):
            told.send(f"at {reached.value} {about}")
            _stand(told)

    try:
        with wiring.opened(file, clock=lambda: time.time_ns() // 1_000_000 + offset, worker=True) as house:
            own = house.configuration.policies is not None
            rulebook = wiring.rulebook(house.configuration) if own else shipped_rulebook()
            with Worker(wiring.context(house, rulebook, checkpoint)) as worker:
                for each in offsets:
                    offset = each
                    while worker.run_due():
                        pass
    except BaseException:
        told.send(traceback.format_exc())
        raise
    told.send("done")


def _stand(told: Connection) -> None:
    """Until it is killed, or told to go on."""
    try:
        told.recv()
    except EOFError:
        os._exit(1)  # whoever was to kill us is gone
