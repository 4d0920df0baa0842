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
import sys
import threading

from log import Log, described, listed, new_id, stamp
from turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:  # the import of typing is as long as all the others
    from collections.abc import Callable

    from log import Told

    Answer = Told | tuple[Told, Callable[[], None]]

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


class Refusal(Exception):
    """An error as the answer to a request."""


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


def about(thread: Thread) -> Told:
    """A loaded thread."""
    return described(thread.id, thread.cwd, thread.log, thread.status)


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
