"""What do the tests of the Codex runtime act on? A stage with the real program, or a fake that speaks its protocol."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.adapters import folders

from oncemore.adapters.codex.home import write_config
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.model import Hang, ModelRequest, Say, Script, ScriptedModel
from oncemore.engine.ports import Inventory, NativeTurn, Observation, Profile, SessionView, Thread, TurnView, Workspace

WRITE = Profile("workspace_write")
READ = Profile("read_only")


class Stage:
    """What a test acts on; `script` may be replaced at any time."""

    def __init__(self, folder: Path, cleanup: ExitStack) -> None:
        self.home = folder / "home"
        self.folder = folder / "workspace"
        self.folder.mkdir()
        self.release = threading.Event()
        self.threads: tuple[Thread, ...] = ()
        self.ids: frozenset[str] = frozenset()
        self.cleanup = cleanup
        self.model = cleanup.enter_context(ScriptedModel(lambda request: self.script(request)))
        cleanup.callback(self.release.set)
        write_config(self.home, self.model.base_url, "MODEL_KEY")
        self.workspace = self.opened(self.folder)
        self.runtime = self.another()

    def script(self, request: ModelRequest) -> Script:
        if request.last_user == "hang":
            return Hang(self.release)
        return Say(f"answer to {request.last_user}")

    def another(self, **settings: Any) -> CodexRuntime:
        """Another runtime over the same home, as another program would have it."""
        runtime = CodexRuntime(passed_on=["MODEL_KEY"], **settings)
        self.cleanup.callback(runtime.close)
        return runtime

    def opened(self, folder: Path) -> Workspace:
        workspace = folders.opened(folder)
        self.cleanup.callback(workspace.close)
        return workspace

    @property
    def session(self) -> SessionView:
        return SessionView("session-1", "codex", str(self.home), self.threads, self.ids)

    def load(self, profile: Profile = WRITE, runtime: CodexRuntime | None = None) -> bool:
        """Load the thread, record a new one; whether it was created."""
        loaded = (runtime or self.runtime).load(self.session, profile, self.workspace)
        if loaded.created:
            self.threads = (*self.threads, loaded.thread)
        return loaded.created

    def start(
        self, client_id: str, text: str, profile: Profile = WRITE, runtime: CodexRuntime | None = None
    ) -> NativeTurn:
        self.load(profile, runtime)
        self.ids |= {client_id}
        return (runtime or self.runtime).start(self.session, client_id, text, profile)

    def run(
        self, client_id: str, text: str, profile: Profile = WRITE, runtime: CodexRuntime | None = None
    ) -> tuple[NativeTurn, Observation]:
        native = self.start(client_id, text, profile, runtime)
        return native, (runtime or self.runtime).observe(native, 30)

    def inventory(
        self, client_id: str, native: NativeTurn | None = None, runtime: CodexRuntime | None = None
    ) -> Inventory:
        return (runtime or self.runtime).inventory(self.session, TurnView(client_id, native))

    def kill(self, runtime: CodexRuntime) -> None:
        """Kill the runtime's only process, and wait until the kernel has taken its locks back."""
        ((_, pid),) = runtime.processes()
        os.kill(pid, 9)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def values(inventory: Inventory, *names: str) -> dict[str, object]:
    """Values of `native.*` facts by their short names; the status of those that are not known."""
    readings = {name: inventory.readings[f"native.{name}"] for name in names}
    return {name: reading.value if reading.status == "known" else reading.status for name, reading in readings.items()}


FAKE = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(os.environ["CODEX_HOME"])
told = json.loads((here / "scenario.json").read_text())
used = {{}}
def say(message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    with (here / "heard.jsonl").open("a") as heard:
        heard.write(line)
    if "method" not in message or "id" not in message:
        continue
    method, params = message["method"], message.get("params", {{}})
    if method == "initialize" and method not in told:
        say({{"id": message["id"], "result": {{}}}})
        continue
    answers = told.get(method, [{{"error": {{"code": -32601, "message": "not in the scenario"}}}}])
    if isinstance(answers, dict):
        answer = answers[str(params.get("cursor"))]
    else:
        answer = answers[min(used.get(method, 0), len(answers) - 1)]
        used[method] = used.get(method, 0) + 1
    for note in answer.get("before", []):
        if isinstance(note, str):
            sys.stdout.write(note + "\\n"); sys.stdout.flush()
        else:
            say(note)
    if answer.get("exit"):
        sys.exit(1)
    if not answer.get("silent"):
        say({{"id": message["id"], **{{key: answer[key] for key in ("result", "error") if key in answer}}}})
"""


class Fake:
    """A program that speaks the protocol after a scenario, for what the real one cannot be made to do."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "fake-home"
        self.home.mkdir()
        self.program = folder / "fake-codex"
        self.program.write_text(FAKE.format(python=sys.executable))
        self.program.chmod(0o755)
        self.tell({})

    def tell(self, scenario: dict[str, Any]) -> None:
        """Set what is answered: by method a list of answers in order (the last for ever), or a mapping by cursor."""

        (self.home / "scenario.json").write_text(json.dumps(scenario))

    def heard(self) -> list[dict[str, Any]]:
        """Every message that any process of this program received."""

        return [json.loads(line) for line in (self.home / "heard.jsonl").read_text().splitlines()]
