"""Does talking to a process end in time, grant nothing, and leave nothing open?"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.codex.stage import Fake

from oncemore.adapters.codex.connection import LOG_NAME, Connection, Denied, Message, environment
from oncemore.engine.errors import Uncertain, Unreadable

OK: dict[str, Any] = {"result": {"fine": True}}


def ignore(message: Message | None) -> None:
    """Hear nothing."""


def connect(fake: Fake, hear: Callable[[Message | None], None] = ignore, seconds: float = 20.0) -> Connection:
    clean = environment(fake.home, path="/usr/bin:/bin", passed_on=())
    return Connection(
        fake.program, fake.home, directory=str(fake.home), environment=clean, request_seconds=seconds, hear=hear
    )


def test_a_request_without_an_answer_ends_in_its_time_limit_and_others_go_on(fake: Fake) -> None:
    fake.tell({"silence": [{"silent": True}], "speech": [OK]})
    connection = connect(fake)
    with pytest.raises(Uncertain):
        connection.request("silence", {}, 0.1)
    assert connection.request("speech", {}) == {"fine": True}
    connection.close()


def test_a_read_without_an_answer_is_unreadable(fake: Fake) -> None:
    fake.tell({"silence": [{"silent": True}]})
    connection = connect(fake, seconds=0.1)
    with pytest.raises(Unreadable):
        connection.read("silence", {})
    connection.close()


def test_an_error_in_answer_is_a_denial_with_the_servers_words(fake: Fake) -> None:
    fake.tell({"thing": [{"error": {"code": -32600, "message": "no such thing"}}]})
    connection = connect(fake)
    with pytest.raises(Denied, match="no such thing") as denial:
        connection.request("thing", {})
    assert (denial.value.method, denial.value.message) == ("thing", "no such thing")
    connection.close()


@pytest.mark.parametrize("answer", [{"result": None}, {"result": [1]}, {}])
def test_an_answer_without_a_result_is_no_answer(fake: Fake, answer: dict[str, Any]) -> None:
    fake.tell({"thing": [answer]})
    connection = connect(fake)
    with pytest.raises(Uncertain):
        connection.request("thing", {})
    connection.close()


def test_lines_that_are_no_messages_are_counted_and_skipped(fake: Fake) -> None:
    fake.tell({"thing": [{**OK, "before": ["garbage {", "[1, 2]", '"word"']}]})
    connection = connect(fake)
    assert connection.request("thing", {}) == {"fine": True}
    assert connection.garbage == 3
    connection.close()


def test_every_request_of_the_server_is_refused(fake: Fake) -> None:
    asked = [
        {"id": "a", "method": "item/commandExecution/requestApproval", "params": {}},
        {"id": "b", "method": "item/fileChange/requestApproval", "params": {}},
        {"id": "c", "method": "execCommandApproval", "params": {}},
        {"id": "d", "method": "item/tool/requestUserInput", "params": {}},
        {"id": "e", "method": "something/new", "params": {}},
    ]
    fake.tell({"thing": [{**OK, "before": asked}], "after": [OK]})
    connection = connect(fake)
    connection.request("thing", {})
    connection.request("after", {})
    connection.close()
    answers = {message["id"]: message for message in fake.heard() if message.get("id") in {"a", "b", "c", "d", "e"}}
    assert answers["a"]["result"] == answers["b"]["result"] == {"decision": "decline"}
    assert answers["c"]["result"] == {"decision": "denied"}
    assert "error" in answers["d"] and "error" in answers["e"]
    assert connection.refused == [message["method"] for message in asked]


def test_notifications_are_heard_in_order_and_so_is_the_end(fake: Fake) -> None:
    notes = [{"method": "one", "params": {}}, {"method": "two", "params": {"new": "value"}}]
    fake.tell({"thing": [{**OK, "before": notes}]})
    heard: list[Message | None] = []
    connection = connect(fake, heard.append)
    connection.request("thing", {})
    connection.close()
    assert heard == [*notes, None]


def test_a_process_that_ends_in_the_middle_leaves_its_request_uncertain(fake: Fake) -> None:
    fake.tell({"thing": [{"exit": True}]})
    connection = connect(fake)
    with pytest.raises(Uncertain):
        connection.request("thing", {})
    with pytest.raises(Uncertain):
        connection.request("thing", {})
    connection.close()
    assert not connection.alive


def test_a_process_that_takes_no_input_ends_in_the_time_limit(fake: Fake) -> None:
    connection = connect(fake)
    os.kill(connection.pid, signal.SIGSTOP)
    try:
        with pytest.raises(Uncertain):
            connection.request("thing", {"text": "x" * 1_000_000}, 0.2)
    finally:
        os.kill(connection.pid, signal.SIGCONT)
    connection.close()


def test_closing_twice_is_closing_once(fake: Fake) -> None:
    connection = connect(fake)
    connection.close()
    connection.close()
    with pytest.raises(Uncertain):
        connection.request("thing", {})


def test_the_environment_is_made_of_named_variables_alone(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("NAMED", "n")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    monkeypatch.delenv("ABSENT", raising=False)
    made = environment(fake.home, path="/bin", passed_on=("NAMED", "ABSENT"))
    home = str(fake.home)
    assert made == {
        "PATH": "/bin",
        "HOME": home,
        "CODEX_HOME": home,
        "LANG": "C.UTF-8",
        "TZ": "Asia/Shanghai",
        "NAMED": "n",
    }


def test_standard_error_goes_to_a_private_file_that_does_not_grow_for_ever(fake: Fake) -> None:
    log = fake.home / LOG_NAME
    connect(fake).close()
    assert log.stat().st_mode & 0o777 == 0o600
    log.write_bytes(b"x" * 2_000_000)
    connect(fake).close()
    assert log.stat().st_size < 2_000_000


def test_a_link_in_the_place_of_the_log_is_not_followed(fake: Fake) -> None:
    (fake.home / LOG_NAME).symlink_to(fake.home / "elsewhere")
    with pytest.raises(Unreadable):
        connect(fake)
    assert not (fake.home / "elsewhere").exists()
