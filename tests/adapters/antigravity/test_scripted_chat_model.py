"""Does the scripted model say the same over the chat interface as its script says?"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from oncemore.adapters.demo.chat import ChatModel, read_request
from oncemore.adapters.demo.model import Call, Drop, Eof, Fail, ModelRequest, Say, Script, Shell, Together

ASKED = {"role": "user", "content": "<USER_REQUEST>\nplease\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx"}


@pytest.fixture
def model() -> Iterator[ChatModel]:
    with ChatModel(lambda request: SCRIPTS[request.last_user]) as made:
        yield made


SCRIPTS: dict[str, Script] = {
    "say": Say("said in two halves"),
    "both": Together((Say("I look"), Shell("ls"), Call("view_file", {"AbsolutePath": "/x"}))),
    "steps": [Shell("ls"), Say("done")],
    "limit": Fail("usage_limit"),
    "context": Fail("ctx"),
    "drop": Drop("half"),
    "eof": Eof("half"),
}


def ask(model: ChatModel, *messages: dict[str, Any], path: str = "/v1/chat/completions") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", int(model.url.rsplit(":", 1)[1]), timeout=10)
    try:
        connection.request("POST", path, json.dumps({"messages": list(messages), "stream": True}))
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode()
        except http.client.IncompleteRead as error:
            return answer.status, error.partial.decode()
    finally:
        connection.close()


def deltas(body: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in body.split("\n\n") if line.startswith("data: {")]
    return [choice for line in lines for choice in json.loads(line)["choices"]]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_an_answer_is_streamed_to_its_end(model: ChatModel) -> None:
    status, body = ask(model, user("say"))
    said = deltas(body)
    assert status == 200
    assert "".join(part["delta"].get("content", "") for part in said) == "said in two halves"
    assert said[-2]["finish_reason"] == "stop" or said[-1]["finish_reason"] == "stop"
    assert body.endswith("data: [DONE]\n\n")


def test_calls_stand_beside_the_text(model: ChatModel) -> None:
    _, body = ask(model, user("both"))
    calls = [call for part in deltas(body) for call in part["delta"].get("tool_calls", [])]
    assert [call["function"]["name"] for call in calls] == ["run_command", "view_file"]
    assert [call["index"] for call in calls] == [0, 1]
    assert any(part["finish_reason"] == "tool_calls" for part in deltas(body))


def test_the_next_step_follows_a_tools_result(model: ChatModel) -> None:
    _, body = ask(model, user("steps"), {"role": "tool", "content": "a.txt"})
    assert "".join(part["delta"].get("content", "") for part in deltas(body)) == "done"
    assert model.requests[-1].tool_results == ("a.txt",)


@pytest.mark.parametrize(
    ("text", "status", "code"), [("limit", 429, "usage_limit_reached"), ("context", 400, "context")]
)
def test_a_failure_is_told_by_its_status(model: ChatModel, text: str, status: int, code: str) -> None:
    got, body = ask(model, user(text))
    assert got == status
    assert code in json.loads(body)["error"]["code"]


def test_half_an_answer_ends_without_a_word(model: ChatModel) -> None:
    _, body = ask(model, user("eof"))
    assert [part["finish_reason"] for part in deltas(body)] == [None, None]
    assert "[DONE]" not in body


def test_a_dropped_answer_is_a_reset(model: ChatModel) -> None:
    with pytest.raises(ConnectionResetError):
        ask(model, user("drop"))


def test_another_path_is_not_here(model: ChatModel) -> None:
    assert ask(model, user("say"), path="/v1/responses")[0] == 404
    assert model.calls == 0


def test_what_the_runtime_adds_in_the_users_name_is_no_input() -> None:
    body = {
        "messages": [
            {"role": "system", "content": "be good"},
            ASKED,
            {"role": "assistant", "content": "hm"},
            {"role": "user", "content": "<SYSTEM_MESSAGE>\na task ended\n</SYSTEM_MESSAGE>"},
        ],
        "tools": [{"type": "function", "function": {"name": "view_file"}}],
    }
    assert read_request(body) == ModelRequest(("please",), (), frozenset({"view_file"}), "be good")
