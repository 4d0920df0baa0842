"""The app's token is kept while it is good, and neither it nor the secret is ever told."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.feishu.conftest import Clock, accepted
from tests.adapters.feishu.fake import FakeLark, ReplyFault

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.feishu import Feishu, secret
from oncemore.adapters.wire import Wire
from oncemore.engine.errors import Busy, OncemoreError, Unreadable

VARIABLE = "ONCEMORE_TEST_LARK_SECRET"


def test_a_token_serves_until_shortly_before_its_end(lark: FakeLark, source: Feishu, clock: Clock) -> None:
    ref = accepted(lark)
    source.read(ref)
    clock.pass_(lark.token_seconds * 1000 - 300_001)
    source.read(ref)
    assert lark.calls["token"] == 1
    clock.pass_(1)
    source.read(ref)
    assert lark.calls["token"] == 2


def test_a_token_that_is_turned_away_is_fetched_anew_once(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    source.read(ref)
    lark.revoke_tokens()
    assert source.read(ref)["source.state"].value == "unchanged"
    lark.revoke_tokens()
    source.reply(ref, "done", "k")
    assert (lark.calls["token"], lark.calls["reply"], len(lark.replies(ref.message))) == (3, 2, 1)


def test_a_token_that_lark_does_not_know_twice_ends_the_call(
    lark: FakeLark, source: Feishu, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, issue = accepted(lark), lark.issue

    def worthless(asked: dict[str, object]) -> tuple[int, dict[str, object]]:
        answer = issue(asked)
        lark.tokens.clear()
        return answer

    monkeypatch.setattr(lark, "issue", worthless)
    with pytest.raises(Unreadable):
        source.read(ref)
    with pytest.raises(Busy):
        source.reply(ref, "done", "k")
    assert lark.calls["token"] <= 4
    assert lark.replies(ref.message) == []


def test_without_a_token_nothing_is_sent(lark: FakeLark, source: Feishu) -> None:
    ref = accepted(lark)
    lark.faults.token.extend([10003, 10014])
    with pytest.raises(Unreadable, match="10003"):
        source.read(ref)
    with pytest.raises(Busy, match="10014"):
        source.reply(ref, "done", "k")
    assert lark.calls["reply"] == 0


def test_only_the_configured_address_is_asked(lark: FakeLark, clock: Clock) -> None:
    with Wire(["https://open.feishu.cn"]) as wire:
        source = Feishu(
            "lark", wire, app_id=lark.app_id, secret=lambda: lark.app_secret, clock=clock, base=lark.base_url
        )
        with pytest.raises(Unreadable):
            source.read(accepted(lark))
        with pytest.raises(Busy):
            source.reply(accepted(lark), "done", "k")
    assert lark.seen == []


FAULTS: list[ReplyFault] = ["applied-no-answer", "applied-slow", "applied-5xx", "applied-garbled", "limited", "5xx"]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Everything that is told: texts of failures, and with the test's end whatever was logged."""
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    yield said
    said += [record.getMessage() for record in caplog.records]
    for text in said:
        assert "canary" not in text
        assert FakeLark.app_secret not in text


def test_no_failure_tells_the_token_or_the_secret(
    lark: FakeLark, source: Feishu, clock: Clock, told: list[str]
) -> None:
    ref = accepted(lark)
    for fault in FAULTS:
        lark.faults.reply.append(fault)
        lark.faults.read.extend(["garbled", "5xx", "no-answer"])
        for call in (lambda: source.reply(ref, "done", "k"), *[lambda: source.newer(ref)] * 3):
            try:
                call()
            except OncemoreError as error:
                told.append("".join(traceback.format_exception(error)))
        clock.pass_(60_000)
    assert len(told) == 4 * len(FAULTS)


def test_no_failure_of_a_token_tells_the_secret(
    lark: FakeLark, source: Feishu, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = [(200, {"code": 0, "tenant_access_token": "t-canary\r\nX: y", "expire": 7200})]
    issued += [(200, {"code": 0, "tenant_access_token": "t-canary", "expire": "7200"})]
    issued += [(200, {"code": 0, "tenant_access_token": "", "expire": 7200, "canary": "canary"})]
    issued += [(500, {"msg": f"canary {lark.app_secret}"})]
    for answer in issued:
        monkeypatch.setattr(lark, "issue", lambda asked, answer=answer: answer)
        try:
            source.read(accepted(lark))
        except Unreadable as error:
            told.append("".join(traceback.format_exception(error)))
        source._api._token = None
    assert len(told) == len(issued)


def test_what_holds_the_secret_does_not_show_it(lark: FakeLark, source: Feishu) -> None:
    source.read(accepted(lark))
    shown = repr(source) + repr(source._api) + repr(source.read(accepted(lark)))
    assert "canary" not in shown and lark.app_secret not in shown


def test_a_secret_comes_from_the_variable_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    read = secret.from_environment(VARIABLE)
    monkeypatch.setenv(VARIABLE, "one\n")
    assert read() == "one"
    monkeypatch.setenv(VARIABLE, "two")
    assert read() == "two"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigurationRefused, match=VARIABLE):
        read()


def test_a_secret_comes_from_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    read = secret.from_file(file)
    with pytest.raises(ConfigurationRefused, match="cannot be read"):
        read()
    file.write_text("word\n")
    file.chmod(0o600)
    assert read() == "word"
    file.chmod(0o640)
    with pytest.raises(ConfigurationRefused, match="open to others"):
        read()


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"x" * 5000])
def test_a_file_without_a_secret_is_refused_and_not_repeated(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(ConfigurationRefused, match="does not hold a secret"):
        secret.from_file(file)()


def test_a_secret_that_cannot_be_read_makes_reads_unknown_and_sends_nothing(lark: FakeLark, clock: Clock) -> None:
    with Wire([lark.base_url]) as wire:
        source = Feishu(
            "lark",
            wire,
            app_id=lark.app_id,
            secret=secret.from_environment("ONCEMORE_TEST_NO_SUCH"),
            clock=clock,
            base=lark.base_url,
        )
        with pytest.raises(Unreadable, match="ONCEMORE_TEST_NO_SUCH"):
            source.read(accepted(lark))
        with pytest.raises(Busy):
            source.reply(accepted(lark), "done", "k")
    assert lark.seen == []
