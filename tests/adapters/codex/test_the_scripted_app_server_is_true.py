"""The scripted app-server tells a part of what the real program tells to the same calls, value by value."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.scripted import install

from oncemore.adapters.codex import binary
from oncemore.adapters.codex.connection import Connection, Denied, Message, environment
from oncemore.adapters.codex.home import write_config
from oncemore.adapters.codex.profile import overrides
from oncemore.adapters.demo.model import Fail, Hang, ModelRequest, Say, Script, ScriptedModel
from oncemore.engine.ports import Profile

WRITE, READ = Profile("workspace_write"), Profile("read_only")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.-]+Z?|20\d\d/\d\d/\d\d")


class Told:
    """Everything that a program said while it was asked the same as the other.

    Attributes:
        answers: by what was asked, in order; an error as its message.
        notes: the notifications of each process, by method.
        log: the records of the threads' logs.
    """

    def __init__(self, program: Path, folder: Path) -> None:
        self.answers: list[tuple[str, Any]] = []
        self.notes: list[tuple[str, Any]] = []
        self.log: list[list[dict[str, Any]]] = []
        self.program, self.home, self.workspace = program, folder / "home", folder / "workspace"
        self.workspace.mkdir(parents=True)
        self.release = threading.Event()
        self._ended = threading.Condition()
        self._heard: list[str] = []
        with ScriptedModel(self._script) as model:
            write_config(self.home, model.base_url, "KEY")
            self._model = model
            try:
                self._play()
            finally:
                self.release.set()
        for path in sorted((self.home / "sessions").rglob("*.jsonl")):
            self.log.append([self.plain(json.loads(line)) for line in path.read_text().splitlines()])

    def _script(self, request: ModelRequest) -> Script:
        if request.last_user == "hang":
            return Hang(self.release)
        kinds = {"limit": Fail("usage_limit"), "away": Fail("http502")}
        return kinds.get(request.last_user, Say(f"answer to {', '.join(request.inputs)}"))

    def _play(self) -> None:
        owner = self.process(WRITE)
        thread = self.ask(owner, "thread/start", **self.entry("workspace-write"), historyMode="paginated")["thread"][
            "id"
        ]
        self.read(owner, thread)
        reader = self.process(None)
        self.read(reader, thread)
        self.ask(reader, "thread/resume", threadId=thread, excludeTurns=True)
        self.ask(reader, "config/read", includeLayers=False, cwd=str(self.home))
        for text in ("limit", "hello", "away", "more"):
            self.turn(owner, thread, text)
            self.read(owner, thread)
            self.read(reader, thread)
        self.ask(reader, "thread/resume", threadId=thread, excludeTurns=True)  # it has a writer
        self.held = (self.home / "thread-writer-locks" / f"{thread}.lock").exists()
        owner.close()
        self.read(reader, thread)
        again = self.process(READ)
        self.ask(again, "thread/resume", threadId=thread, excludeTurns=True, **self.entry("read-only"))
        self.ask(again, "config/read", includeLayers=False, cwd=str(self.workspace))
        self.turn(again, thread, "hang", 5)
        self.read(again, thread)
        self.read(reader, thread)  # it runs in another process
        again.close()
        self.read(reader, thread)
        last = self.process(READ)
        self.ask(last, "thread/resume", threadId=thread, excludeTurns=True, **self.entry("read-only"))
        turn = self.turn(last, thread, "hang", 6)
        self.ask(last, "turn/interrupt", threadId=thread, turnId=turn)
        self._wait("turn/completed")
        self.read(last, thread)
        last.close()
        reader.close()
        self.lock_left = (self.home / "thread-writer-locks" / f"{thread}.lock").exists()

    def entry(self, sandbox: str) -> dict[str, Any]:
        return {"cwd": str(self.workspace), "approvalPolicy": "never", "sandbox": sandbox}

    def process(self, profile: Profile | None) -> Connection:
        return Connection(
            self.program,
            self.home,
            directory=str(self.workspace if profile else self.home),
            environment=environment(self.home, path="/usr/local/bin:/usr/bin:/bin", passed_on=[]) | {"KEY": "none"},
            overrides=overrides(self.home, profile),
            hear=self._hear,
        )

    def read(self, connection: Connection, thread: str) -> None:
        self.ask(connection, "thread/read", threadId=thread)
        for order in ("asc", "desc"):
            asked = {"threadId": thread, "limit": 100, "sortDirection": order, "itemsView": "full"}
            self.ask(connection, "thread/turns/list", **asked)
        if len(self.notes):
            self.ask(connection, "thread/backgroundTerminals/list", threadId=thread)

    def turn(self, connection: Connection, thread: str, text: str, calls: int = 0) -> str:
        """A turn to its end, or until its model was asked so often and hangs."""
        self._heard = []
        said = [{"type": "text", "text": text, "text_elements": []}]
        limits = {"approvalPolicy": "never", "sandboxPolicy": {"type": "readOnly", "networkAccess": False}}
        asked = {"threadId": thread, "input": said, "clientUserMessageId": f"client-{text}", **limits}
        turn = self.ask(connection, "turn/start", **asked)["turn"]["id"]
        if calls:
            assert self._model.wait_for_calls(calls)
            self._wait("item/completed")
        else:
            self._wait("turn/completed")
        return str(turn)

    def _wait(self, method: str) -> None:
        with self._ended:
            assert self._ended.wait_for(lambda: method in self._heard, 30)

    def ask(self, connection: Connection, method: str, **params: Any) -> Message:
        try:
            answer = connection.request(method, params)
        except Denied as error:
            self.answers.append((method, self.plain(error.message)))
            return {}
        self.answers.append((method, self.plain(answer)))
        return answer

    def _hear(self, message: Message | None) -> None:
        with self._ended:
            if message is not None:
                self.notes.append((message["method"], self.plain(message["params"])))
                self._heard.append(message["method"])
                self._ended.notify_all()

    def plain(self, told: Any) -> Any:
        """What was told without what is another one each time: ids by their order, times, places."""
        if isinstance(told, dict):
            return {key: self.plain(value) for key, value in told.items()}
        if isinstance(told, list):
            return [self.plain(value) for value in told]
        if isinstance(told, int) and not isinstance(told, bool) and told > 1_000_000_000:
            return "time"
        if not isinstance(told, str):
            return told
        for place, name in ((str(self.home), "HOME"), (str(self.workspace), "WORKSPACE")):
            told = told.replace(place, name)
        return re.sub(r"127\.0\.0\.1:\d+", "MODEL", TIME.sub("TIME", ID.sub("ID", told)))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told]:
    folder = tmp_path_factory.mktemp("app-servers")
    program = install(folder)
    return Told(program, folder / "scripted"), Told(binary.find(), folder / "real")


def differs(part: Any, whole: Any, at: str = "") -> str | None:
    """Where the part tells something that the whole does not."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return next(filter(None, (differs(v, whole.get(k, "nothing"), f"{at}.{k}") for k, v in part.items())), None)
    if isinstance(part, list) and isinstance(whole, list) and len(part) == len(whole):
        return next(filter(None, (differs(a, b, f"{at}[]") for a, b in zip(part, whole, strict=True))), None)
    return None if part == whole else f"{at}: {part!r} is not {whole!r}"


