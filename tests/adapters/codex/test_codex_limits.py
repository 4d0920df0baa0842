"""Is a thread used only in the folder that was opened, and under limits no wider than asked for?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.stage import READ, WRITE, Fake, Stage

from oncemore.adapters.codex.profile import policy, unrestricted, widening
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.demo.model import ModelRequest, Say, Script, Shell
from oncemore.engine.errors import Busy, Refused, Uncertain, Unreadable
from oncemore.engine.ports import Profile, SessionView, Thread, TurnView, Workspace

HERE = Workspace("/srv/space", 1, 2)
OFF = {
    "web_search": "disabled",
    "mcp_servers": {},
    "notify": None,
    "agents": {"enabled": False},
    "features": dict.fromkeys(("apps", "hooks", "multi_agent", "plugins", "remote_plugin"), False),
}


def writing(**other: Any) -> dict[str, Any]:
    return {"approvalPolicy": "never", "sandbox": {**policy(WRITE), **other}}


def test_a_folder_that_was_replaced_after_it_was_opened_is_refused_and_let_go(stage: Stage) -> None:
    stage.folder.rename(stage.folder.with_name("moved"))
    stage.folder.mkdir()
    with pytest.raises(Refused, match="not the workspace that was opened"):
        stage.load()
    assert stage.runtime.processes() == []


def test_a_folder_that_became_a_link_to_another_one_is_refused(stage: Stage) -> None:
    stage.folder.rename(stage.folder.with_name("moved"))
    (stage.folder.with_name("other")).mkdir()
    stage.folder.symlink_to(stage.folder.with_name("other"))
    with pytest.raises(Refused):
        stage.load()


def test_a_folder_that_is_replaced_after_the_thread_was_loaded_is_refused_and_nothing_is_started(stage: Stage) -> None:
    stage.script = lambda request: [Shell("echo x > written"), Say("done")]
    stage.load()
    real = stage.folder.rename(stage.folder.with_name("real"))
    stage.folder.mkdir()
    with pytest.raises(Refused, match="no longer the workspace"):
        stage.runtime.start(stage.session, "request-1", "hello", WRITE)
    stage.folder.rmdir()
    with pytest.raises(Refused, match="no longer the workspace"):
        stage.runtime.start(stage.session, "request-1", "hello", WRITE)
    assert stage.model.calls == 0
    real.rename(stage.folder)
    stage.run("request-1", "hello", WRITE)
    assert (stage.folder / "written").exists()


def test_a_folder_that_is_replaced_by_a_link_to_another_is_refused_before_the_next_turn(stage: Stage) -> None:
    stage.run("request-1", "hello")
    stage.folder.rename(stage.folder.with_name("real"))
    stage.folder.with_name("other").mkdir()
    stage.folder.symlink_to(stage.folder.with_name("other"))
    with pytest.raises(Refused, match="no longer the workspace"):
        stage.runtime.start(stage.session, "request-2", "more", WRITE)
    assert stage.model.calls == 1


def test_a_link_to_the_very_folder_is_the_workspace(stage: Stage) -> None:
    stage.load()
    real = stage.folder.rename(stage.folder.with_name("real"))
    stage.folder.symlink_to(real)
    assert stage.run("request-1", "hello")[1].status == "completed"


def test_a_loaded_thread_is_not_used_for_another_folder(stage: Stage) -> None:
    stage.load()
    other = stage.folder.with_name("other")
    other.mkdir()
    with pytest.raises(Refused, match="another folder"):
        stage.runtime.load(stage.session, WRITE, stage.opened(other))


def test_a_resumed_thread_works_in_the_opened_folder(stage: Stage) -> None:
    stage.run("request-1", "hello")
    stage.runtime.close()
    other = stage.folder.with_name("other")
    other.mkdir()
    loaded = stage.runtime.load(stage.session, WRITE, stage.opened(other))
    assert not loaded.created


def test_a_restricted_turn_is_offered_no_way_out_beside_the_shell(stage: Stage) -> None:
    offered: list[frozenset[str]] = []

    def script(request: ModelRequest) -> Script:
        offered.append(request.tools)
        return Say("done")

    stage.script = script
    stage.run("request-1", "hello", WRITE)
    stage.run("request-2", "look", READ)
    ways_out = {"web_search", "multi_agent_v1"}
    assert ways_out <= offered[0]
    assert not ways_out & offered[1]
    assert "exec_command" in offered[1]


def test_no_turn_is_offered_goals_because_a_goal_begins_turns_by_itself(stage: Stage) -> None:
    offered: list[str] = []

    def script(request: ModelRequest) -> Script:
        offered.extend(request.tools)
        return Say("done")

    stage.script = script
    stage.run("request-1", "hello", WRITE)
    assert "exec_command" in offered
    assert not [tool for tool in offered if "goal" in tool]


def test_the_restriction_is_read_back_from_the_process_that_will_run(stage: Stage) -> None:
    stage.load(READ)
    reading = stage.inventory("request-1").readings["route.restricted_profile"]
    assert reading.value is True
    assert reading.evidence is not None
    assert reading.evidence.details["asked"] == "the process that has the thread loaded"


def test_an_mcp_server_of_the_home_is_switched_off_for_a_restricted_process(stage: Stage) -> None:
    with (stage.home / "config.toml").open("a") as config:
        config.write('[mcp_servers.files]\ncommand = "/bin/true"\n')
    stage.load(READ)
    assert stage.inventory("request-1").readings["route.restricted_profile"].value is True


def test_a_notifier_of_the_home_is_switched_off_for_a_restricted_process(stage: Stage) -> None:
    config = stage.home / "config.toml"
    config.write_text(f'notify = ["/bin/true"]\n{config.read_text()}')
    stage.load(READ)
    assert stage.inventory("request-1").readings["route.restricted_profile"].value is True


def test_starting_a_restricted_turn_in_an_unrestricted_process_is_refused(stage: Stage) -> None:
    stage.load(WRITE)
    with pytest.raises(Refused):
        stage.runtime.start(stage.session, "request-1", "look", READ)
    assert stage.model.calls == 0


def test_a_turn_that_runs_keeps_its_thread_from_being_loaded_under_other_limits(stage: Stage) -> None:
    stage.start("request-1", "hang", WRITE)
    assert stage.model.wait_for_calls(1)
    with pytest.raises(Busy):
        stage.load(READ)


@pytest.mark.parametrize(
    ("reported", "profile", "wider"),
    [
        (writing(), WRITE, None),
        (writing(), READ, "may write"),
        (writing(networkAccess=True), WRITE, "network"),
        (writing(networkAccess=True), Profile("workspace_write", network=True), None),
        (writing(networkAccess="restricted"), WRITE, "network"),
        (writing(excludeSlashTmp=False), WRITE, "temporary"),
        (writing(excludeTmpdirEnvVar=None), WRITE, "temporary"),
        (writing(writableRoots=["/elsewhere"]), WRITE, "/elsewhere"),
        (writing(writableRoots=["/elsewhere"]), Profile("workspace_write", ("/elsewhere",)), None),
        (writing(writableRoots=[HERE.path]), WRITE, None),
        (writing(writableRoots=None), WRITE, "None"),
        ({"approvalPolicy": "on-request", "sandbox": policy(READ)}, READ, "on-request"),
        ({"approvalPolicy": "never", "sandbox": policy(READ)}, WRITE, None),
        ({"approvalPolicy": "never", "sandbox": {"type": "dangerFullAccess"}}, WRITE, "dangerFullAccess"),
        ({"approvalPolicy": "never"}, READ, "None"),
    ],
)
def test_limits_that_are_wider_or_not_told_are_named(
    reported: dict[str, Any], profile: Profile, wider: str | None
) -> None:
    found = widening(reported, profile, HERE)
    assert found is None if wider is None else wider in str(found)


@pytest.mark.parametrize(
    ("change", "has"),
    [
        ({}, None),
        ({"web_search": None}, "web search"),
        ({"agents": None}, "sub-agents"),
        ({"agents": {}}, "sub-agents"),
        ({"web_search": "live"}, "web search"),
        ({"features": {**OFF["features"], "multi_agent": None}}, "multi_agent"),
        ({"features": {**OFF["features"], "computer_use": True}}, "computer_use"),
        ({"features": None}, "does not report"),
        ({"mcp_servers": {"files": {"enabled": False}}}, None),
        ({"mcp_servers": {"files": {}}}, "MCP server"),
        ({"notify": ["/bin/true"]}, "notifier"),
    ],
)
def test_what_is_not_told_as_off_counts_as_on(change: dict[str, Any], has: str | None) -> None:
    found = unrestricted({**OFF, **change})
    assert found is None if has is None else has in str(found)


THREAD = "0190-thread"


def loaded(folder: Path, **other: Any) -> dict[str, Any]:
    thread = {"id": THREAD, "cwd": str(folder), "status": {"type": "idle"}}
    report = {"thread": thread, "cwd": str(folder), "approvalPolicy": "never", "sandbox": policy(WRITE)}
    return {"result": {**report, **other}}


def opened(folder: Path) -> Workspace:
    told = folder.stat()
    return Workspace(str(folder), told.st_dev, told.st_ino)


def empty(fake: Fake) -> SessionView:
    return SessionView("s", "codex", str(fake.home), ())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"sandbox": {"type": "dangerFullAccess"}}, Refused),
        ({"approvalPolicy": "on-request"}, Refused),
        ({"cwd": "/"}, Refused),
        ({"cwd": "/nowhere/at/all"}, Refused),
        ({"thread": {"id": THREAD, "cwd": "/"}}, Refused),
        ({"thread": {}}, Unreadable),
    ],
)
def test_a_thread_that_reports_something_else_is_let_go(
    fake: Fake, tmp_path: Path, change: dict[str, Any], error: type[Exception]
) -> None:
    fake.tell({"thread/start": [loaded(tmp_path, **change)]})
    runtime = CodexRuntime(fake.program)
    with pytest.raises(error):
        runtime.load(empty(fake), WRITE, opened(tmp_path))
    assert runtime.processes() == []


def test_a_resumed_thread_must_be_the_one_asked_for(fake: Fake, tmp_path: Path) -> None:
    about = {"id": "0190-other", "status": {"type": "notLoaded"}, "historyMode": "paginated"}
    fake.tell(
        {
            "thread/read": [{"result": {"thread": about}}],
            "thread/resume": [loaded(tmp_path)],
        }
    )
    session = SessionView("s", "codex", str(fake.home), (Thread("codex", str(fake.home), "0190-other"),))
    with pytest.raises(Refused, match="another thread"):
        CodexRuntime(fake.program).load(session, WRITE, opened(tmp_path))


def started(fake: Fake, tmp_path: Path, answer: dict[str, Any], **other: Any) -> tuple[CodexRuntime, SessionView]:
    idle = {"result": {"thread": {"id": THREAD, "status": {"type": "idle"}}}}
    fake.tell({"thread/start": [loaded(tmp_path)], "thread/read": [idle], "turn/start": [answer], **other})
    runtime = CodexRuntime(fake.program, request_seconds=0.3)
    thread = runtime.load(empty(fake), WRITE, opened(tmp_path)).thread
    return runtime, SessionView("s", "codex", str(fake.home), (thread,), frozenset({"request-1"}))


@pytest.mark.parametrize("answer", [{"silent": True}, {"exit": True}, {"result": {}}])
def test_a_start_without_a_proper_answer_is_uncertain(fake: Fake, tmp_path: Path, answer: dict[str, Any]) -> None:
    runtime, session = started(fake, tmp_path, answer)
    with pytest.raises(Uncertain):
        runtime.start(session, "request-1", "hello", WRITE)
    runtime.close()


def test_a_start_that_was_not_answered_keeps_its_process_for_the_inventory(fake: Fake, tmp_path: Path) -> None:
    runtime, session = started(fake, tmp_path, {"silent": True})
    with pytest.raises(Uncertain):
        runtime.start(session, "request-1", "hello", WRITE)
    assert [thread_id for thread_id, _ in runtime.processes()] == [THREAD]
    runtime.close()


def test_a_start_that_was_not_answered_proves_no_absence_until_its_process_was_let_go(
    fake: Fake, tmp_path: Path
) -> None:
    empty_page = {"result": {"data": [], "nextCursor": None}}
    about = {"id": THREAD, "status": {"type": "idle"}, "historyMode": "paginated", "path": "/nowhere"}
    listed = {"thread/turns/list": [empty_page], "thread/read": [{"result": {"thread": about}}]}
    none_run = {"thread/backgroundTerminals/list": [empty_page]}
    runtime, session = started(fake, tmp_path, {"silent": True}, **listed, **none_run)
    asked = TurnView("request-1")
    with pytest.raises(Uncertain):
        runtime.start(session, "request-1", "hello", WRITE)
    assert not runtime.inventory(session, asked).complete
    with pytest.raises(Busy):
        runtime.start(session, "request-2", "more", WRITE)
    assert runtime.release(session)
    assert runtime.inventory(session, asked).complete


def test_a_start_that_the_server_denies_is_refused(fake: Fake, tmp_path: Path) -> None:
    runtime, session = started(fake, tmp_path, {"error": {"message": "no"}})
    with pytest.raises(Refused):
        runtime.start(session, "request-1", "hello", WRITE)
    runtime.close()


@pytest.mark.parametrize("status", [{"type": "active", "activeFlags": []}, {"type": "notLoaded"}, {"type": "new"}])
def test_a_start_in_a_thread_that_is_not_idle_is_busy_and_is_not_sent(
    fake: Fake, tmp_path: Path, status: dict[str, Any]
) -> None:
    about = [{"result": {"thread": {"id": THREAD, "status": status}}}]
    runtime, session = started(fake, tmp_path, {"result": {"turn": {"id": "t"}}}, **{"thread/read": about})
    with pytest.raises(Busy):
        runtime.start(session, "request-1", "hello", WRITE)
    runtime.close()
    assert "turn/start" not in [message["method"] for message in fake.heard()]


def test_every_turn_is_given_its_own_limits(fake: Fake, tmp_path: Path) -> None:
    runtime, session = started(fake, tmp_path, {"result": {"turn": {"id": "t"}}})
    runtime.start(session, "request-1", "hello", Profile("workspace_write", ("/more",), network=True))
    runtime.close()
    (sent,) = [message["params"] for message in fake.heard() if message["method"] == "turn/start"]
    assert sent["approvalPolicy"] == "never"
    assert sent["clientUserMessageId"] == "request-1"
    assert json.loads(json.dumps(sent["sandboxPolicy"])) == {
        "type": "workspaceWrite",
        "writableRoots": ["/more"],
        "networkAccess": True,
        "excludeTmpdirEnvVar": True,
        "excludeSlashTmp": True,
    }


def test_an_interrupt_that_is_not_answered_is_uncertain_and_sent_once(fake: Fake, tmp_path: Path) -> None:
    begun = {"method": "turn/started", "params": {"threadId": THREAD, "turn": {"id": "t"}}}
    runtime, session = started(
        fake,
        tmp_path,
        {"result": {"turn": {"id": "t"}}, "before": [begun]},
        **{"turn/interrupt": [{"silent": True}]},
    )
    native = runtime.start(session, "request-1", "hello", WRITE)
    runtime._cancel_seconds = 0.3
    for _ in range(2):
        with pytest.raises(Uncertain):
            runtime.cancel(native)
    runtime.close()
    assert [message["method"] for message in fake.heard()].count("turn/interrupt") == 1
