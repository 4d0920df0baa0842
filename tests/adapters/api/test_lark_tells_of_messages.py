"""Lark's events over HTTP: believed when they are its own word of these minutes, and answered after the commit."""

from __future__ import annotations

import base64
import json
import threading
from pathlib import Path

import pytest
from tests.adapters.api.conftest import opened, rows
from tests.adapters.api.lark import ANN, CHAT, NAMES, Told, configuration, set_secrets
from tests.adapters.feishu.fake import FakeLark

from oncemore.adapters.api import events
from oncemore.adapters.api.logs import logged
from oncemore.adapters.errors import ConfigurationInvalid, ConfigurationRefused
from oncemore.engine.tables import Request


def test_a_message_is_taken_in_and_answered_after_the_commit(told: Told) -> None:
    answer = told.tell(told.event())
    assert (answer.status_code, answer.json()) == (200, {})
    (row,) = Request.select()
    assert (row.sender, row.state) == (ANN, "open")


def test_what_is_told_again_in_whatever_order_leaves_no_row(told: Told) -> None:
    first, second = told.event("first", "e-1"), told.event("second", "e-2")
    for raw in (first, second):
        assert told.tell(raw).status_code == 200
    before = rows()
    for raw in (second, first, first, second):
        assert told.tell(raw).status_code == 200
    assert rows() == before
    assert Request.select().count() == 2


def test_the_same_message_under_another_event_leaves_no_row(told: Told) -> None:
    message = told.lark.post(CHAT, ANN, "once")
    assert told.tell(told.seal(told.lark.event(message, "e-1"))).status_code == 200
    before = rows()
    assert told.tell(told.seal(told.lark.event(message, "e-2"))).status_code == 200
    assert rows() == before


def test_what_is_forged_leaves_no_row(told: Told) -> None:
    raw = told.event()
    good = told.lark.signed(raw)
    before = rows()
    forged = [
        (raw, {}),
        (raw, {**good, "X-Lark-Signature": "0" * 64}),
        (raw, {**good, "X-Lark-Request-Nonce": "another"}),
        (raw, {**good, "X-Lark-Request-Timestamp": str(int(good["X-Lark-Request-Timestamp"]) + 1)}),
        (raw + b" ", good),
        (told.event("other", "e-9"), good),
        (b"", good),
        (b'{"encrypt": "' + base64.b64encode(b"0" * 64) + b'"}', {}),
    ]
    for content, headers in forged:
        answer = told.tell(content, headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "A210")
        assert FakeLark.encrypt_key not in answer.text and "signature" not in answer.text
    assert rows() == before


def test_what_is_signed_and_of_another_app_or_without_its_token_leaves_no_row(told: Told) -> None:
    plain = json.loads(told.lark.event(told.lark.post(CHAT, ANN, "hello"), "e-1"))
    before = rows()
    for change in ({"app_id": "cli_other"}, {"token": "guessed"}):
        raw = told.seal(json.dumps({**plain, "header": {**plain["header"], **change}}).encode())
        assert told.tell(raw).status_code == 403
    assert rows() == before


@pytest.mark.parametrize("minutes", [-6, 6])
def test_what_is_not_of_these_minutes_leaves_no_row(told: Told, minutes: int) -> None:
    raw = told.event()
    headers = told.lark.signed(raw)
    before = rows()
    told.world.clock.ms += minutes * 60_000
    assert told.tell(raw, headers).status_code == 403
    assert rows() == before


def test_who_may_not_ask_leaves_no_row(told: Told) -> None:
    before = rows()
    assert told.tell(told.event(author="ou_stranger")).status_code == 200
    assert rows() == before


def test_more_than_a_megabyte_is_not_read(told: Told) -> None:
    raw = b" " * (1024 * 1024 + 1)
    answer = told.tell(raw)
    assert (answer.status_code, answer.json()["code"]) == (413, "A203")


def test_the_challenge_is_answered_signed_or_not(told: Told) -> None:
    raw = told.seal(
        json.dumps({"type": "url_verification", "token": FakeLark.verification_token, "challenge": "c-1"}).encode()
    )
    for headers in (None, {}):
        answer = told.tell(raw, headers)
        assert (answer.status_code, answer.json()) == (200, {"challenge": "c-1"})


def test_a_challenge_that_is_not_sealed_with_our_key_is_not_answered(told: Told) -> None:
    raw = json.dumps({"type": "url_verification", "token": FakeLark.verification_token, "challenge": "c-1"}).encode()
    assert told.tell(raw, {}).status_code == 403


def test_forgers_are_limited_by_their_address(told: Told) -> None:
    statuses = {told.tell(b"{}", {}).status_code for _ in range(40)}
    assert statuses == {403, 429}


def test_forgers_keep_out_no_event_that_is_right(told: Told) -> None:
    assert [told.tell(b"{}", {}).status_code for _ in range(40)][-1] == 429
    assert told.tell(told.event()).status_code == 200
    assert Request.select().count() == 1


def test_another_source_is_not_there(told: Told) -> None:
    assert told.tell(told.event(), source="other").status_code == 404


def test_what_cannot_be_taken_in_is_to_be_told_once_more(told: Told, tmp_path: Path) -> None:
    (tmp_path / "notes").rmdir()
    raw = told.event()
    answer = told.tell(raw)
    assert (answer.status_code, answer.json()["code"]) == (503, "A211")
    assert not Request.select().exists()
    (tmp_path / "notes").mkdir()
    assert told.tell(raw).status_code == 200
    assert Request.select().count() == 1


def test_what_is_not_committed_in_time_is_to_be_told_once_more(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "ANSWER_SECONDS", 0.05)
    disk = threading.Event()
    told.world.service.note(disk.wait)  # the one writer waits for its disk
    raw = told.event()
    answer = told.tell(raw)
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "A211", "5")
    disk.set()
    monkeypatch.undo()
    set_secrets(monkeypatch)
    assert told.tell(raw).status_code == 200
    assert Request.select().count() == 1


@pytest.mark.parametrize("lacking", ["ONCEMORE_TEST_TOKEN", "ONCEMORE_TEST_EVENTS"])
def test_the_service_does_not_start_without_what_events_are_believed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    set_secrets(monkeypatch)
    monkeypatch.delenv(lacking)
    with pytest.raises(ConfigurationRefused, match=lacking), opened(tmp_path, configuration("http://127.0.0.1:9")):
        pass


def test_nor_when_they_are_not_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCEMORE_TEST_SECRET", "s")
    nothing = configuration("http://127.0.0.1:9", "language: en")
    with pytest.raises(ConfigurationRefused, match="`events:`"), opened(tmp_path, nothing):
        pass
    half = configuration("http://127.0.0.1:9", "events: {token: {environment: ONCEMORE_TEST_TOKEN}}")
    with pytest.raises(ConfigurationInvalid, match="encrypt_key"), opened(tmp_path, half):
        pass


def test_the_log_tells_of_events_by_their_ids(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    with logged():
        told.tell(told.event("PLUM-CANARY"))
        told.tell(told.event("PLUM-CANARY"), {})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["message"], line.get("event"), line.get("status")) for line in lines] == [
        ("an event", "e-1", None),
        ("call", None, 200),
        ("an event was refused", None, None),
        ("call", None, 403),
    ]
    for secret in ("PLUM-CANARY", *NAMES.values()):
        assert secret not in str(lines)
