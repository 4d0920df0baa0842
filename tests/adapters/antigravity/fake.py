"""What do tests ask instead of the desktop language server? A fake on the loopback that speaks its protocol.

It keeps conversations, answers the same methods in the same JSON (zero, empty and false fields are absent), refuses a
wrong token, and counts every call. How a conversation reads is scripted, look by look; the last look stays. Messages
that are sent become steps of their own accord, unless a fault says otherwise.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SERVICE = "/exa.language_server_pb.LanguageServerService/"
EPOCH = "2026-11-30T12:00:{second:02d}.123456789Z"
RAW = Mapping[str, Any]


def at(second: int) -> str:
    """A time in the conversation's minute."""
    return EPOCH.format(second=second)


def step(
    kind: str,
    state: str = "DONE",
    *,
    execution: str = "sent-1",
    second: int = 1,
    place: int | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A step as the server gives it; its place is told once it stands in a conversation."""
    about: dict[str, Any] = {"createdAt": at(second), "completedAt": at(second + 1), "executionId": execution}
    about |= fields.pop("metadata", {})
    if place is not None:
        about["place"] = place
    return {"type": f"CORTEX_STEP_TYPE_{kind}", "status": f"CORTEX_STEP_STATUS_{state}", "metadata": about, **fields}


def asked(text: str, *tags: str, **options: Any) -> dict[str, Any]:
    """A user's input."""
    said = {"items": [{"text": text}], **({"tags": list(tags)} if tags else {})}
    return step("USER_INPUT", userInput=said, **options)


def planned(response: str = "", state: str = "DONE", *, calls: Sequence[str] = (), **options: Any) -> dict[str, Any]:
    """What the planner shows, thinks and calls."""
    stop = options.pop("stop", "STOP_PATTERN")
    said: dict[str, Any] = {"thinking": options.pop("thinking", "a thought that stays inside")}
    said |= {"response": response} if response else {}
    said |= (
        {"toolCalls": [{"id": call, "name": "run_command", "argumentsJson": "{}"} for call in calls]} if calls else {}
    )
    said |= {"stopReason": f"STOP_REASON_{stop}"} if stop else {}
    return step("PLANNER_RESPONSE", state, plannerResponse=said, **options)


def command(call: str = "call-1", state: str = "DONE", exit_code: int = 0, **options: Any) -> dict[str, Any]:
    """A command that the planner called for."""
    run = {"commandLine": "make", "cwd": "/", **({"exitCode": exit_code} if exit_code else {})}
    return step(
        "RUN_COMMAND", state, runCommand=run, metadata={"toolCall": {"id": call, "name": "run_command"}}, **options
    )


@dataclass(frozen=True)
class Look:
    """How a conversation reads.

    Attributes:
        run: the run status without its prefix; empty leaves it out.
        executors: reason and last step of the executors that ended.
        total: the number of steps that is told; None tells the true one.
        page: how many steps one answer holds.
        repeats: an offset is not heeded: the first page comes again.
        refuses_pages: nothing comes behind the first page.
        describes: the id of another conversation that is described instead.
    """

    steps: Sequence[RAW] = ()
    run: str = "IDLE"
    executors: Sequence[tuple[str, int]] = ()
    total: int | str | None = None
    page: int = 10_000
    repeats: bool = False
    refuses_pages: bool = False
    describes: str | None = None


@dataclass
class Faults:
    """What goes wrong, each so many times.

    Attributes:
        broken: answers of 500 to any method, before anything is done.
        reset_after_send: a message is taken in and the connection is reset.
        send_lost: a message is answered, and never becomes a step.
        send_twice: a message becomes two steps.
        late: a message becomes a step only after so many readings.
        reset_after_cancel: a cancellation is carried out and the connection is reset.
        cancel_ignored: a cancellation is answered and changes nothing.
        unlisted: readings of the list of conversations in which a new one is missing.
        slow: seconds before any answer.
    """

    broken: int = 0
    reset_after_send: int = 0
    send_lost: int = 0
    send_twice: int = 0
    late: int = 0
    reset_after_cancel: int = 0
    cancel_ignored: int = 0
    unlisted: int = 0
    slow: float = 0.0

    def take(self, name: str) -> bool:
        """Use one up."""
        left = getattr(self, name)
        setattr(self, name, max(0, left - 1))
        return bool(left)


@dataclass
class Cascade:
    """One conversation."""

    folder: str
    looks: list[Look] = field(default_factory=lambda: [Look()])
    waiting: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    sent: int = 0
    read: bool = False


class FakeLanguageServer:
    """A language server of one workspace folder; use it as a context manager.

    Args:
        clock: milliseconds since the epoch, for the times of what is sent; without one they are of the fake's minute.

    Attributes:
        token: what a caller must bear; may be changed, as by a restart.
        faults: what goes wrong.
        sends: the bodies of the messages that were taken in, in order.
        cancels: the bodies of the cancellations that were carried out.
        more_folders: folders that every conversation works in besides.
        calls: how often each method was asked, refused calls too.
    """

    def __init__(
        self, folder: Path, token: str = "a-token-that-nobody-must-see", clock: Callable[[], int] | None = None
    ) -> None:
        self.token = token
        self.faults = Faults()
        self.sends: list[dict[str, Any]] = []
        self.cancels: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.folder = folder
        self.more_folders: list[Path] = []
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self._clock = clock
        self._following: list[tuple[Look, ...]] = []
        self._cascades: dict[str, Cascade] = {}
        handler = type("BoundHandler", (_Handler,), {"fake": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="language-server")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def starts(self) -> int:
        """How many conversations were begun by a call."""
        return self.calls["StartCascade"]

    @property
    def cascades(self) -> tuple[str, ...]:
        """The ids of its conversations, oldest first."""
        return tuple(self._cascades)

    def begin(self, folder: Path | None = None) -> str:
        """Begin a conversation; its id."""
        with self.lock:
            name = f"cascade-{len(self._cascades) + 1}"
            self._cascades[name] = Cascade((folder or self.folder).as_uri())
            return name

    def script(self, *looks: Look, cascade: str | None = None) -> None:
        """How a conversation reads from now on, one look after the other; the last one stays.

        A reading by `GetCascadeTrajectory` uses up one look. The newest conversation is meant unless one is named;
        where there is none, it is begun.
        """
        with self.lock:
            name = cascade or (self.cascades[-1] if self._cascades else self.begin())
            self._cascades[name].looks = list(looks)
            self._cascades[name].read = False

    def twice(self, *looks: Look, cascade: str | None = None) -> None:
        """As `script`, each look for the two readings that a client makes of it."""
        self.script(*(look for look in looks for _ in range(2)), cascade=cascade)

    def after_send(self, *looks: Look) -> None:
        """What follows the next message that has no following yet: the steps of each look come behind it, in its
        execution and at its time, each look for the two readings that a client makes of it."""
        with self.lock:
            self._following.append(looks)

    def answer(self, method: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], bool]:
        """Status and content of an answer, and whether the connection is reset instead of giving it."""
        with self.lock:
            if self.faults.take("broken"):
                return 500, {"code": "internal", "message": f"broken near {self.token}"}, False
            name = str(body.get("cascadeId", ""))
            if method == "StartCascade":
                return 200, {"cascadeId": self.begin()}, False
            if method == "GetAllCascadeTrajectories":
                return 200, self._summaries(), False
            if method not in _METHODS:
                return 404, {"code": "unimplemented", "message": "no such method"}, False
            if name not in self._cascades:
                return 404, {"code": "not_found", "message": "trajectory not found"}, False
            if not set(body) <= _METHODS[method]:
                return 500, {"code": "internal", "message": "unknown field"}, False
            one = self._cascades[name]
            if method == "SendUserCascadeMessage":
                return 200, {}, self._take_in(one, body)
            if method == "CancelCascadeInvocation":
                return 200, {}, self._cancel(one, body)
            if method == "GetCascadeTrajectorySteps":
                return 200, _steps(one.looks[0], int(body.get("stepOffset", 0))), False
            return 200, self._trajectory(name, one), False

    def _summaries(self) -> dict[str, Any]:
        if self.faults.take("unlisted") or not self._cascades:
            return {}
        more = [{"workspaceFolderAbsoluteUri": folder.as_uri()} for folder in self.more_folders]
        about = {
            name: {"workspaces": [{"workspaceFolderAbsoluteUri": one.folder}, *more]}
            for name, one in self._cascades.items()
        }
        return {"trajectorySummaries": about}

    def _take_in(self, one: Cascade, body: dict[str, Any]) -> bool:
        self.sends.append(body)
        one.sent += 1
        tags = [str(tag) for tag in body.get("tags", [])]
        text = "".join(item.get("text", "") for item in body["items"])
        for _ in range(0 if self.faults.take("send_lost") else 2 if self.faults.take("send_twice") else 1):
            one.waiting.append((self.faults.late, self._stamped(asked(text, *tags), f"sent-{one.sent}")))
        return self.faults.take("reset_after_send")

    def _stamped(self, raw: RAW, execution: str) -> dict[str, Any]:
        about = {**raw["metadata"], "executionId": execution}
        if self._clock is not None:
            now = datetime.fromtimestamp(self._clock() / 1000, UTC).isoformat(timespec="milliseconds")
            about |= dict.fromkeys(("createdAt", "completedAt"), now.replace("+00:00", "Z"))
        return {**raw, "metadata": about}

    def _go_on(self, one: Cascade, arrived: list[dict[str, Any]]) -> None:
        steps, executors = [*one.looks[-1].steps, *arrived], one.looks[-1].executors
        following = self._following.pop(0) if self._following else (Look(run="RUNNING"),)
        one.looks = []
        for look in following:
            behind = [self._stamped(raw, arrived[-1]["metadata"]["executionId"]) for raw in look.steps]
            ended = [*executors, *((reason, len(steps) + last) for reason, last in look.executors)]
            one.looks += [replace(look, steps=[*steps, *behind], executors=ended)] * 2

    def _cancel(self, one: Cascade, body: dict[str, Any]) -> bool:
        self.cancels.append(body)
        if not self.faults.take("cancel_ignored"):
            look = one.looks[-1]
            steps = [_canceled(raw) for raw in look.steps]
            one.looks = [Look(steps, "IDLE", [*look.executors, ("USER_CANCELED", max(0, len(steps) - 1))])]
        return self.faults.take("reset_after_cancel")

    def _trajectory(self, name: str, one: Cascade) -> dict[str, Any]:
        arrived = [raw for left, raw in one.waiting if left <= 0]
        one.waiting = [(left - 1, raw) for left, raw in one.waiting if left > 0]
        if arrived:
            self._go_on(one, arrived)
        elif len(one.looks) > 1 and one.read:
            one.looks.pop(0)
        one.read = True
        look = one.looks[0]
        total = len(look.steps) if look.total is None else look.total
        trajectory: dict[str, Any] = {
            "trajectoryId": f"inner-{name}",
            "cascadeId": look.describes or name,
            **_steps(look, 0, name),
        }
        if look.executors:
            trajectory["executorMetadatas"] = [_executor(reason, last) for reason, last in look.executors]
        answer: dict[str, Any] = {"trajectory": trajectory}
        if look.run:
            answer["status"] = f"CASCADE_RUN_STATUS_{look.run}"
        return {**answer, "numTotalSteps": total} if total else answer


_METHODS: Mapping[str, frozenset[str]] = {
    "SendUserCascadeMessage": frozenset({"cascadeId", "items", "cascadeConfig", "tags", "deliveryStrategy"}),
    "CancelCascadeInvocation": frozenset({"cascadeId", "killBackgroundTasks"}),
    "GetCascadeTrajectory": frozenset({"cascadeId", "verbosity"}),
    "GetCascadeTrajectorySteps": frozenset({"cascadeId", "stepOffset", "verbosity"}),
}


def _steps(look: Look, offset: int, cascade: str = "") -> dict[str, Any]:
    if offset and look.refuses_pages:
        return {}
    start = 0 if look.repeats else offset
    listed = [_placed(raw, place) for place, raw in enumerate(look.steps)][start : start + look.page]
    return {"steps": listed} if listed else {}


def _placed(raw: RAW, place: int) -> dict[str, Any]:
    about = dict(raw.get("metadata", {}))
    told = about.pop("place", place)
    if told is not False:
        # An index of zero is absent, like every zero.
        about["sourceTrajectoryStepInfo"] = {"stepIndex": told} if told else {}
    return {**raw, "metadata": about}


def _executor(reason: str, last: int) -> dict[str, Any]:
    ended: dict[str, Any] = {"terminationReason": f"EXECUTOR_TERMINATION_REASON_{reason}"}
    return {**ended, "lastStepIdx": last} if last else ended


def _canceled(raw: RAW) -> dict[str, Any]:
    active = ("PENDING", "RUNNING", "GENERATING", "WAITING", "QUEUED")
    running = str(raw.get("status", "")).removeprefix("CORTEX_STEP_STATUS_") in active
    return {**raw, "status": "CORTEX_STEP_STATUS_CANCELED"} if running else dict(raw)


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that left is no news."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeLanguageServer
    protocol_version = "HTTP/1.1"
    timeout = 5.0

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the counters are the log."""

    def do_POST(self) -> None:
        fake = self.fake
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        method = self.path.removeprefix(SERVICE)
        with fake.lock:
            fake.calls[method] += 1
        if fake.faults.slow:
            fake.closing.wait(fake.faults.slow)
        if self.headers.get("x-codeium-csrf-token") != fake.token:
            self._json(401, {"code": "unauthenticated", "message": "missing or wrong CSRF token"})
            return
        status, content, reset = fake.answer(method, body)
        if reset:
            # A lingering time of zero makes close() send a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        self._json(status, content)

    def _json(self, status: int, content: Mapping[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.close_connection = True
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            return
