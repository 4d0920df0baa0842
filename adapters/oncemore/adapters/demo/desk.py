"""How does the Antigravity runtime run without a desktop? It talks to a small language server on the loopback.

It keeps conversations, answers the few methods that the runtime asks for in the same JSON as the desktop's (zero, empty
and false fields are absent), refuses a wrong token, and counts every call. How a conversation goes on is scripted, look
by look; the last look stays. A person at the desktop can stop a conversation, or clear what stands in it.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypeAlias

from oncemore.adapters.demo.loopback import LoopbackServer

SERVICE = "/exa.language_server_pb.LanguageServerService/"
EPOCH = "2026-11-30T12:00:{second:02d}.123456789Z"
RAW: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = tuple[int, dict[str, Any]]
"""Status and content."""

_ACTIVE = ("PENDING", "RUNNING", "GENERATING", "WAITING", "QUEUED")

METHODS: Mapping[str, frozenset[str]] = {
    "SendUserCascadeMessage": frozenset({"cascadeId", "items", "cascadeConfig", "tags", "deliveryStrategy"}),
    "CancelCascadeInvocation": frozenset({"cascadeId", "killBackgroundTasks"}),
    "GetCascadeTrajectory": frozenset({"cascadeId", "verbosity"}),
    "GetCascadeTrajectorySteps": frozenset({"cascadeId", "stepOffset", "verbosity"}),
}
"""What is asked about one conversation, and with which fields; a field that the protocol lacks is an error."""


def at(second: int) -> str:
    """A time in the minute that steps without a clock are of."""
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
    """

    steps: Sequence[RAW] = ()
    run: str = "IDLE"
    executors: Sequence[tuple[str, int]] = ()


@dataclass
class Cascade:
    """One conversation.

    Attributes:
        waiting: inputs that are no steps yet, each with the number of readings until it is one.
    """

    folder: str
    looks: list[Look] = field(default_factory=list)
    waiting: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    sent: int = 0
    read: bool = False


