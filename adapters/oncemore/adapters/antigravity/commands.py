"""Which commands of a conversation live, and how are they ended? Asked of the kernel, not of the harness.

The harness forgets a command that it was about to start when it was told to halt, and one that left its shell; it then
says that nothing runs. So a command is known by what was handed down to it when it was started: the conversation's
open lock file (`lock`), and a mark in its environment, for programs that start others without their open files. A
process that has dropped both, or that another user runs and that dropped the file, is not seen. Only Linux tells.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oncemore.adapters.antigravity.lock import Lock

PROCESSES = Path("/proc")
VARIABLE = "ONCEMORE_HARNESS"
END_SECONDS = 8.0
PAUSE = 0.02

_HELD = re.compile(r"^lock:\s+\d+: FLOCK +ADVISORY +WRITE +(\d+) ", re.MULTILINE)
_OVER = frozenset("ZX")


@dataclass(frozen=True, slots=True)
class Command:
    """A process that lives.

    Attributes:
        session: the kernel's session that it is in. The harness begins one for each command.
    """

    pid: int
    session: int


class Commands:
    """The commands of one conversation: of any harness that ever had it loaded, or of one start of one alone."""

    def __init__(self, home: Path, cascade_id: str, start: str = "") -> None:
        """
        Args:
            start: tells one start of a harness from every other, in this program or in another one; empty for any.
        """
        self._path = str(Lock(home, cascade_id).path.resolve())
        self._start = start
        self._mark = f"{cascade_id}.{start}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a harness is started with, so that its commands are known."""
        return {VARIABLE: self._mark}

    def living(self, harness: int | None = None) -> tuple[Command, ...] | None:
        """The processes that live, without the harness itself; None where the kernel does not tell."""
        if sys.platform != "linux":
            return None
        try:
            names = [process.name for process in PROCESSES.iterdir()]
        except OSError:
            return None
        asked = (int(name) for name in names if name.isdecimal())
        found = (self._look(pid) for pid in asked if pid not in (harness, os.getpid()))
        return tuple(command for command in found if command is not None)

    def end(self, which: Callable[[Command], bool], harness: int | None = None) -> bool | None:
        """End some of them, and those that they start meanwhile; whether none of them lives any more.

        Returns:
            None where the kernel does not tell what lives: nothing was ended then.
        """
        deadline = time.monotonic() + END_SECONDS
        while (living := self.living(harness)) is not None:
            mine = [command for command in living if which(command)]
            if not mine or time.monotonic() > deadline:
                return not mine
            for command in mine:
                self._kill(command)
            time.sleep(PAUSE)
        return None

    def _kill(self, command: Command) -> None:
        """A process id may belong to somebody else by now; the handle stays with the process that was looked at."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(command.pid)
            try:
                if self._look(command.pid) == command:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)

    def _look(self, pid: int) -> Command | None:
        """The process if it is one of them and lives."""
        process = PROCESSES / str(pid)
        try:
            told = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if told[0] in _OVER or not (self._bears_mark(process) or self._holds_lock(process)):
                return None
        except OSError:
            return None  # it ended meanwhile, or is another user's
        return Command(pid, int(told[3]))

    def _bears_mark(self, process: Path) -> bool:
        wanted = f"{VARIABLE}={self._mark}".encode()
        told = (process / "environ").read_bytes().split(b"\0")
        return wanted in told if self._start else any(one.startswith(wanted) for one in told)

    def _holds_lock(self, process: Path) -> bool:
        """Whether it has the file open under the lock: handed down, since nobody else can open it so."""
        for opened in (process / "fd").iterdir():
            try:
                if str(opened.readlink()).removesuffix(" (deleted)") != self._path:
                    continue
                held = _HELD.search((process / "fdinfo" / opened.name).read_text())
            except OSError:
                continue  # closed meanwhile
            if held is not None and (not self._start or int(held[1]) == os.getpid()):
                return True
        return False
