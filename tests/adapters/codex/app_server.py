"""What is a Codex app-server, as far as the tests of crashes need one? A program that answers like the real one.

It speaks the same JSON-RPC on its standard streams, keeps the same log and writer lock in the home, asks the model over
the same HTTP, and interrupts its turn when its owner leaves. What it tells is a part of what the real program tells,
value by value; a test holds the two against each other. It calls no tools and keeps no index, and it imports as little
as it can: a recovery starts dozens of them.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # the import of typing is as long as all the others
    from collections.abc import Callable
    from io import BufferedReader
    from typing import Any

    Told = dict[str, Any]
    Answer = Told | tuple[Told, Callable[[], None]]

PROGRAM = """#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
import app_server
app_server.main()
"""
SANDBOXES = {
    "read-only": {"type": "readOnly", "networkAccess": False},
    "workspace-write": {
        "type": "workspaceWrite",
        "writableRoots": [],
        "networkAccess": False,
        "excludeTmpdirEnvVar": True,
        "excludeSlashTmp": True,
    },
}
LIMIT = "You’ve hit your usage limit. Try again later."


def install(folder: object) -> str:
    """The path of the program, for the configuration's `binary`."""
    path = os.path.join(str(folder), "scripted-codex")
    with open(path, "w") as file:
        file.write(PROGRAM.format(python=sys.executable, folder=os.path.dirname(os.path.abspath(__file__))))
    os.chmod(path, 0o755)
    return path


class Refusal(Exception):
    """An error as the answer to a request."""


