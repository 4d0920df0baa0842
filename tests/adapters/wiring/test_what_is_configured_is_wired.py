"""What stands behind the engine's ports, and which parts of the program are there at all?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.antigravity.fake import FakeLanguageServer, Look, planned
from tests.adapters.wiring.conftest import SECRET, configure

from oncemore.adapters import wiring
from oncemore.adapters.antigravity.harness import HarnessRuntime
from oncemore.adapters.antigravity.language_server import AntigravityRuntime
from oncemore.adapters.codex.account import Account
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.chat import ChatModel
from oncemore.adapters.demo.model import Say
from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.feishu import Feishu
from oncemore.engine.journal import system_clock
from oncemore.engine.tables import Session, Turn
from oncemore.engine.worker import Worker

WORKSPACE = (
    "workspaces:\n  notes: {path: notes, owner: ann, level: workspace_write, revision: 1, runtime: antigravity}\n"
)
TOKEN = "ONCEMORE_TEST_TOKEN"


def write(folder: Path, runtimes: str, rest: str = "") -> Path:
    folder.chmod(0o755)
    (folder / "notes").mkdir(exist_ok=True)
    file = folder / "oncemore.yaml"
    file.write_text(f"journal: data/oncemore.db\nruntimes:\n{runtimes}{rest}")
    file.chmod(0o600)
    return file


def server(base: str) -> str:
    return (
        f"  antigravity: {{home: antigravity, server: '{base}', token: {{environment: {TOKEN}}},"
        " planners: {workspace_write: {requestedModel: {model: scripted}}}}\n"
    )


def test_a_message_is_answered_through_the_language_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeLanguageServer(tmp_path / "notes", clock=system_clock) as fake:
        monkeypatch.setenv(TOKEN, fake.token)
        fake.after_send(Look(steps=[planned("written")], executors=[("NO_TOOL_CALL", 1)]))
        file = write(tmp_path, server(fake.base_url), WORKSPACE)
        with wiring.opened(file, worker=True) as house:
            assert isinstance(house.ports.runtimes["antigravity"], AntigravityRuntime)
            request = house.ask("notes", "write two parts")
            Worker(wiring.context(house, wiring.rulebook(house.configuration))).run_due()
            session = Session.get()
            assert (session.runtime, session.home) == ("antigravity", str(tmp_path / "antigravity"))
            assert Turn.get(Turn.request == request).status == "completed"
            assert [post.text for post in house.inbox.conversation("notes")][1:] == ["written"]
    (sent,) = fake.sends
    assert sent["cascadeConfig"]["plannerConfig"] == {"requestedModel": {"model": "scripted"}}


def test_a_message_is_answered_through_the_harness(tmp_path: Path) -> None:
    with ChatModel(lambda request: Say("written")) as model:
        runtime = f"  antigravity: {{home: antigravity, harness: {{model: scripted, base_url: '{model.base_url}'}}}}\n"
        with wiring.opened(write(tmp_path, runtime, WORKSPACE), worker=True) as house:
            assert isinstance(house.ports.runtimes["antigravity"], HarnessRuntime)
            house.ask("notes", "write two parts")
            Worker(wiring.context(house, wiring.rulebook(house.configuration))).run_due()
            assert [post.text for post in house.inbox.conversation("notes")][1:] == ["written"]


def test_reviews_run_in_the_home_of_the_runtime_that_is_named_for_them(tmp_path: Path) -> None:
    file = write(tmp_path, server("http://127.0.0.1:9") + "  codex: {home: codex}\n", "reviews: codex\n")
    with wiring.opened(file, worker=True) as house:
        assert house.ports.reviews == ("codex", str(tmp_path / "codex"))
        assert isinstance(house.ports.runtimes["codex"], CodexRuntime)
    with wiring.opened(write(tmp_path, "  codex: {home: codex}\n"), worker=True) as house:
        assert house.ports.reviews is None and isinstance(house.ports.capacity["codex"], Account)


def test_a_server_with_a_certificate_of_its_own_is_asked_by_a_client_of_its_own(tmp_path: Path) -> None:
    capacity = "  codex: {home: c, capacity: {url: 'https://status.example/q', path: s, available: a, exhausted: b}}\n"
    with wiring.opened(write(tmp_path, server("https://127.0.0.1:9") + capacity), worker=True) as house:
        assert set(house.ports.runtimes) == {"antigravity", "codex"} and set(house.ports.capacity) == {"codex"}


def test_the_configured_source_stands_beside_the_inbox(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with wiring.opened(configure(tmp_path, "http://127.0.0.1:9")) as house:
        assert set(house.ports.sources) == {"inbox", "team"}
        assert isinstance(house.ports.sources["team"], Feishu)


def test_a_workspace_asks_for_the_runtime_that_it_names(tmp_path: Path) -> None:
    file = write(tmp_path, server("http://127.0.0.1:9"), WORKSPACE.replace(", runtime: antigravity", ""))
    with wiring.opened(file) as house, pytest.raises(ConfigurationRefused, match="no runtime `codex`"):
        house.ask("notes", "hello")


def test_a_conversation_whose_workspace_changed_its_runtime_goes_on_after_new(tmp_path: Path) -> None:
    both = server("http://127.0.0.1:9") + "  codex: {home: codex}\n"
    with wiring.opened(write(tmp_path, both, WORKSPACE.replace("runtime: antigravity", "runtime: codex"))) as house:
        house.ask("notes", "hello")
        house.ask("notes", "/new")
    with wiring.opened(write(tmp_path, both, WORKSPACE)) as house:
        house.ask("notes", "hello")
        (left,), (current,) = (Session.select().where(Session.left_at.is_null(not_left)) for not_left in (False, True))
        assert (left.runtime, current.runtime) == ("codex", "antigravity")


@pytest.mark.parametrize(
    ("worker", "there"), [(False, set()), (True, {"oncemore.adapters.codex"})], ids=["a person's", "a worker's"]
)
def test_what_is_not_configured_is_not_even_imported(tmp_path: Path, worker: bool, there: set[str]) -> None:
    program = (
        "import sys; from pathlib import Path; from oncemore.adapters import wiring\n"
        f"with wiring.opened(Path(sys.argv[1]), worker={worker}): pass\n"
        "print(*(name for name in sys.modules))"
    )
    file = write(tmp_path, "  codex: {home: codex}\n")
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    optional = {f"oncemore.adapters.{name}" for name in ("codex", "antigravity", "feishu", "capacity")}
    assert (optional | {"httpx", "websockets"}) & set(done.stdout.split()) == there


def test_no_secret_is_needed_until_something_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET, raising=False)
    tmp_path.chmod(0o755)
    with wiring.opened(configure(tmp_path, "http://127.0.0.1:9"), worker=True) as house:
        assert "team" in house.ports.sources
