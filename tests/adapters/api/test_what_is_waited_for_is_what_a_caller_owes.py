"""A call has its time from its own first byte, and no time runs while it is we who do not read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from oncemore.adapters.api.patience import LATE, Patient

SECONDS = 30.0


class Loop:
    """Its clock goes where it is put; what was to be called by then is called on the way."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, look: Callable[[], None]) -> object:
        self.due.append((self.now + seconds, look))
        return SimpleNamespace(cancel=lambda: None)

    def go_to(self, then: float) -> None:
        while self.due and self.due[0][0] <= then:
            self.now, look = self.due.pop(0)
            look()
        self.now = then


class Reader(asyncio.Protocol):
    """What reads calls; what is `coming` is not whole."""

    def __init__(self) -> None:
        self.coming = False
        self.closed = False
        self.flow = SimpleNamespace(read_paused=False)
        self.transport = SimpleNamespace(is_closing=lambda: self.closed, close=self.close)
        self.woken = False
        event = SimpleNamespace(set=lambda: setattr(self, "woken", True))
        self.cycle: Any = SimpleNamespace(response_complete=False, scope={"state": {}}, message_event=event)

    def close(self) -> None:
        self.closed = True


class Connection(Patient, Reader):
    seconds = SECONDS

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop  # type: ignore[assignment]
        self.connection_made(self.transport)

    def whole(self) -> bool:
        return not self.coming

    def comes(self, coming: bool) -> None:
        self.coming = coming
        self.data_received(b"x")

    @property
    def late(self) -> bool:
        return LATE in self.cycle.scope["state"]


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_the_time_before_the_first_byte_is_not_the_calls(loop: Loop) -> None:
    one = Connection(loop)
    loop.go_to(25)
    one.comes(True)
    loop.go_to(54)
    assert not one.late and not one.closed
    loop.go_to(55)
    assert one.late and one.woken


def test_a_connection_on_which_nothing_comes_is_closed(loop: Loop) -> None:
    one = Connection(loop)
    one.cycle = None
    loop.go_to(SECONDS)
    assert one.closed


def test_a_call_that_comes_with_the_end_of_the_one_before_has_its_own_time(loop: Loop) -> None:
    one = Connection(loop)
    one.comes(True)
    loop.go_to(29)
    one.data_received(b"the end of it, and a beginning")
    one.begins()
    loop.go_to(58)
    assert not one.late
    loop.go_to(59)
    assert one.late


def test_no_time_runs_while_it_is_not_read(loop: Loop) -> None:
    one = Connection(loop)
    one.comes(True)
    one.flow.read_paused = True
    loop.go_to(10 * SECONDS)
    assert not one.late and not one.closed
    one.flow.read_paused = False
    loop.go_to(12 * SECONDS)
    assert one.late