class Log:
    """A thread's log: one record a line, numbered without a gap."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def cwd(self) -> str:
        return str(self.records()[0]["payload"]["cwd"])

    def records(self) -> list[Told]:
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as lines:
            return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def add(self, kind: str, payload: Told) -> None:
        ordinal = len(self.records())
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        record = {"timestamp": stamp("%Y-%m-%dT%H:%M:%S.000Z"), "ordinal": ordinal, "type": kind, "payload": payload}
        with open(self.path, "ab") as file:
            file.write(json.dumps(record).encode() + b"\n")

    def event(self, name: str, **content: object) -> None:
        self.add("event_msg", {"type": name, **content})


class Thread:
    """A thread that this process has loaded, with its writer lock."""

    def __init__(self, home: str, thread_id: str, cwd: str, path: str) -> None:
        self.id, self.cwd, self.log = thread_id, cwd, Log(path)
        self.turn: Turn | None = None
        self.failed = False
        self.guard = threading.Lock()
        os.makedirs(os.path.join(home, "thread-writer-locks"), exist_ok=True)
        self.lock = os.path.join(home, "thread-writer-locks", f"{thread_id}.lock")
        self._held = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refusal(f"thread {thread_id} already has an active writer") from None

    @property
    def status(self) -> Told:
        if self.turn is not None:
            return {"type": "active", "activeFlags": []}
        return {"type": "systemError" if self.failed else "idle"}

    def let_go(self) -> None:
        os.unlink(self.lock)
        os.close(self._held)


class Server:
    """One process."""

    def __init__(self, home: str, overrides: list[str]) -> None:
        self.home, self.overrides = home, overrides
        self.loaded: dict[str, Thread] = {}
        self._saying = threading.Lock()

    def say(self, message: Told) -> None:
        with self._saying:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    def tell(self, method: str, **params: object) -> None:
        self.say({"method": method, "params": params})

    def hear(self, message: Told) -> None:
        """Answer a request; what follows an answer is done behind it."""
        method = getattr(self, "do_" + message["method"].replace("/", "_").lower(), None)
        try:
            if method is None:
                raise Refusal(f"not scripted: {message['method']}")
            result, then = method(message["params"]), None
        except Refusal as error:
            self.say({"id": message["id"], "error": {"code": -32600, "message": str(error)}})
            return
        if isinstance(result, tuple):
            result, then = result
        self.say({"id": message["id"], "result": result})
        if then is not None:
            then()

    def leave(self) -> None:
        """The owner left: what runs is interrupted, and the locks go."""
        for thread in self.loaded.values():
            if thread.turn is not None:
                thread.turn.end(aborted=True, told=False)
            thread.let_go()

    def config(self) -> Told:
        import tomllib

        with open(os.path.join(self.home, "config.toml"), "rb") as file:
            told = {"features": {}, "mcp_servers": {}, **tomllib.load(file)}
        for override in self.overrides:
            name, _, value = override.partition("=")
            *tables, last = name.split(".")
            table = told
            for key in tables:
                table = table.setdefault(key, {})
            table[last] = json.loads(value)
        return told

    def do_initialize(self, asked: Told) -> Answer:
        return {"codexHome": self.home, "platformFamily": "unix", "platformOs": "linux"}

    def do_config_read(self, asked: Told) -> Answer:
        return {"config": self.config()}

    def do_thread_start(self, asked: Told) -> Answer:
        thread_id = new_id()
        folder = os.path.join(self.home, "sessions", stamp("%Y/%m/%d"))
        path = os.path.join(folder, f"rollout-{stamp('%Y-%m-%dT%H-%M-%S')}-{thread_id}.jsonl")
        thread = self.loaded[thread_id] = Thread(self.home, thread_id, asked["cwd"], path)
        return self.entered(thread, asked), lambda: self.tell("thread/started", thread=about(thread))

    def do_thread_resume(self, asked: Told) -> Answer:
        thread_id = asked["threadId"]
        path = self.find(thread_id)
        if path is None:
            raise Refusal(f"no rollout found for thread id {thread_id}")
        cwd = asked.get("cwd", Log(path).cwd)
        thread = self.loaded[thread_id] = Thread(self.home, thread_id, cwd, path)
        return self.entered(thread, asked)

    def entered(self, thread: Thread, asked: Told) -> Told:
        sandbox = asked.get("sandbox", "read-only")
        told = dict(SANDBOXES[sandbox])
        if sandbox == "workspace-write":
            own = self.config().get("sandbox_workspace_write", {})
            told |= {"writableRoots": own.get("writable_roots", []), "networkAccess": own.get("network_access", False)}
        approval = asked.get("approvalPolicy", "never")
        return {"thread": about(thread), "cwd": thread.cwd, "approvalPolicy": approval, "sandbox": told}

    def do_thread_read(self, asked: Told) -> Answer:
        thread_id = asked["threadId"]
        if thread_id in self.loaded:
            return {"thread": about(self.loaded[thread_id])}
        path = self.find(thread_id)
        if path is None:
            raise Refusal(f"thread not loaded: {thread_id}")
        return {"thread": described(thread_id, Log(path).cwd, Log(path), {"type": "notLoaded"})}

    def do_thread_turns_list(self, asked: Told) -> Answer:
        thread_id = asked["threadId"]
        thread, path = self.loaded.get(thread_id), self.find(thread_id)
        if path is None and thread is None:
            raise Refusal(f"thread not loaded: {thread_id}")
        if path is None:
            raise Refusal(
                f"thread {thread_id} is not materialized yet;"
                " thread/turns/list is unavailable before first user message"
            )
        running = thread.turn.id if thread is not None and thread.turn is not None else None
        found = listed(Log(path).records(), running)
        if len(found) > asked["limit"]:
            raise Refusal("not scripted: a second page")
        return {"data": found if asked["sortDirection"] == "asc" else found[::-1], "nextCursor": None}

    def do_thread_backgroundterminals_list(self, asked: Told) -> Answer:
        if asked["threadId"] not in self.loaded:
            raise Refusal(f"thread not found: {asked['threadId']}")
        return {"data": [], "nextCursor": None}

    def do_turn_start(self, asked: Told) -> Answer:
        thread = self.loaded[asked["threadId"]]
        if thread.turn is not None:
            raise Refusal("not scripted: a message into a running turn")
        turn = thread.turn = Turn(self, thread, asked["clientUserMessageId"], asked["input"])
        return {"turn": turn.told(startedAt=None)}, threading.Thread(target=turn.run, daemon=True).start

    def do_turn_interrupt(self, asked: Told) -> Answer:
        turn = self.loaded[asked["threadId"]].turn
        if turn is None or turn.id != asked["turnId"]:
            raise Refusal("no active turn to interrupt")
        return {}, lambda: turn.end(aborted=True)

    def find(self, thread_id: str) -> str | None:
        for folder, _, files in os.walk(os.path.join(self.home, "sessions")):
            for name in files:
                if name.endswith(f"-{thread_id}.jsonl"):
                    return os.path.join(folder, name)
        return None


class Turn:
    """One turn: the message, what the model says to it, and its end, each in the log before it is told."""

    def __init__(self, server: Server, thread: Thread, client_id: str, content: list[Told]) -> None:
        self.server, self.thread, self.id = server, thread, new_id()
        self.client_id, self.content = client_id, content
        self.started = int(time.time())
        self.answers: list[Told] = []
        self.over = False

    def told(self, **changes: object) -> Told:
        turn = {"id": self.id, "rootTurnId": self.id, "items": [], "itemsView": "notLoaded", "status": "inProgress"}
        return turn | {"error": None, "startedAt": self.started, "completedAt": None, **changes}

    def run(self) -> None:
        before = self.thread.log.records()
        if not before:
            self.thread.log.add(
                "session_meta", {"session_id": self.thread.id, "id": self.thread.id, "cwd": self.thread.cwd}
            )
        named = {"turn_id": self.id, "root_turn_id": self.id}
        self.thread.log.event("task_started", **named, started_at=self.started)
        self.thread.log.add("turn_context", {**named, "cwd": self.thread.cwd})
        self.thread.failed = False
        self.tell("thread/status/changed", status=self.thread.status)
        self.tell("turn/started", turn=self.told())
        said = [{"type": "input_text", "text": part["text"]} for part in self.content]
        passed = {"turn_id": self.id}
        message = {"type": "message", "role": "user", "content": said}
        self.thread.log.add("response_item", {**message, "internal_chat_message_metadata_passthrough": passed})
        self.complete({"type": "UserMessage", "id": new_id(), "client_id": self.client_id, "content": self.content})
        try:
            error = self.ask([*messages(before), message])
        except OSError as failure:
            error = failure_of("other", f"stream disconnected before completion: {failure}")
        self.end(error)

    def ask(self, messages: list[Told]) -> Told | None:
        """What the model says, told as it comes; the error with which that ended, if it did."""
        config = self.server.config()
        provider = config["model_providers"][config["model_provider"]]
        asked = {"model": config["model"], "instructions": "", "input": messages, "tools": [], "stream": True}
        url = provider["base_url"] + "/responses"
        status, reason, body = post(url, asked, os.environ.get(provider["env_key"], ""))
        with body:
            if status != 200:
                told = json.loads(body.read())["error"]
                if told.get("code") == "usage_limit_reached":
                    return failure_of("usage_limit_exceeded", LIMIT)
                kind = {"http_connection_failed": {"http_status_code": status}}
                return failure_of(kind, f"unexpected status {status} {reason}: {told['message']}, url: {url}")
            for line in body:
                if line.startswith(b"data: ") and self.take(json.loads(line[6:])):
                    return None
        return failure_of("other", "stream disconnected before completion: stream closed before response.completed")

    def take(self, event: Told) -> bool:
        """One event of the model's stream; whether it was the last."""
        item = event.get("item", {})
        if event["type"] == "response.output_item.added" and item["type"] == "message":
            self.tell("item/started", item=shown({"type": "AgentMessage", "id": item["id"], "content": []}))
        elif event["type"] == "response.output_text.delta":
            self.tell("item/agentMessage/delta", itemId=event["item_id"], delta=event["delta"])
        elif event["type"] == "response.output_item.done":
            if item["type"] != "message":
                raise OSError(f"not scripted: {item['type']}")
            said = [{"type": "Text", "text": part["text"]} for part in item["content"]]
            self.complete({"type": "AgentMessage", "id": item["id"], "content": said}, started=False)
            passed = {"turn_id": self.id}
            self.write("response_item", {**item, "internal_chat_message_metadata_passthrough": passed})
        return bool(event["type"] == "response.completed")

    def write(self, kind: str, payload: Told) -> None:
        """A record, unless the turn is over: nothing comes behind its end."""
        with self.thread.guard:
            if not self.over:
                self.thread.log.add(kind, payload)

    def complete(self, item: Told, started: bool = True) -> None:
        if started:
            self.tell("item/started", item=shown(item))
        told = {"type": "item_completed", "thread_id": self.thread.id, "turn_id": self.id, "item": item}
        self.write("event_msg", told)
        self.tell("item/completed", item=shown(item))
        if item["type"] == "AgentMessage":
            self.answers.append(shown(item))

    def end(self, error: Told | None = None, aborted: bool = False, told: bool = True) -> None:
        with self.thread.guard:
            if self.over:
                return
            self.over = True
            now = int(time.time())
            about = {"turn_id": self.id, "root_turn_id": self.id, "started_at": self.started, "completed_at": now}
            if aborted:
                self.thread.log.event("turn_aborted", **about, reason="interrupted")
            else:
                self.thread.log.event("task_complete", **about, **({"error": error} if error else {}))
            self.thread.turn, self.thread.failed = None, error is not None
        if not told:
            return
        status = "interrupted" if aborted else "failed" if error else "completed"
        self.tell("thread/status/changed", status=self.thread.status)
        if error:
            self.tell("error", error=camel(error), willRetry=False, turnId=self.id)
        ended: Told = {"status": status, "error": camel(error), "completedAt": now}
        if status == "completed" and self.answers:
            ended |= {"items": self.answers[-1:], "itemsView": "summary"}
        self.tell("turn/completed", turn=self.told(**ended))

    def tell(self, method: str, **params: object) -> None:
        turn = {"turnId": self.id} if method.startswith("item/") else {}
        self.server.tell(method, threadId=self.thread.id, **turn, **params)


