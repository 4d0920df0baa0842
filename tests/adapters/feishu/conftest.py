"""Fixtures of the tests of Lark: a fake one, and our Source that talks with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.adapters.feishu.fake import FakeLark

from oncemore.adapters.feishu import Feishu, accepted_digest
from oncemore.adapters.wire import Wire
from oncemore.engine.ports import SourceRef

CHAT, ANN = "oc_chat", "ou_ann"


@dataclass
class Clock:
    """A clock that stands until it is moved."""

    now: int = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_(self, ms: int) -> None:
        """Time goes by."""
        self.now += ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lark(clock: Clock) -> Iterator[FakeLark]:
    with FakeLark(clock) as lark:
        yield lark


@pytest.fixture
def source(lark: FakeLark, clock: Clock) -> Iterator[Feishu]:
    with Wire([lark.base_url], seconds=1.0) as wire:
        yield Feishu("lark", wire, app_id=lark.app_id, secret=lambda: lark.app_secret, clock=clock, base=lark.base_url)


def accepted(lark: FakeLark, text: str = "write two parts", chat: str = CHAT, thread: str | None = None) -> SourceRef:
    """A message of Ann's, as it is accepted."""
    return SourceRef("lark", lark.post(chat, ANN, text, thread=thread), ANN, accepted_digest(text))
