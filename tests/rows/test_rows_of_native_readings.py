"""Rows N: what a runtime says of its own history counts only when all of it was read, and means what it says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.antigravity.fake import Look, asked, command, planned
from tests.adapters.antigravity.stand import Stand
from tests.adapters.antigravity.stand import values as of_antigravity
from tests.adapters.codex.stage import Fake, Stage, values
from tests.rows.removals import guard, read_once, the_first_page
from tests.rows.row import row

from oncemore.adapters.antigravity.conversation import Conversation
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.codex import reading as codex_reading
from oncemore.adapters.codex.connection import Connection, Denied
from oncemore.adapters.codex.facts import Held
from oncemore.adapters.codex.owner import Owner
from oncemore.adapters.codex.reading import History
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.model import ModelRequest, Say, Script, Shell
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import NativeTurn, SessionView, Thread, TurnView

THREAD = "0190-thread"
ASKED = asked("please", "request-1")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Stage]:
    monkeypatch.setenv("MODEL_KEY", "a key for nobody")
    with ExitStack() as cleanup:
        made = Stage(tmp_path, cleanup)
        taken_out(made)
        yield made


@pytest.fixture
def fake(tmp_path: Path, taken_out: Callable[[object], None]) -> Fake:
    made = Fake(tmp_path)
    taken_out(made)
    return made


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_out: Callable[[object], None]) -> Iterator[Stand]:
    with ExitStack() as cleanup:
        folder = tmp_path / "workspace"
        folder.mkdir()
        made = Stand(folder, cleanup)
        monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", made.server.token)
        taken_out(made)
        yield made


def _as_codex_likes(
    connection: Connection, thread_id: str, cursor: str | None, seen: set[str], order: str
) -> tuple[list[Any], str | None, str | None]:
    params = {"threadId": thread_id, "sortDirection": order, **({"cursor": cursor} if cursor else {})}
    try:
        answer = connection.read("thread/turns/list", params)
    except Denied as error:
        raise Unreadable(str(error)) from error
    return answer["data"], answer["nextCursor"], None


@row(
    "N1",
    "A thread's turns are asked for with all of their items, because Codex leaves most of them out by itself.",
    on="real Codex",
    removed=guard("oncemore.adapters.codex.reading._page", _as_codex_likes, "asking for turns with all of their items"),
)
def test_N01_turns_are_asked_for_with_all_of_their_items(stage: Stage) -> None:
    def script(request: ModelRequest) -> Script:
        return [Shell("printf one > one.md"), Say("Written.")]

    stage.script = script  # type: ignore[method-assign]
    native, _ = stage.run("request-1", "Write one.md.")
    stage.runtime.release(stage.session)
    inventory = stage.inventory("request-1", native)
    assert (stage.folder / "one.md").read_text() == "one"
    assert values(inventory, "coverage", "effects") == {"coverage": "complete", "effects": "settled"}
    assert inventory.answer == "Written."


def _until_it_fails(
    connection: Connection, thread_id: str, cursor: str | None, seen: set[str], order: str
) -> tuple[list[Any], str | None, str | None]:
    try:
        return PAGE(connection, thread_id, cursor, seen, order)
    except Unreadable:
        return [], None, None


PAGE = codex_reading._page


def _answered(name: str) -> dict[str, Any]:
    user = {"type": "userMessage", "id": f"u-{name}", "clientId": f"request-{name}", "content": []}
    agent = {"type": "agentMessage", "id": "m", "text": "done", "phase": None}
    told = {"id": f"turn-{name}", "items": [user, agent], "itemsView": "full", "status": "completed", "error": None}
    return {**told, "startedAt": 1, "completedAt": 2}


@row(
    "N2",
    "A history of which a later page could not be read is used as none: it is partial, and nothing is absent from it.",
    on="fake Codex",
    removed=guard(
        "oncemore.adapters.codex.reading._page", _until_it_fails, "counting a history only when its last page was read"
    ),
)
def test_N02_a_history_whose_second_page_fails_proves_nothing(fake: Fake) -> None:
    about = {"id": THREAD, "status": {"type": "notLoaded"}, "historyMode": "paginated", "path": "/nowhere"}
    fake.tell(
        {
            "thread/read": [{"result": {"thread": about}}],
            "thread/turns/list": {
                "None": {"result": {"data": [_answered("1")], "nextCursor": "a"}},
                "a": {"error": {"message": "gone"}},
            },
            "config/read": [{"result": {"config": {"features": {}, "mcp_servers": {}}}}],
        }
    )
    ids = frozenset({"request-1", "request-2"})
    session = SessionView("s", "codex", str(fake.home), (Thread("codex", str(fake.home), THREAD),), ids)
    inventory = CodexRuntime(fake.program).inventory(session, TurnView("request-2", NativeTurn(THREAD, "turn-2")))
    assert not inventory.complete
    told = values(inventory, "coverage", "status", "turn_bound")
    assert told == {"coverage": "partial", "status": "reported", "turn_bound": "reported"}


def _active_or_idle(found: tuple[History, Mapping[str, Any]] | None, held: Held) -> tuple[str, None]:
    return ("active" if (held.status or {}).get("type") == "active" else "idle"), None


@row(
    "N3",
    "A thread whose status is an error or an unknown word is not idle while no end of the turn is recorded.",
    on="real Codex",
    removed=guard("oncemore.adapters.codex.facts._run_state", _active_or_idle, "taking only known words for rest"),
)
@pytest.mark.parametrize("word", ["systemError", "unheardOf"])
def test_N03_an_unknown_or_broken_status_is_not_idle(stage: Stage, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    stage.run("request-1", "hello")
    assert values(stage.inventory("request-1"), "run_state") == {"run_state": "idle"}
    monkeypatch.setattr(Owner, "status", lambda owner: {"type": word})
    assert values(stage.inventory("request-2"), "run_state") == {"run_state": "reported"}


def _as_it_is_listed(server: LanguageServer, cascade_id: str, known: Collection[str]) -> Conversation:
    listed = server.read("GetAllCascadeTrajectories", {}).get("trajectorySummaries", {})
    assert cascade_id not in listed
    return Conversation(cascade_id, run="IDLE", client_ids={}, complete=True, agree=True)


@row(
    "N4",
    "An empty list of conversations proves no absence: the conversation itself is read, and the message found in it.",
    on="fake language server",
    removed=guard(
        "oncemore.adapters.antigravity.reading.look",
        _as_it_is_listed,
        "reading the conversation itself instead of the list",
    ),
)
def test_N04_an_empty_list_of_conversations_proves_no_absence(stand: Stand) -> None:
    stand.server.begin()
    stand.server.script(Look([ASKED, planned("done")]))
    stand.threads = (Thread("antigravity", "/nowhere", "cascade-1"),)
    stand.ids = frozenset({"request-1"})
    stand.server.faults.unlisted = 1_000
    inventory = stand.runtime.inventory(stand.session, stand.turn())
    assert inventory.complete
    assert [record.client_ids for record in inventory.turns] == [("request-1",)]
    assert of_antigravity(inventory.readings, "native.status") == {"native.status": "completed"}


@row(
    "N5",
    "A conversation that the server cuts short is caught by the number of steps, and proves neither end nor absence.",
    on="fake language server",
    removed=guard(
        "oncemore.adapters.antigravity.reading._read", the_first_page, "reading on until all steps are there"
    ),
)
def test_N05_a_conversation_that_is_cut_short_is_caught_by_its_number_of_steps(stand: Stand) -> None:
    steps = [ASKED, planned("", calls=["call-1"]), command(state="CANCELED"), planned("done")]
    native = stand.reads(Look(steps, page=3, refuses_pages=True))
    inventory = stand.inventory(native)
    assert (inventory.complete, inventory.turns, inventory.observation) == (False, (), None)
    assert of_antigravity(inventory.readings, "native.coverage") == {"native.coverage": "partial"}
    assert stand.observe(native).readings == {}


@row(
    "N6",
    "A tool that ran between the status and the steps is seen: status and steps are read twice and must be the same.",
    on="fake language server",
    removed=guard("oncemore.adapters.antigravity.reading.look", read_once, "reading status and steps a second time"),
)
def test_N06_a_tool_that_ran_between_two_readings_is_seen(stand: Stand) -> None:
    before = Look([ASKED, planned("", calls=["call-1"])])
    after = Look([ASKED, planned("", calls=["call-1"]), command()])
    native = stand.reads(before)
    stand.server.script(before, after)
    inventory = stand.inventory(native)
    assert (inventory.complete, inventory.observation) == (False, None)
    assert of_antigravity(inventory.readings, "native.read") == {"native.read": "changing"}
    settled = stand.inventory(native)
    assert settled.complete
    assert of_antigravity(settled.readings, "native.effects") == {"native.effects": "settled"}