def within(part: list[Any], whole: list[Any], same: Callable[[Any, Any], bool]) -> Any:
    """The first entry of a sequence that the other does not have, in its place; None when it has all."""
    rest = iter(whole)
    return next((entry for entry in part if not any(same(entry, other) for other in rest)), None)


def test_each_answer_is_a_part_of_the_real_one(told: tuple[Told, Told]) -> None:
    scripted, real = told
    assert [method for method, _ in scripted.answers] == [method for method, _ in real.answers]
    for (method, part), (_, whole) in zip(scripted.answers, real.answers, strict=True):
        assert differs(part, whole, method) is None


def test_each_notification_comes_from_the_real_one_too_in_this_order(told: tuple[Told, Told]) -> None:
    scripted, real = told
    assert within(scripted.notes, real.notes, lambda a, b: a[0] == b[0] and differs(a[1], b[1]) is None) is None


def test_each_record_of_the_log_is_in_the_real_one_too_in_this_order(told: tuple[Told, Told]) -> None:
    scripted, real = told
    for part, whole in zip(scripted.log, real.log, strict=True):
        for record in (*part, *whole):
            record.pop("ordinal")
        assert within(part, whole, lambda a, b: differs(a, b) is None) is None


def test_the_writer_lock_is_held_and_goes_as_the_real_one(told: tuple[Told, Told]) -> None:
    scripted, real = told
    assert (scripted.held, scripted.lock_left) == (real.held, real.lock_left) == (True, False)
