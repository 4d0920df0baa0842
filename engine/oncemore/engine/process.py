"""Which process did something, and is it provably gone?"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Process:
    """A process by what no other process of any time shares.

    Attributes:
        host: host name.
        boot: the kernel's boot id; empty where the system has none.
        pid: process id.
        started: start time in clock ticks since boot; -1 where the system does not tell.
    """

    host: str
    boot: str
    pid: int
    started: int

    @classmethod
    def current(cls) -> Process:
        """This process."""
        return cls(socket.gethostname(), _boot(), os.getpid(), _started(os.getpid()))

    def gone(self) -> bool:
        """Whether it provably no longer exists: same host and boot, and no process of that id and start time.

        A process of another host or boot is never proven gone by looking here, except that a reboot of this very host
        ended everything that ran before it.
        """
        here = Process.current()
        if self.host != here.host or not self.boot or not here.boot or self.started < 0:
            return False
        if self.boot != here.boot:
            return True
        return _started(self.pid) != self.started


def callers_gone(intents: Iterable[Any], but: Process | None = None) -> bool:
    """Whether nobody can still be making the call that these intents were stored for: all who stored them have ended.

    Args:
        intents: rows of one call, each with its process in `host`, `boot`, `pid` and `pid_started`.
        but: a process that is known not to be calling.
    """
    callers = (Process(one.host, one.boot, one.pid, one.pid_started) for one in intents)
    return all(caller == but or caller.gone() for caller in callers)


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> int:
    """Field 22 of /proc/PID/stat; a zombie counts as gone, it does nothing any more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return -1
    fields = stat.rsplit(")", 1)[1].split()
    return -1 if fields[0] in ("Z", "X") else int(fields[19])
