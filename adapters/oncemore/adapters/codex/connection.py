"""How does one talk to one app-server process without ever waiting for ever, or granting it anything?

The wire is JSON-RPC without its version member, one message a line. Every request has a time limit; every request of
the server (approvals, questions, tool calls) is refused; fields and values that are not known here are kept. The
process gets an environment made of named variables alone, and its standard error goes to a file in its home.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oncemore.adapters import native_log
from oncemore.adapters.codex.binary import ADVICE
from oncemore.engine.errors import Refused, Uncertain, Unreadable

START_SECONDS = 20.0
"""For the first answer of a new process; a cold start from a slow disk takes seconds."""

REQUEST_SECONDS = 30.0
"""For any other answer. Reads take milliseconds, a page of a long history less than a second."""

CLOSE_SECONDS = 5.0
"""For the orderly end of a process whose input was closed; after that it is killed."""

LOG_NAME = native_log.CODEX
"""Bytes of old standard error that are kept when a process starts."""

Message = dict[str, Any]


class Denied(Refused):
    """The server answered a request with an error.

    Attributes:
        method: what was asked.
        message: the server's words. Its codes do not tell causes apart.
    """

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        self.method = method
        self.message = str(error.get("message", ""))
        super().__init__(f"codex refused {method}: {self.message}")


class Connection:
    """One app-server process of ours.

    Args:
        directory: its working folder, or `/proc/self/fd/N` of a folder that is open here.
        hear: called in the reading thread with each notification, and with None at the end of the stream.

    Raises:
        Unreadable: the program did not start or did not answer as an app-server.
    """

    def __init__(
        self,
        program: Path,
        home: Path,
        *,
        directory: str,
        environment: Mapping[str, str],
        overrides: Sequence[str] = (),
        start_seconds: float = START_SECONDS,
        request_seconds: float = REQUEST_SECONDS,
        hear: Callable[[Message | None], None] = lambda message: None,
    ) -> None:
        self.refused: list[str] = []
        self.garbage = 0
        self._seconds = request_seconds
        self._hear = hear
        self._writing = threading.Lock()
        self._answered = threading.Condition()
        self._answers: dict[int, Message] = {}
        self._waiting: set[int] = set()
        self._number = 0
        self._ended = False
        arguments = [str(program), "app-server", *(part for value in overrides for part in ("-c", value))]
        log = _open_log(home)
        try:
            # A session of its own: an interrupt typed at our terminal is ours to handle, not the server's.
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=directory,
                env=dict(environment),
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise Unreadable(f"the codex program {program} cannot be started: {error}. {ADVICE}") from error
        finally:
            os.close(log)
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._reader = threading.Thread(target=self._read, name=f"codex-{self.pid}", daemon=True)
        self._reader.start()
        try:
            client = {"name": "oncemore", "title": "Oncemore", "version": "0.1.0"}
            capabilities = {"experimentalApi": True, "requestAttestation": False}
            self.request("initialize", {"clientInfo": client, "capabilities": capabilities}, start_seconds)
            self._send({"method": "initialized"}, time.monotonic() + request_seconds)
        except (Refused, Uncertain) as error:
            self.close()
            raise Unreadable(f"{program} does not answer as a codex app-server ({error}). {ADVICE}") from error

    @property
    def pid(self) -> int:
        """The process id of the server, which is what holds native locks."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs and its stream is open."""
        return not self._ended and self._process.poll() is None

    def request(self, method: str, params: Mapping[str, Any], seconds: float | None = None) -> Message:
        """The server's result.

        Raises:
            Denied: it answered with an error.
            Uncertain: no answer within the time limit, or the process ended.
        """
        deadline = time.monotonic() + (self._seconds if seconds is None else seconds)
        with self._answered:
            self._number += 1
            number = self._number
            self._waiting.add(number)
        try:
            self._send({"id": number, "method": method, "params": params}, deadline)
            with self._answered:
                self._answered.wait_for(
                    lambda: number in self._answers or self._ended, max(0.0, deadline - time.monotonic())
                )
                answer = self._answers.pop(number, None)
        finally:
            with self._answered:
                self._waiting.discard(number)
        if answer is None:
            raise Uncertain(f"codex {'ended' if self._ended else 'gave no answer in time'} ({method})")
        if "error" in answer:
            raise Denied(method, answer["error"] if isinstance(answer["error"], dict) else {})
        result = answer.get("result")
        if not isinstance(result, dict):
            raise Uncertain(f"codex gave an answer without a result ({method})")
        return result

    def read(self, method: str, params: Mapping[str, Any]) -> Message:
        """The result of a request that changes nothing.

        Raises:
            Denied: the server answered with an error.
            Unreadable: no answer.
        """
        try:
            return self.request(method, params)
        except Uncertain as error:
            raise Unreadable(str(error)) from error

    def close(self) -> None:
        """End the process: close its input, then wait, then kill. Everything of it is closed afterwards."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._writing, contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader is not threading.current_thread():
            # A command that outlived the server may hold the pipe; the reader is then left to that command's end.
            self._reader.join(CLOSE_SECONDS)
        if not self._reader.is_alive():
            self._process.stdout.close()

    def _send(self, message: Message, deadline: float) -> None:
        data = memoryview((json.dumps(message, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass"))
        assert self._process.stdin is not None
        with self._writing:
            if self._process.stdin.closed:
                raise Uncertain("codex was closed")
            descriptor = self._process.stdin.fileno()
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            while data:
                if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    raise Uncertain("codex does not take its input")
                try:
                    data = data[os.write(descriptor, data) :]
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise Uncertain(f"codex is gone ({error.strerror})") from error

    def _read(self) -> None:
        assert self._process.stdout is not None
        with open(self._process.stdout.fileno(), "rb", closefd=False) as buffered:
            for line in buffered:
                self._take(line)
        with self._answered:
            self._ended = True
            self._answered.notify_all()
        self._hear(None)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self.garbage += 1  # its request, if it was an answer, runs into its time limit
        elif "method" in message and "id" in message:
            self._refuse(message)
        elif "method" in message:
            self._hear(message)
        else:
            with self._answered:
                if message.get("id") in self._waiting:
                    self._answers[message["id"]] = message
                    self._answered.notify_all()

    def _refuse(self, message: Message) -> None:
        method = str(message["method"])
        self.refused.append(method)
        answer: Message = {"error": {"code": -32601, "message": "refused: nobody is asked here"}}
        if method.endswith("/requestApproval"):
            answer = {"result": {"decision": "decline"}}
        elif method in ("execCommandApproval", "applyPatchApproval"):
            answer = {"result": {"decision": "denied"}}
        with contextlib.suppress(Uncertain):
            self._send({"id": message["id"], **answer}, time.monotonic() + self._seconds)


def environment(home: Path, *, path: str, passed_on: Sequence[str]) -> dict[str, str]:
    """The whole environment of a server: what it needs, and the variables that the operator named."""
    named = {name: os.environ[name] for name in passed_on if name in os.environ}
    zone = os.environ.get("TZ", "UTC")
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TZ": zone, **named, "CODEX_HOME": str(home)}


def _open_log(home: Path) -> int:
    try:
        return native_log.opened(home / LOG_NAME)
    except OSError as error:
        raise Unreadable(f"the codex home {home} cannot be written: {error.strerror}") from error
