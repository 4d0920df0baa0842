"""Which commands of a conversation live, and how are they ended? Asked of the kernel, not of the harness.

The harness forgets a command that it was about to start when it was told to halt, and one that left its shell; it then
says that nothing runs. So a command is known by what is handed down to it from the start of its harness: an open file
that lies nowhere and bears a name, and the same name in the environment, for programs that start others without their
open files. A process that has dropped both, or that runs as another user, is not seen. Only Linux tells.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")
VARIABLE = "ONCEMORE_HARNESS"
END_SECONDS = 8.0
PAUSE = 0.02

_FILE = "/memfd:"
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

    def __init__(self, cascade_id: str, start: str = "") -> None:
        """
        Args:
            start: tells one start of a harness from every other, in this program or in another one; empty for any.
        """
        self._start = start
        self._mark = f"{cascade_id}.{start}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a harness is started with, so that its commands are known."""
        return {VARIABLE: self._mark}

    @contextlib.contextmanager
    def descriptors(self) -> Iterator[tuple[int, ...]]:
        """The same, as open files to hand down."""
        if sys.platform != "linux":
            yield ()
            return
        descriptor = os.memfd_create(f"{VARIABLE}={self._mark}")
        try:
            yield (descriptor,)
        finally:
            os.close(descriptor)

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
            if told[0] in _OVER or not (self._by_environment(process) or self._by_files(process)):
                return None
        except OSError:
            return None  # it ended meanwhile, or is another user's
        return Command(pid, int(told[3]))

    def _by_environment(self, process: Path) -> bool:
        return any(map(self._is_mark, (process / "environ").read_bytes().decode(errors="replace").split("\0")))

    def _by_files(self, process: Path) -> bool:
        for opened in (process / "fd").iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                path = str(opened.readlink())
                if path.startswith(_FILE) and self._is_mark(path.removeprefix(_FILE).removesuffix(" (deleted)")):
                    return True
        return False

    def _is_mark(self, told: str) -> bool:
        wanted = f"{VARIABLE}={self._mark}"
        return told == wanted if self._start else told.startswith(wanted)
