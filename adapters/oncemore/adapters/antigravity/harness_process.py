"""How is one harness process started, spoken to, and ended?

The program of Google's SDK takes one message on its standard input (where to store, where to listen), gives one on its
standard output (port and key), and speaks JSON over a websocket on the loopback from then on. The conversation's lock
and a mark are handed down to it, and with it to the commands that it starts.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncemore.adapters import native_log
from oncemore.adapters.antigravity.commands import Command, Commands
from oncemore.adapters.antigravity.protobuf import Message, text
from oncemore.engine.errors import Uncertain, Unreadable
from oncemore.engine.ports import Workspace

DISTRIBUTION = "google-antigravity"
PROGRAM = "google/antigravity/bin/localharness"
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
START_SECONDS = 30.0
END_SECONDS = 8.0
_ANSWER_BYTES = 65_536

RESTING = "STATE_FULLY_IDLE"
RUNNING = "STATE_RUNNING"

SHELL = frozenset({"manageTask", "runCommand"})
"""The tools with which it starts commands."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How processes are started.

    Attributes:
        model, base_url: of a provider that speaks OpenAI's chat interface.
        search_path: PATH of the process; beside it, it gets HOME, LANG, TZ and the mark of `commands` only.
        start_seconds: time limit until it can be spoken to.
    """

    program: Path
    model: str
    base_url: str
    search_path: str = SEARCH_PATH
    start_seconds: float = START_SECONDS


def find(configured: Path | None = None) -> Path:
    """The program: the configured path, else the one in the wheel, found without importing the package.

    Raises:
        Unreadable: nothing executable is there.
    """
    path = configured
    if path is None:
        try:
            path = Path(str(importlib.metadata.distribution(DISTRIBUTION).locate_file(PROGRAM)))
        except importlib.metadata.PackageNotFoundError:
            raise Unreadable(f"no harness: the package {DISTRIBUTION} is not installed") from None
    if not path.is_file() or not os.access(path, os.X_OK):
        raise Unreadable(f"no harness: {path} is not an executable file")
    return path


class HarnessProcess:
    """A running harness with one conversation loaded.

    Attributes:
        workspace: the folder that it works in, without its descriptor.
        tools: names of the tools that it was given.
        cascade_id: of the conversation.
        commands: those that it started.
    """

    def __init__(
        self, settings: Settings, home: Path, workspace: Workspace, tools: frozenset[str], cascade_id: str, lock: int
    ) -> None:
        """Start it and load the conversation, or begin it under this id.

        Raises:
            Unreadable: it did not start, or loaded another conversation.
        """
        self.workspace = Workspace(workspace.path, workspace.device, workspace.inode)
        self.tools = tools
        self.cascade_id = cascade_id
        self.commands = Commands(cascade_id, os.urandom(8).hex())
        self._changed = threading.Condition()
        self._state = RESTING
        self._gone = False
        self._spent = False
        self._ended = threading.Lock()
        self._process = self._started(settings, home, workspace, lock, self.commands)
        self._open = contextlib.ExitStack()
        self._socket: Any = None
        self._listener: threading.Thread | None = None
        try:
            self._connect(settings, home)
            self._listener = threading.Thread(target=self._listen, name="harness", daemon=True)
            self._listener.start()
        except BaseException as error:
            self.end()
            if isinstance(error, Unreadable) or not isinstance(error, Exception):
                raise
            raise Unreadable(f"the harness did not start: {type(error).__name__}: {error}") from error

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs and can be spoken to."""
        with self._changed:
            return not self._gone and self._process.poll() is None

    @property
    def spent(self) -> bool:
        """Whether a turn of it failed: it then hangs up by itself, a little later."""
        with self._changed:
            return self._spent

    @property
    def state(self) -> str:
        """What it last said that the conversation does."""
        with self._changed:
            return self._state

    def living(self) -> tuple[Command, ...] | None:
        """The commands of it that live; none without a shell, and None where the kernel does not tell."""
        return self.commands.living(self.pid) if SHELL & self.tools else ()

    @staticmethod
    def _started(
        settings: Settings, home: Path, workspace: Workspace, lock: int, commands: Commands
    ) -> subprocess.Popen[bytes]:
        # The descriptor is the folder that was checked; by its path another one might be found now.
        directory = f"/proc/self/fd/{workspace.descriptor}" if workspace.descriptor >= 0 else workspace.path
        log = native_log.opened(home / native_log.HARNESS)
        own = {"PATH": settings.search_path, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
        try:
            with commands.descriptors() as marks:
                return subprocess.Popen(
                    [settings.program],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=directory,
                    env={**own, **commands.environment},
                    pass_fds=(lock, *marks),
                )
        except OSError as error:
            raise Unreadable(f"the harness did not start: {error.strerror}") from None
        finally:
            os.close(log)

    def _connect(self, settings: Settings, home: Path) -> None:
        from websockets.sync.client import connect

        with _time_limit(self._process, settings.start_seconds):
            port, key = self._greet(home)
        opened = connect(
            f"ws://127.0.0.1:{port}/",
            additional_headers={"x-goog-api-key": key},
            max_size=None,
            proxy=None,
            open_timeout=settings.start_seconds,
        )
        self._socket = self._open.enter_context(opened)
        self._socket.send(json.dumps({"config": self._configuration(settings, home)}))
        answer = json.loads(self._socket.recv(timeout=settings.start_seconds))
        named = answer.get("initializeConversationResponse", {}).get("cascadeId")
        if named != self.cascade_id:
            raise Unreadable("the harness loaded another conversation than the one asked for")

    def _greet(self, home: Path) -> tuple[int, str]:
        reader, writer = self._process.stdout, self._process.stdin
        assert reader is not None and writer is not None
        asked = text(1, str(home / "save")) + text(3, "127.0.0.1")
        writer.write(struct.pack("<I", len(asked)) + asked)
        writer.flush()
        (length,) = struct.unpack("<I", reader.read(4))
        if length > _ANSWER_BYTES:
            raise Unreadable("the harness did not answer as one")
        answer = Message(reader.read(length))
        return answer.number(1), answer.text(2)

    def _configuration(self, settings: Settings, home: Path) -> Mapping[str, Any]:
        return {
            "cascadeId": self.cascade_id,
            "harnessSideTools": {name: {"enabled": True} for name in sorted(self.tools)},
            "workspaces": [{"filesystemWorkspace": {"directory": self.workspace.path}}],
            "appDataDir": str(home / "app"),
            "agentBehavior": "AGENT_BEHAVIOR_AUTONOMOUS",
            "policyConfig": {"workspaceContainment": "WORKSPACE_CONTAINMENT_ENABLED"},
            "models": [
                {
                    "name": settings.model,
                    "types": ["MODEL_TYPE_TEXT"],
                    "gemmaEndpoint": {"baseUrl": settings.base_url},
                }
            ],
            "sessionContinuationMode": "CREATE_OR_RESUME",
        }

    def _listen(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                self._hear(json.loads(self._socket.recv()))
        except (ConnectionClosed, OSError, ValueError):
            with self._changed:
                self._gone = True
                self._changed.notify_all()

    def _hear(self, event: Mapping[str, Any]) -> None:
        asked = event.get("policyDecisionRequest")
        if isinstance(asked, dict):
            refused = {"requestId": asked.get("requestId"), "outcome": "POLICY_EVALUATION_OUTCOME_DENY"}
            self._socket.send(json.dumps({"policyDecisionResponse": refused}))
        told = event.get("trajectoryStateUpdate")
        if isinstance(told, dict) and told.get("trajectoryId") == self.cascade_id:
            with self._changed:
                self._state = str(told.get("state"))
                self._spent = self._spent or bool(told.get("error"))
                self._changed.notify_all()

    def say(self, text: str) -> None:
        """Begin a turn. Raises `Uncertain`: the process ended, and the text may have arrived."""
        with self._changed:
            self._state = RUNNING
        self._send({"userInput": {"parts": [{"text": text}]}})

    def halt(self) -> None:
        """Stop what runs. Raises `Uncertain`: the process ended."""
        self._send({"haltRequest": True})

    def _send(self, event: Mapping[str, Any]) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            self._socket.send(json.dumps(event))
        except (ConnectionClosed, OSError) as error:
            raise Uncertain(f"the harness cannot be spoken to any more: {type(error).__name__}") from None

    def wait(self, holds: Callable[[], bool], seconds: float, pause: float) -> bool:
        """Wait until something holds, looked at whenever the process says something, and each so many seconds."""
        deadline = time.monotonic() + seconds
        while not holds():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait(min(left, pause))
        return True

    def end(self) -> None:
        """End the process, whatever runs in it. Commands of it may go on: then its lock stays held."""
        with self._ended:
            with contextlib.suppress(Exception):
                self._open.close()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            for stop in (self._process.terminate, self._process.kill):
                try:
                    self._process.wait(END_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    stop()
            self._process.wait()
            with self._changed:
                self._gone = True
                self._changed.notify_all()
        if self._listener is not None and threading.current_thread() is not self._listener:
            self._listener.join(END_SECONDS)


@contextlib.contextmanager
def _time_limit(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """A pipe has no time limit of its own: the process is killed, and reading its answer ends."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
