"""For how long is a call waited for that does not come whole?

One timer for each connection, not for each call: it looks whether what began to come has come whole by now. A body that
has not is left to the route that reads it, which is woken and refuses the call; anything else is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

LATE: Final = "late"
"""In the state of a call whose body has not come in time."""


class Patient(asyncio.Protocol):
    """A connection whose calls come whole in time; it stands before one of uvicorn's protocols.

    Attributes:
        seconds: from the first byte of a call, or from the beginning of a connection on which nothing comes, until it
            is given up.
        whole: whether of nothing that came more has to come.
        loop, transport, flow, cycle: the protocol's own.
    """

    seconds: float = 30.0
    whole: Callable[[], bool]
    loop: asyncio.AbstractEventLoop
    transport: Any
    flow: Any
    cycle: Any
    _since: float | None = None
    _silent: bool = True
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody is there."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look = self.loop.call_later(self.seconds, self._given_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """More came."""
        if self._since is None or self._silent:
            self.begins()
        super().data_received(data)
        if self.whole():
            self._since = None

    def begins(self) -> None:
        """The first byte of a call is there."""
        self._silent = False
        self._since = self.loop.time()

    def _given_up(self) -> None:
        """Look, and look again when the next call could be late."""
        if self.transport.is_closing():
            return
        now = self.loop.time()
        if self._since is None and not self.whole():
            self._since = now  # it was kept until the call before it was answered
        if self.flow.read_paused:
            self._since = now  # more may be there; it is we who do not read it
        left = self.seconds if self._since is None else self._since + self.seconds - now
        if left <= 0:
            cycle = self.cycle
            if cycle is None or cycle.response_complete:
                self.transport.close()
                return
            cycle.scope["state"][LATE] = True
            cycle.message_event.set()
            left = self.seconds
        self._look = self.loop.call_later(left, self._given_up)


def patient_h11(within: float) -> Any:
    """The protocol of h11, with calls that come whole within so many seconds."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class PatientH11(Patient, H11Protocol):
        seconds = within

        def whole(self) -> bool:
            state, (rest, _) = self.conn.their_state, self.conn.trailing_data
            return state is not h11.SEND_BODY and not (state is h11.IDLE and rest)

    return PatientH11
