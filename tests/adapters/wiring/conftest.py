"""A house with a Lark on the loopback: Ann's own workspace, and one for a group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from tests.adapters.feishu.conftest import ANN, Clock
from tests.adapters.feishu.fake import FakeLark

from oncemore.adapters import wiring
from oncemore.adapters.feishu import Event, events
from oncemore.adapters.wiring import Arrived, House
from oncemore.engine import executor
from oncemore.engine.context import Context
from oncemore.engine.rulebook import Rulebook

SECRET = "ONCEMORE_TEST_LARK_SECRET"
PRIVATE, GROUP = "oc_private", "oc_group"


@dataclass
class Chat:
    """What people write in Lark, and the house that is told of it."""

    folder: Path
    lark: FakeLark
    clock: Clock
    house: House

    def event(self, message: str, event_id: str = "e-1", **changes: object) -> Event:
        """The event that tells of a message."""
        chat_type = "group" if self.lark.entry(message).chat == GROUP else "p2p"
        raw = self.lark.event(message, event_id, **{"chat_type": chat_type, **changes})
        found = events.read(raw, app_id=self.lark.app_id, verification_token=self.lark.verification_token)
        assert isinstance(found, Event)
        return found

    def say(self, text: str, author: str = ANN, chat: str = PRIVATE, **more: object) -> Arrived:
        """A message is written and told of."""
        return self.house.arrive(self.event(self.lark.post(chat, author, text, **more)))  # type: ignore[arg-type]

    def deliver(self, *requests: str | None) -> None:
        """Everything that is due of these Requests is done, where nothing is to be decided."""
        context = Context(journal=self.house.journal, ports=self.house.ports, rules=cast(Rulebook, None))
        for request in requests:
            assert request is not None
            executor.advance(context, request)


def configure(folder: Path, base: str, more: str = "") -> Path:
    """The operator's file; `more` stands beside its first source."""
    for name in ("notes", "shared"):
        (folder / name).mkdir(exist_ok=True)
    file = folder / "oncemore.yaml"
    file.write_text(
        f"""\
journal: data/oncemore.db
runtimes:
  codex: {{home: codex}}
sources:
  team: {{kind: feishu, base: '{base}', app_id: {FakeLark.app_id}, secret: {{environment: {SECRET}}}, language: zh}}
{more}workspaces:
  notes: {{path: notes, owner: {ANN}, level: workspace_read, revision: 1, source: team, role: steward}}
  shared: {{path: shared, owner: ou_boss, level: workspace_read, revision: 1, source: team, chats: [{GROUP}]}}
"""
    )
    file.chmod(0o600)
    return file


@contextmanager
def chatting(folder: Path, more: str = "") -> Iterator[Chat]:
    clock = Clock()
    with FakeLark(clock) as lark, wiring.opened(configure(folder, lark.base_url, more), clock=clock) as house:
        yield Chat(folder, lark, clock, house)


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.setenv(SECRET, FakeLark.app_secret)
    tmp_path.chmod(0o755)
    with chatting(tmp_path) as made:
        yield made