class Desk:
    """A language server of one workspace folder; use it as a context manager.

    Args:
        clock: milliseconds since the epoch, for the times of what is sent; without one they are those of the steps.

    Attributes:
        token: what a caller must bear; may be changed, as by a restart.
        sends: the bodies of the messages that were taken in, in order.
        cancels: the bodies of the cancellations that were asked for and carried out.
        calls: how often each method was asked, refused calls too.
    """

    look: ClassVar[type[Look]] = Look

    def __init__(self, folder: Path, token: str, clock: Callable[[], int] | None = None) -> None:
        self.token = token
        self.sends: list[dict[str, Any]] = []
        self.cancels: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.folder = folder
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self._clock = clock
        self._following: list[tuple[Look, ...]] = []
        self._cascades: dict[str, Cascade] = {}
        self._server = LoopbackServer(("127.0.0.1", 0), type("BoundHandler", (self.handler(),), {"desk": self}))
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

    @classmethod
    def handler(cls) -> type[Handler]:
        """What answers one connection."""
        return Handler

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
            self._cascades[name] = Cascade((folder or self.folder).as_uri(), [self.look()])
            return name

    def after_send(self, *looks: Look) -> None:
        """What follows the next message that has no following yet: the steps of each look come behind it, in its
        execution and at its time, each look for the two readings that a client makes of it."""
        with self.lock:
            self._following.append(looks)

    def stop_here(self, cascade: str | None = None) -> None:
        """A person presses stop at the desktop: what runs in the conversation, the newest by default, is cancelled."""
        with self.lock:
            self._stop(self._cascades[cascade or self.cascades[-1]])

    def clear_here(self, cascade: str | None = None) -> None:
        """The desktop clears away the state of everything that was answered in the conversation; texts stay."""
        with self.lock:
            one = self._cascades[cascade or self.cascades[-1]]
            look = one.looks[-1]
            answered = [raw if _kind(raw) == "USER_INPUT" else _in_state(raw, "CLEARED") for raw in look.steps]
            one.looks = [replace(look, steps=answered)]

    def noted(self, method: str) -> None:
        """A call came in."""
        with self.lock:
            self.calls[method] += 1

    def answer(self, method: str, body: dict[str, Any]) -> Answer:
        """What is answered to a call whose token is right."""
        with self.lock:
            name = str(body.get("cascadeId", ""))
            if method == "StartCascade":
                return 200, {"cascadeId": self.begin()}
            if method == "GetAllCascadeTrajectories":
                return 200, self._summaries()
            if method not in METHODS:
                return 404, {"code": "unimplemented", "message": "no such method"}
            if name not in self._cascades:
                return 404, {"code": "not_found", "message": "trajectory not found"}
            if not set(body) <= METHODS[method]:
                return 500, {"code": "internal", "message": "unknown field"}
            one = self._cascades[name]
            match method:
                case "SendUserCascadeMessage":
                    self._take_in(one, body)
                    return 200, {}
                case "CancelCascadeInvocation":
                    self._cancel(one, body)
                    return 200, {}
                case "GetCascadeTrajectorySteps":
                    return 200, self._steps(one.looks[0], int(body.get("stepOffset", 0)))
                case _:
                    return 200, self._trajectory(name, one)

    def _summaries(self) -> dict[str, Any]:
        if not self._cascades:
            return {}
        about = {
            name: {"workspaces": [{"workspaceFolderAbsoluteUri": one.folder}]} for name, one in self._cascades.items()
        }
        return {"trajectorySummaries": about}

    def _take_in(self, one: Cascade, body: dict[str, Any]) -> None:
        self.sends.append(body)
        one.sent += 1
        one.waiting.append((0, self._input(one, body)))

    def _input(self, one: Cascade, body: dict[str, Any]) -> dict[str, Any]:
        tags = [str(tag) for tag in body.get("tags", [])]
        return self._stamped(asked("".join(item.get("text", "") for item in body["items"]), *tags), f"sent-{one.sent}")

    def _stamped(self, raw: RAW, execution: str) -> dict[str, Any]:
        about = {**raw["metadata"], "executionId": execution}
        if self._clock is not None:
            now = datetime.fromtimestamp(self._clock() / 1000, UTC).isoformat(timespec="milliseconds")
            about |= dict.fromkeys(("createdAt", "completedAt"), now.replace("+00:00", "Z"))
        return {**raw, "metadata": about}

    def _go_on(self, one: Cascade, arrived: list[dict[str, Any]]) -> None:
        steps, executors = [*one.looks[-1].steps, *arrived], one.looks[-1].executors
        following = self._following.pop(0) if self._following else (self.look(run="RUNNING"),)
        one.looks = []
        for look in following:
            behind = [self._stamped(raw, arrived[-1]["metadata"]["executionId"]) for raw in look.steps]
            ended = [*executors, *((reason, len(steps) + last) for reason, last in look.executors)]
            one.looks += [replace(look, steps=[*steps, *behind], executors=ended)] * 2

    def _cancel(self, one: Cascade, body: dict[str, Any]) -> None:
        self.cancels.append(body)
        self._stop(one)

    def _stop(self, one: Cascade) -> None:
        look = one.looks[-1]
        steps = [_in_state(raw, "CANCELED") if _state(raw) in _ACTIVE else dict(raw) for raw in look.steps]
        one.looks = [self.look(steps, "IDLE", [*look.executors, ("USER_CANCELED", max(0, len(steps) - 1))])]

    def _trajectory(self, name: str, one: Cascade) -> dict[str, Any]:
        arrived = [raw for left, raw in one.waiting if left <= 0]
        one.waiting = [(left - 1, raw) for left, raw in one.waiting if left > 0]
        if arrived:
            self._go_on(one, arrived)
        elif len(one.looks) > 1 and one.read:
            one.looks.pop(0)
        one.read = True
        return self._read(name, one.looks[0])

    def _read(self, name: str, look: Look) -> dict[str, Any]:
        trajectory: dict[str, Any] = {"trajectoryId": f"inner-{name}", "cascadeId": name, **self._steps(look, 0)}
        if look.executors:
            trajectory["executorMetadatas"] = [_executor(reason, last) for reason, last in look.executors]
        answer: dict[str, Any] = {"trajectory": trajectory}
        if look.run:
            answer["status"] = f"CASCADE_RUN_STATUS_{look.run}"
        return {**answer, "numTotalSteps": len(look.steps)} if look.steps else answer

    def _steps(self, look: Look, offset: int) -> dict[str, Any]:
        listed = [placed(raw, place) for place, raw in enumerate(look.steps)][offset:]
        return {"steps": listed} if listed else {}


def placed(raw: RAW, place: int) -> dict[str, Any]:
    """A step at its place in a conversation."""
    about = dict(raw.get("metadata", {}))
    told = about.pop("place", place)
    if told is not False:
        # An index of zero is absent, like every zero.
        about["sourceTrajectoryStepInfo"] = {"stepIndex": told} if told else {}
    return {**raw, "metadata": about}


def _executor(reason: str, last: int) -> dict[str, Any]:
    ended: dict[str, Any] = {"terminationReason": f"EXECUTOR_TERMINATION_REASON_{reason}"}
    return {**ended, "lastStepIdx": last} if last else ended


def _kind(raw: RAW) -> str:
    return str(raw.get("type", "")).removeprefix("CORTEX_STEP_TYPE_")


def _state(raw: RAW) -> str:
    return str(raw.get("status", "")).removeprefix("CORTEX_STEP_STATUS_")


def _in_state(raw: RAW, state: str) -> dict[str, Any]:
    return {**raw, "status": f"CORTEX_STEP_STATUS_{state}"}


class Handler(BaseHTTPRequestHandler):
    """One connection to the desk."""

    desk: Desk
    protocol_version = "HTTP/1.1"
    timeout = 5.0

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the counters are the log."""

    def do_POST(self) -> None:
        """Count the call, check its token, and answer."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        method = self.path.removeprefix(SERVICE)
        self.desk.noted(method)
        if self.headers.get("x-codeium-csrf-token") != self.desk.token:
            self._json(401, {"code": "unauthenticated", "message": "missing or wrong CSRF token"})
            return
        self.reply(method, body)

    def reply(self, method: str, body: dict[str, Any]) -> None:
        """Answer a call whose token is right."""
        self._json(*self.desk.answer(method, body))

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
