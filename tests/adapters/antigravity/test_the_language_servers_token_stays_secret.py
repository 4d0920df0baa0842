"""Does the token leave this program in one header only?"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest
from tests.adapters.antigravity.fake import Look, asked, planned
from tests.adapters.antigravity.stand import WRITE, Stand

from oncemore.adapters.antigravity.token import Token
from oncemore.engine.errors import OncemoreError, Refused

CANARY = "canary-0d5f7c"


@pytest.fixture
def told(stand: Stand, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Stand:
    caplog.set_level(logging.DEBUG)
    stand.server.token = CANARY
    monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", CANARY)
    return stand


def test_it_is_read_anew_for_every_call(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    native = stand.reads(Look([asked("please", "request-1"), planned("done")]))
    stand.server.token = "after-a-restart"
    monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", "after-a-restart")
    assert stand.observe(native).answer == "done"


def test_it_is_in_no_reading_no_error_no_log_and_no_repr(told: Stand, caplog: pytest.LogCaptureFixture) -> None:
    native = told.reads(Look([asked("please", "request-1"), planned("done")]))
    inventory = told.inventory(native)
    texts = [repr(inventory), repr(told.runtime), repr(vars(told.runtime)), repr(told.observe(native))]
    for fault in ("broken", "reset_after_send"):
        setattr(told.server.faults, fault, 1)
        try:
            told.inventory(native)
            told.runtime.start(told.session, "request-2", "again", WRITE)
        except OncemoreError as error:
            texts.append("".join(traceback.format_exception(error)))
    texts.append(caplog.text)
    assert CANARY not in "\n".join(texts)


def test_it_may_stand_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{CANARY}\n")
    file.chmod(0o600)
    assert Token(file=file).read() == CANARY
    file.chmod(0o640)
    with pytest.raises(Refused, match="mode 600"):
        Token(file=file).read()


@pytest.mark.parametrize("content", ["", " \n", "two words", "canary\r\nx-other: 1", "käse"])
def test_what_is_not_one_word_is_refused_without_being_shown(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(Refused) as caught:
        Token(file=file).read()
    assert not content.strip() or content.strip() not in str(caught.value)


def test_a_place_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGUAGE_SERVER_TOKEN", raising=False)
    for token in (Token(), Token(environment="LANGUAGE_SERVER_TOKEN"), Token(file=tmp_path / "none")):
        with pytest.raises(Refused):
            token.read()
