"""Does the scripted model say what its script says, and count what it was asked?"""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from oncemore.adapters.demo.model import (
    Call,
    Drop,
    Eof,
    Fail,
    Hang,
    ModelRequest,
    Plan,
    Say,
    Script,
    ScriptedModel,
    Shell,
    Together,
)


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def result(text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c", "output": text}


def ask(model: ScriptedModel, *items: dict[str, Any]) -> bytes:
    body = json.dumps({"instructions": "be brief", "input": list(items), "tools": [{"name": "exec_command"}]})
    request = urllib.request.Request(f"{model.base_url}/responses", body.encode(), method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return bytes(answer.read())


def events(stream: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: ")]


def test_a_script_sees_the_users_texts_without_what_the_runtime_adds_to_them() -> None:
    seen: list[ModelRequest] = []

    def script(request: ModelRequest) -> Script:
        seen.append(request)
        return Say("yes")

    with ScriptedModel(script) as model:
        ask(model, message("<environment_context>x</environment_context>"), message("first"), result("a"), message("b"))
    assert seen[0].inputs == ("first", "b")
    assert seen[0].last_user == "b"
    assert seen[0].tool_results_since_user == ()
    assert seen[0].tools == {"exec_command"}
    assert seen[0].instructions == "be brief"


def test_steps_follow_the_tool_results_since_the_last_text_of_the_user() -> None:
    with ScriptedModel(lambda request: [Shell("ls"), Plan(), Say("done")]) as model:
        first = events(ask(model, message("go")))[-1]["response"]["output"][0]
        second = events(ask(model, message("go"), result("1")))[-1]["response"]["output"][0]
        last = events(ask(model, message("go"), result("1"), result("2"), result("3")))[-1]["response"]["output"][0]
    assert (first["name"], json.loads(first["arguments"])["cmd"]) == ("exec_command", "ls")
    assert second["name"] == "update_plan"
    assert last["content"][0]["text"] == "done"


def test_the_same_conversation_gets_the_same_bytes() -> None:
    both = Together((Say("thinking", "commentary"), Call("tool", {"a": 1})))
    with ScriptedModel(lambda request: both) as model, ScriptedModel(lambda request: both) as other:
        assert ask(model, message("go")) == ask(other, message("go"))
        assert ask(model, message("go")) != ask(model, message("go on"))


def test_another_process_reads_the_book_and_the_capacity() -> None:
    with ScriptedModel(lambda request: Say("x")) as model:
        ask(model, message("one"))
        model.capacity = "exhausted"
        with urllib.request.urlopen(f"{model.url}/book", timeout=20) as answer:
            book = json.load(answer)
        with urllib.request.urlopen(f"{model.url}/capacity", timeout=20) as answer:
            assert json.load(answer) == {"state": "exhausted"}
        assert model.calls == 1
    assert book["calls"] == 1
    assert book["requests"][0]["last_user"] == "one"
    assert book["requests"][0]["reply"] == "say"


@pytest.mark.parametrize(("kind", "status"), [("usage_limit", 429), ("http503", 503), ("http401", 401)])
def test_a_failure_before_the_stream_has_its_status(kind: Any, status: int) -> None:
    with ScriptedModel(lambda request: Fail(kind)) as model:
        with pytest.raises(urllib.error.HTTPError) as failure:
            ask(model, message("go"))
        with failure.value as error:
            assert error.code == status
        assert model.calls == 1


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("ctx", "response.failed"),
        ("sse_quota", "response.failed"),
        ("server_error", "response.failed"),
        ("incomplete", "response.incomplete"),
    ],
)
def test_a_failure_in_the_stream_is_its_last_event(kind: Any, last: str) -> None:
    with ScriptedModel(lambda request: Fail(kind)) as model:
        assert events(ask(model, message("go")))[-1]["type"] == last


def test_a_dropped_answer_ends_in_a_reset_and_a_cut_one_in_a_clean_end_without_completion() -> None:
    with ScriptedModel(lambda request: Drop() if request.last_user == "drop" else Eof("half a word")) as model:
        with pytest.raises((ConnectionError, http.client.IncompleteRead)):
            ask(model, message("drop"))
        kinds = [event["type"] for event in events(ask(model, message("eof")))]
    assert "response.output_text.delta" in kinds
    assert "response.completed" not in kinds


def test_a_hanging_answer_goes_on_when_it_is_released() -> None:
    release = threading.Event()
    answers: list[bytes] = []
    with ScriptedModel(lambda request: Hang(release, Say("at last"))) as model:
        asking = threading.Thread(target=lambda: answers.append(ask(model, message("go"))))
        asking.start()
        assert model.wait_for_calls(1)
        assert not answers
        release.set()
        asking.join(20)
    assert events(answers[0])[-1]["response"]["output"][0]["content"][0]["text"] == "at last"


def test_a_hanging_answer_does_not_keep_the_model_from_ending() -> None:
    answers: list[bytes] = []
    with ScriptedModel(lambda request: Hang(threading.Event())) as model:
        asking = threading.Thread(target=lambda: answers.append(ask(model, message("go"))))
        asking.start()
        assert model.wait_for_calls(1)
    asking.join(20)
    assert [event["type"] for event in events(answers[0])] == ["response.created"]


def test_waiting_for_more_calls_than_come_says_so() -> None:
    with ScriptedModel(lambda request: Say("x")) as model:
        assert not model.wait_for_calls(1, timeout=0.01)
