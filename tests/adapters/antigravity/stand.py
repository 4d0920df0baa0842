"""What do the tests of the language server's runtime act on? A stand with the fake server and the real client."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.adapters import folders
from tests.adapters.antigravity.fake import FakeLanguageServer, Look

from oncemore.adapters.antigravity.language_server import AntigravityRuntime, Limits
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.antigravity.token import Token
from oncemore.adapters.wire import Wire
from oncemore.engine import canonical
from oncemore.engine.ports import (
    Inventory,
    NativeTurn,
    Observation,
    Profile,
    SessionView,
    Thread,
    TurnView,
    Workspace,
)

WRITE = Profile("workspace_write")
READ = Profile("read_only")
PLANNERS = {"workspace_write": {"requestedModel": {"model": "scripted"}}}
NOON = 1_796_040_000_000
"""The minute of the fake's times, in milliseconds."""


class Stand:
    """One Session over one fake server."""

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        self.folder = folder
        self.cleanup = cleanup
        self.server = cleanup.enter_context(FakeLanguageServer(folder))
        self.threads: tuple[Thread, ...] = ()
        self.ids: frozenset[str] = frozenset()
        self.workspace = self.opened(folder)
        self.runtime = self.another()

    def another(self, *, seconds: float = 5.0, **settings: Any) -> AntigravityRuntime:
        """Another client of the same server, as another program would have it."""
        wire = self.cleanup.enter_context(Wire([self.server.base_url], seconds=seconds))
        server = LanguageServer(wire, self.server.base_url, Token(environment="LANGUAGE_SERVER_TOKEN"))
        options: dict[str, Any] = {
            "limits": Limits(pause=0.001, looks=3, cancel_seconds=0.05),
            "clock": lambda: NOON,
            **settings,
        }
        runtime = AntigravityRuntime(server, PLANNERS, **options)
        self.cleanup.callback(runtime.close)
        return runtime

    def opened(self, folder: Path) -> Workspace:
        workspace = folders.opened(folder)
        self.cleanup.callback(workspace.close)
        return workspace

    @property
    def session(self) -> SessionView:
        return SessionView("session-1", "antigravity", "/nowhere", self.threads, self.ids)

    def load(self) -> bool:
        """Load the conversation, record a new one; whether it was created."""
        loaded = self.runtime.load(self.session, WRITE, self.workspace)
        if loaded.created:
            self.threads = (loaded.thread,)
        return loaded.created

    def start(self, client_id: str = "request-1", text: str = "please") -> NativeTurn:
        self.load()
        self.ids |= {client_id}
        return self.runtime.start(self.session, client_id, text, WRITE)

    def reads(self, *looks: Look) -> NativeTurn:
        """A turn of ours was started, and from now on its conversation reads like this, each look for two readings."""
        native = self.start()
        self.server.twice(*looks)
        return native

    def observe(self, native: NativeTurn, timeout: float = 0.0) -> Observation:
        return self.runtime.observe(native, timeout)

    def turn(self, native: NativeTurn | None = None, text: str = "please", **options: Any) -> TurnView:
        """The Turn as the engine would ask for it; it ran during the fake's minute."""
        told: dict[str, Any] = {"started_at": NOON, "ended_at": NOON + 60_000, **options}
        return TurnView("request-1", native, canonical.digest(text.encode()), **told)

    def inventory(self, native: NativeTurn | None = None, **options: Any) -> Inventory:
        return self.runtime.inventory(self.session, self.turn(native, **options))


def values(readings: Any, *names: str) -> dict[str, object]:
    """Values of facts by their names; the status of those that are not known."""
    told = {name: readings[name] for name in names if name in readings}
    return {
        name: (told[name].value if told[name].status == "known" else told[name].status) if name in told else "missing"
        for name in names
    }
