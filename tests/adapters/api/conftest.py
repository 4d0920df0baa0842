"""A house with one workspace, its service, and keys of every kind; in this process, or behind a real socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adapters.api.lark import Told, configuration, set_secrets
from tests.adapters.feishu.fake import FakeLark
from tests.every_table import ROWS

from oncemore.adapters import wiring
from oncemore.adapters.api.app import application
from oncemore.adapters.api.doors import Doors
from oncemore.adapters.api.keys import SCOPES, Scope
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.serving import listen, server_of
from oncemore.engine.rulebook import Rulebook
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

NOON = 1_796_040_000_000
"""2026-11-30T12:00:00Z."""

CONFIGURATION = """\
journal: data/oncemore.db
runtimes:
  codex: {home: codex}
workspaces:
  notes: {path: notes, owner: ann, level: workspace_read, revision: 1}
"""


@dataclass
class Clock:
    """Milliseconds since the epoch, and seconds that pass; both move when told to."""

    ms: int = NOON

    def __call__(self) -> int:
        return self.ms

    def ticks(self) -> float:
        return self.ms / 1_000


@dataclass
class World:
    """A service in this process.

    Attributes:
        tokens: one key of every scope, one of all of them as `all`.
    """

    service: Service
    app: Doors
    clock: Clock
    tokens: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, key: str | None = "all", **more: Any) -> httpx.Response:
        """One call; `json`, `content`, `headers` and `params` as httpx takes them."""
        headers = dict(more.pop("headers", {}))
        if key is not None:
            headers.setdefault("authorization", f"Bearer {self.tokens.get(key, key)}".encode("latin-1"))
        if "content" in more:
            headers.setdefault("content-type", "application/json")

        async def called() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=("192.0.2.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8711") as client:
                return await client.request(method, path, headers=headers, **more)

        return asyncio.run(called())

    def get(self, path: str, **more: Any) -> Any:
        """What a key for everything reads."""
        answer = self.call("GET", path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        """A JSON body, posted."""
        return self.call("POST", path, json=body, **more)

    def ask(self, text: str = "Please write it.", **more: Any) -> str:
        """A message taken in; its Request."""
        answer = self.post("/v1/requests", {"workspace": "notes", "text": text, **more})
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["request"])


@cache
def shipped_rules() -> Rulebook:
    """The shipped policies, tried with the engine once."""
    return Rulebook(load_policies([shipped_policies()]))


@contextmanager
def opened(folder: Path, configuration: str = CONFIGURATION, clock: Clock | None = None) -> Iterator[World]:
    """A world in a folder."""
    clock = clock or Clock()
    (folder / "notes").mkdir(exist_ok=True)
    file = folder / "oncemore.yaml"
    file.write_text(configuration)
    file.chmod(0o600)
    with wiring.opened(file, clock=clock) as house:
        service = Service(house, shipped_rules())
        try:
            world = World(service, application(service, clock.ticks), clock)
            kinds: dict[str, tuple[Scope, ...]] = {"all": SCOPES, **{scope: (scope,) for scope in SCOPES}}
            world.tokens = {name: service.keys.add(name, scopes)[1] for name, scopes in kinds.items()}
            yield world
        finally:
            service.close()


@pytest.fixture
def world(tmp_path: Path, place: Path | str) -> Iterator[World]:
    configuration = CONFIGURATION.replace("data/oncemore.db", f"'{place}'")
    (tmp_path / "data").mkdir(mode=0o700, exist_ok=True)
    with opened(tmp_path, configuration) as found:
        yield found


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    set_secrets(monkeypatch)
    clock = Clock()
    with FakeLark(clock) as lark, opened(tmp_path, configuration(lark.base_url), clock) as world:
        yield Told(world, lark)


@contextmanager
def served(service: Service) -> Iterator[str]:
    """The service behind a real socket; its address."""
    listening = listen("127.0.0.1", 0)
    server = server_of(service)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the journal holds, but when keys were used last and what time it is."""
    kept = {}
    for row in ROWS:
        if row.__name__ != "Clock":
            found = row.select().dicts()
            kept[row.__name__] = sorted(tuple(v for k, v in one.items() if k != "used_at") for one in found)
    return kept