def failure_of(kind: object, message: str) -> Told:
    """An error as the log has it."""
    return {"message": message, "codex_error_info": kind}


def camel(error: Told | None) -> Told | None:
    """An error as it is told."""
    if error is None:
        return None
    kind = error["codex_error_info"]
    if isinstance(kind, dict):
        kind = {_camel(word): {_camel(key): value for key, value in told.items()} for word, told in kind.items()}
    else:
        kind = _camel(kind)
    return {"message": error["message"], "codexErrorInfo": kind, "additionalDetails": None}


def _camel(word: str) -> str:
    first, *rest = word.split("_")
    return first + "".join(part.title() for part in rest)


def about(thread: Thread) -> Told:
    """A loaded thread."""
    return described(thread.id, thread.cwd, thread.log, thread.status)


def described(thread_id: str, cwd: str, log: Log, status: Told) -> Told:
    """A thread as it is told."""
    inputs = [item for turn in listed(log.records()) for item in turn["items"] if item["type"] == "userMessage"]
    preview = inputs[0]["content"][0]["text"] if inputs else ""
    told: Told = {"id": thread_id, "sessionId": thread_id, "preview": preview, "historyMode": "paginated", "turns": []}
    return {**told, "status": status, "path": log.path, "cwd": cwd}


def shown(item: Told) -> Told:
    """An item of the log as it is told."""
    if item["type"] == "UserMessage":
        return {"type": "userMessage", "id": item["id"], "clientId": item["client_id"], "content": item["content"]}
    text = "".join(part["text"] for part in item["content"])
    return {"type": "agentMessage", "id": item["id"], "text": text, "phase": None}


