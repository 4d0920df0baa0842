"""What do tests ask instead of the desktop language server? The demo's desk, and everything that can go wrong with it.

How a conversation reads is scripted, look by look; the last look stays. A fault happens so many times as it is set.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncemore.adapters.demo import desk
from oncemore.adapters.demo.desk import RAW, Cascade, Desk, Handler, asked, at, command, placed, planned, step

__all__ = ["RAW", "FakeLanguageServer", "Faults", "Look", "asked", "at", "command", "gave", "planned", "step", "viewed"]


def gave(kind: str, call: str = "call-1", state: str = "DONE", *, about: RAW | None = None, **options: Any) -> RAW:
    """A tool's step with what it was asked and gave back, each under its own name.

    Args:
        about: the one payload, such as `{"viewFile": {"content": "x"}}`; None where it was cleared away.
    """
    called = {"toolCall": {"id": call, "name": kind.lower()}}
    return step(kind, state, metadata={**called, **options.pop("metadata", {})}, **(about or {}), **options)


def viewed(content: str, call: str = "call-1", state: str = "DONE", file: str = "a.md", **options: Any) -> RAW:
    """A file that was viewed."""
    return gave(
        "VIEW_FILE",
        call,
        state,
        about={"viewFile": {"absolutePathUri": f"file:///notes/{file}", "endLine": 2, "content": content}},
        **options,
    )


@dataclass(frozen=True)
class Look(desk.Look):
    """How a conversation reads, and how it is given.

    Attributes:
        total: the number of steps that is told; None tells the true one.
        page: how many steps one answer holds.
        repeats: an offset is not heeded: the first page comes again.
        refuses_pages: nothing comes behind the first page.
        describes: the id of another conversation that is described instead.
    """

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
        cancel_refused: a cancellation is answered with 403 and changes nothing.
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
    cancel_refused: int = 0
    unlisted: int = 0
    slow: float = 0.0

    def take(self, name: str) -> bool:
        """Use one up."""
        left = getattr(self, name)
        setattr(self, name, max(0, left - 1))
        return bool(left)


class _Reset(Exception):
    """The connection is reset instead of an answer."""


class FakeLanguageServer(Desk):
    """A desk with faults.

    Attributes:
        faults: what goes wrong.
        more_folders: folders that every conversation works in besides.
    """

    look = Look

    def __init__(
        self, folder: Path, token: str = "a-token-that-nobody-must-see", clock: Callable[[], int] | None = None
    ) -> None:
        self.faults = Faults()
        self.more_folders: list[Path] = []
        super().__init__(folder, token, clock)

    @classmethod
    def handler(cls) -> type[Handler]:
        return _Faulty

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

    def noted(self, method: str) -> None:
        super().noted(method)
        if self.faults.slow:
            self.closing.wait(self.faults.slow)

    def answer(self, method: str, body: dict[str, Any]) -> desk.Answer:
        with self.lock:
            if method == "CancelCascadeInvocation" and self.faults.take("cancel_refused"):
                return 403, {"code": "permission_denied", "message": "not yours"}
            if self.faults.take("broken"):
                return 500, {"code": "internal", "message": f"broken near {self.token}"}
            return super().answer(method, body)

    def _summaries(self) -> dict[str, Any]:
        if self.faults.take("unlisted"):
            return {}
        told = super()._summaries()
        for about in told.get("trajectorySummaries", {}).values():
            about["workspaces"] += [{"workspaceFolderAbsoluteUri": folder.as_uri()} for folder in self.more_folders]
        return told

    def _take_in(self, one: Cascade, body: dict[str, Any]) -> None:
        super()._take_in(one, body)
        _, arriving = one.waiting.pop()
        for _ in range(0 if self.faults.take("send_lost") else 2 if self.faults.take("send_twice") else 1):
            one.waiting.append((self.faults.late, arriving))
        if self.faults.take("reset_after_send"):
            raise _Reset

    def _cancel(self, one: Cascade, body: dict[str, Any]) -> None:
        if self.faults.take("cancel_ignored"):
            self.cancels.append(body)
        else:
            super()._cancel(one, body)
        if self.faults.take("reset_after_cancel"):
            raise _Reset

    def _read(self, name: str, look: desk.Look) -> dict[str, Any]:
        answer = super()._read(name, look)
        if isinstance(look, Look):
            answer["trajectory"]["cascadeId"] = look.describes or name
            if look.total is not None:
                answer.pop("numTotalSteps", None)
                answer |= {"numTotalSteps": look.total} if look.total else {}
        return answer

    def _steps(self, look: desk.Look, offset: int) -> dict[str, Any]:
        assert isinstance(look, Look)
        if offset and look.refuses_pages:
            return {}
        start = 0 if look.repeats else offset
        listed = [placed(raw, place) for place, raw in enumerate(look.steps)][start : start + look.page]
        return {"steps": listed} if listed else {}


class _Faulty(Handler):
    def reply(self, method: str, body: dict[str, Any]) -> None:
        try:
            super().reply(method, body)
        except _Reset:
            # A lingering time of zero makes close() send a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
