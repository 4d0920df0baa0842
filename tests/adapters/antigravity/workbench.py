"""What do the tests of the harness act on? The real program of the wheel, over a scripted model on the loopback."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.adapters import folders
from tests.adapters.states.truth import strays, until

from oncemore.adapters.antigravity.harness import HarnessRuntime
from oncemore.adapters.demo.chat import ChatModel
from oncemore.adapters.demo.model import Hang, ModelRequest, Say, Script
from oncemore.engine.ports import Inventory, NativeTurn, Observation, Profile, SessionView, Thread, TurnView, Workspace

SHELL = Profile("workspace_write", network=True)
WRITE = Profile("workspace_write")
READ = Profile("read_only")


class Workbench:
    """One Session over one home; `script` may be replaced at any time."""

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        self.home = folder / "home"
        self.folder = folder / "workspace"
        self.folder.mkdir()
        self.cleanup = cleanup
        self.release = threading.Event()
        self.threads: tuple[Thread, ...] = ()
        self.ids: frozenset[str] = frozenset()
        self.model = cleanup.enter_context(ChatModel(lambda request: self.script(request)))
        cleanup.callback(self.release.set)
        self.workspace = self.opened(self.folder)
        self.runtime = self.another()

    def script(self, request: ModelRequest) -> Script:
        if request.last_user == "hang":
            return Hang(self.release)
        return Say(f"answer to {request.last_user}")

    def another(self, **settings: Any) -> HarnessRuntime:
        """Another runtime over the same home, as another program would have it."""
        runtime = HarnessRuntime("scripted", self.model.base_url, **{"confined": True, **settings})
        self.cleanup.callback(runtime.close)
        return runtime

    def opened(self, folder: Path) -> Workspace:
        workspace = folders.opened(folder)
        self.cleanup.callback(workspace.close)
        return workspace

    @property
    def session(self) -> SessionView:
        return SessionView("session-1", "antigravity", str(self.home), self.threads, self.ids)

    def load(self, profile: Profile = SHELL, runtime: HarnessRuntime | None = None) -> bool:
        """Load the conversation, record a new one; whether it was created."""
        loaded = (runtime or self.runtime).load(self.session, profile, self.workspace)
        if loaded.created:
            self.threads = (*self.threads, loaded.thread)
        return loaded.created

    def start(self, client_id: str, text: str, profile: Profile = SHELL) -> NativeTurn:
        self.load(profile)
        self.ids |= {client_id}
        return self.runtime.start(self.session, client_id, text, profile)

    def run(self, client_id: str, text: str, profile: Profile = SHELL) -> tuple[NativeTurn, Observation]:
        native = self.start(client_id, text, profile)
        return native, self.runtime.observe(native, 30)

    def inventory(
        self, client_id: str, native: NativeTurn | None = None, runtime: HarnessRuntime | None = None
    ) -> Inventory:
        return (runtime or self.runtime).inventory(self.session, TurnView(client_id, native))

    def kill(self) -> None:
        """Kill the only process, and wait until the kernel has taken back what it held."""
        ((_, pid),) = self.runtime.processes()
        os.kill(pid, 9)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@contextmanager
def opened(folder: Path) -> Iterator[Workbench]:
    """A workbench; no process of it outlives it."""
    with ExitStack() as cleanup:
        yield Workbench(folder, cleanup)
    until(lambda: not strays(folder))