def listed(records: list[Told], running: str | None = None) -> list[Told]:
    """The turns of a log, oldest first. One without an end is shown as interrupted, unless it runs here."""
    turns: dict[str, Told] = {}
    for record in records:
        told = record["payload"]
        turn = turns.get(told.get("turn_id"), {})
        if told.get("type") == "task_started":
            made = {"id": told["turn_id"], "rootTurnId": told["turn_id"], "items": [], "itemsView": "full"}
            status = "inProgress" if told["turn_id"] == running else "interrupted"
            made |= {"status": status, "error": None, "startedAt": told["started_at"], "completedAt": None}
            turns[told["turn_id"]] = made
        elif told.get("type") == "item_completed":
            turn["items"].append(shown(told["item"]))
        elif told.get("type") == "task_complete":
            error = told.get("error")
            turn |= {"status": "failed" if error else "completed", "error": camel(error)}
            turn["completedAt"] = told["completed_at"]
        elif told.get("type") == "turn_aborted":
            turn |= {"status": "interrupted", "completedAt": told["completed_at"]}
    return list(turns.values())


def messages(records: list[Told]) -> list[Told]:
    """What was said before, for the model."""
    said = [record["payload"] for record in records if record["type"] == "response_item"]
    return [{key: one[key] for key in ("type", "role", "content")} for one in said]


def post(url: str, content: Told, key: str) -> tuple[int, str, BufferedReader]:
    """Status, reason and the body still to be read."""
    place, _, path = url.removeprefix("http://").partition("/")
    host, _, port = place.partition(":")
    data = json.dumps(content).encode()
    head = (
        f"POST /{path} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        body = connection.makefile("rb")
    _, status, reason = body.readline().decode().strip().split(" ", 2)
    while body.readline() not in (b"\r\n", b""):
        continue
    return int(status), reason, body


def stamp(form: str) -> str:
    return time.strftime(form, time.gmtime())


def new_id() -> str:
    """An id whose order is that of time, as Codex makes them."""
    at = f"{time.time_ns() // 1_000_000:012x}"
    rest = os.urandom(10).hex()
    return f"{at[:8]}-{at[8:]}-7{rest[1:4]}-8{rest[5:8]}-{rest[8:20]}"


def main() -> None:
    """The program: `app-server`, and settings behind `-c`."""
    assert sys.argv[1] == "app-server"
    server = Server(os.environ["CODEX_HOME"], sys.argv[3::2])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            server.hear(message)
    server.leave()
    os._exit(0)  # a model that hangs is not waited for
