"""An event whose message can never be taken in is answered as told: telling it once more would change nothing."""

from __future__ import annotations

import json

import pytest
from tests.adapters.api.conftest import rows
from tests.adapters.api.lark import ANN, CHAT, Told
from tests.adapters.feishu.fake import FakeLark

from oncemore.engine.intake import MESSAGE_LENGTH


@pytest.mark.parametrize("text", ["", " ", "a\0b", "\ud800", "x" * (MESSAGE_LENGTH + 1), "/stop\0", "/stop \ud800"])
def test_a_text_that_cannot_be_kept_is_answered_and_leaves_no_row(told: Told, text: str) -> None:
    plain = json.loads(told.lark.event(told.lark.post(CHAT, ANN, "Please."), "e-1"))
    plain["event"]["message"]["content"] = json.dumps({"text": text})
    before = rows()
    answer = told.tell(told.seal(json.dumps(plain).encode()))
    assert (answer.status_code, answer.json()) == (200, {})
    assert rows() == before


def test_a_challenge_that_cannot_be_sent_back_is_not_believed(told: Told) -> None:
    plain = {"type": "url_verification", "token": FakeLark.verification_token, "challenge": "\ud800"}
    assert told.tell(told.seal(json.dumps(plain).encode()), {}).status_code == 403
