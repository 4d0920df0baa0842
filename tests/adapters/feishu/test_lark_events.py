"""What comes in is believed only when it is signed, whole and of our app; a message that comes again is taken once."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.feishu.conftest import ANN, CHAT, Clock
from tests.adapters.feishu.fake import FakeLark

from oncemore.adapters.feishu import Event, EventRefused, Feishu, classify, events
from oncemore.adapters.feishu.events import Challenge, Incoming, Unhandled
from oncemore.engine.ports import SourceRef


def read(lark: FakeLark, raw: bytes) -> Incoming:
    return events.read(raw, app_id=lark.app_id, verification_token=lark.verification_token)


def arrived(lark: FakeLark, message: str, event_id: str = "e-1", **changes: object) -> Event:
    event = read(lark, lark.event(message, event_id, **changes))
    assert isinstance(event, Event)
    return event


def changed(raw: bytes, *path: str, value: object = None) -> bytes:
    """The event with one field set, or taken out."""
    whole = json.loads(raw)
    holder: Any = whole
    for name in path[:-1]:
        holder = holder[name]
    if value is None:
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = value
    return json.dumps(whole).encode()


def test_a_signed_event_is_believed(lark: FakeLark, clock: Clock) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "hello"))
    events.verify(lark.signed(raw), raw, lark.encrypt_key, clock.now)
    lower = {name.lower(): value for name, value in lark.signed(raw).items()}
    events.verify(lower, raw, lark.encrypt_key, clock.now)


def test_the_signature_is_the_documented_one(clock: Clock) -> None:
    headers = {
        "X-Lark-Request-Timestamp": "1800000000",
        "X-Lark-Request-Nonce": "nonce",
        "X-Lark-Signature": hashlib.sha256(b"1800000000nonce" + b"key" + b'{"a":1}').hexdigest(),
    }
    events.verify(headers, b'{"a":1}', "key", 1_800_000_000_000)


def test_any_other_byte_is_refused_before_it_is_read(lark: FakeLark, clock: Clock) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "hello"))
    headers = lark.signed(raw)
    for other in (raw + b" ", raw.replace(b"hello", b"hallo"), b"", b"\xff not JSON"):
        with pytest.raises(EventRefused, match="not right"):
            events.verify(headers, other, lark.encrypt_key, clock.now)
    with pytest.raises(EventRefused, match="not right"):
        events.verify(headers, raw, "another key", clock.now)


@pytest.mark.parametrize("name", ["X-Lark-Request-Timestamp", "X-Lark-Request-Nonce", "X-Lark-Signature"])
def test_a_missing_or_changed_header_is_refused(lark: FakeLark, clock: Clock, name: str) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "hello"))
    headers = lark.signed(raw)
    for other in ({**headers, name: ""}, {**headers, name: "1"}, {**headers, name: "\u4e00\ud800"}):
        with pytest.raises(EventRefused):
            events.verify(other, raw, lark.encrypt_key, clock.now)


def test_without_a_key_no_signature_is_right(lark: FakeLark, clock: Clock) -> None:
    raw = b"{}"
    signature = hashlib.sha256(b"1800000000n" + raw).hexdigest()
    headers = {"X-Lark-Request-Timestamp": "1800000000", "X-Lark-Request-Nonce": "n", "X-Lark-Signature": signature}
    with pytest.raises(EventRefused, match="no key"):
        events.verify(headers, raw, "", clock.now)


@pytest.mark.parametrize(("late", "believed"), [(300_000, True), (-300_000, True), (300_001, False), (-300_001, False)])
def test_a_signature_holds_for_five_minutes(lark: FakeLark, clock: Clock, late: int, believed: bool) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "hello"))
    headers = lark.signed(raw)
    if believed:
        events.verify(headers, raw, lark.encrypt_key, clock.now + late)
    else:
        with pytest.raises(EventRefused, match="minutes"):
            events.verify(headers, raw, lark.encrypt_key, clock.now + late)


def test_an_event_says_what_was_written(lark: FakeLark, clock: Clock) -> None:
    mentions = (("@_user_1", "ou_bot", "Helper"),)
    message = lark.post(CHAT, ANN, "@_user_1 hello\r\n", mentions=mentions)
    assert arrived(lark, message, chat_type="group") == Event(
        event_id="e-1",
        message_id=message,
        chat_id=CHAT,
        sender=ANN,
        sender_type="user",
        text="@Helper hello",
        create_time=clock.now,
        chat_type="group",
        mentions=("Helper",),
        attachments=0,
    )


def test_an_accepted_event_reads_back_unchanged(lark: FakeLark, source: Feishu) -> None:
    mentions = (("@_user_1", "ou_bot", "Helper"),)
    for text in ("@_user_1 hello", " two\r\nlines \n", "一 \u00e9"):
        event = arrived(lark, lark.post(CHAT, ANN, text, mentions=mentions))
        ref = SourceRef("lark", event.message_id, event.sender, event.digest)
        assert source.read(ref)["source.state"].value == "unchanged"


def test_what_is_no_text_is_an_attachment(lark: FakeLark) -> None:
    event = arrived(lark, lark.post(CHAT, ANN, "", kind="file", content='{"file_key": "f"}'))
    assert (event.text, event.attachments) == ("", 1)
    post = {"title": "", "content": [[{"tag": "text", "text": "see"}, {"tag": "img", "image_key": "i"}]] * 2}
    event = arrived(lark, lark.post(CHAT, ANN, "", kind="post", content=json.dumps(post)))
    assert (event.text, event.attachments) == ("see\nsee", 2)


def test_a_message_that_comes_again_under_another_event_is_the_same(lark: FakeLark) -> None:
    message = lark.post(CHAT, ANN, "hello")
    first, again = arrived(lark, message, "e-1"), arrived(lark, message, "e-2")
    assert classify(first, None) == "new"
    assert classify(again, first.digest) == "same"


def test_a_message_that_comes_again_with_other_content_is_changed(lark: FakeLark) -> None:
    message = lark.post(CHAT, ANN, "hello")
    first = arrived(lark, message, "e-1")
    other = arrived(lark, message, "e-1", content=json.dumps({"text": "hello!"}))
    assert classify(other, first.digest) == "changed"
    assert classify(replace(first, text="hello "), first.digest) == "same"


def test_a_challenge_is_answered_for_the_apps_own_token_alone(lark: FakeLark) -> None:
    asked = {"type": "url_verification", "challenge": "c", "token": lark.verification_token}
    assert read(lark, json.dumps(asked).encode()) == Challenge("c")
    with pytest.raises(EventRefused, match="token"):
        read(lark, json.dumps({**asked, "token": "other"}).encode())


def test_an_event_of_an_unknown_type_is_told_and_not_read(lark: FakeLark) -> None:
    raw = changed(lark.event(lark.post(CHAT, ANN, "hello")), "header", "event_type", value="im.chat.disbanded_v1")
    assert read(lark, raw) == Unhandled("e-1", "im.chat.disbanded_v1")


def test_fields_that_are_new_are_passed_over(lark: FakeLark) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "hello"))
    for path in (("new",), ("header", "new"), ("event", "new"), ("event", "message", "new")):
        assert read(lark, changed(raw, *path, value={"a": 1})) == read(lark, raw)


@pytest.mark.parametrize(
    "path",
    [
        ("schema",),
        ("header",),
        ("header", "event_id"),
        ("header", "token"),
        ("header", "app_id"),
        ("event", "sender"),
        ("event", "sender", "sender_type"),
        ("event", "sender", "sender_id", "open_id"),
        ("event", "message", "message_id"),
        ("event", "message", "chat_id"),
        ("event", "message", "chat_type"),
        ("event", "message", "create_time"),
        ("event", "message", "message_type"),
        ("event", "message", "content"),
    ],
)
def test_an_event_that_lacks_something_is_refused(lark: FakeLark, path: tuple[str, ...]) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "hello"))
    for value in (None, 5, ["x"]):
        with pytest.raises(EventRefused):
            read(lark, changed(raw, *path, value=value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("header", "app_id"), "cli_other"),
        (("header", "token"), "other"),
        (("event", "message", "message_id"), "../../chats"),
        (("event", "message", "chat_id"), "oc?"),
        (("event", "message", "chat_type"), "crowd"),
        (("event", "message", "content"), "not JSON"),
        (("event", "message", "create_time"), "-5"),
    ],
)
def test_an_event_that_is_not_ours_or_not_right_is_refused(lark: FakeLark, path: tuple[str, ...], value: str) -> None:
    with pytest.raises(EventRefused):
        read(lark, changed(lark.event(lark.post(CHAT, ANN, "hello")), *path, value=value))


@pytest.mark.parametrize("raw", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"a": 1}', b" " * 2_000_000])
def test_what_is_no_event_is_refused(lark: FakeLark, raw: bytes) -> None:
    with pytest.raises(EventRefused):
        read(lark, raw)


def sealed(raw: bytes, key: str) -> bytes:
    """An event as Lark sends it once a key for events is set, sealed by another program than ours."""
    iv = b"0123456789abcdef"
    command = ["openssl", "enc", "-aes-256-cbc", "-K", hashlib.sha256(key.encode()).hexdigest(), "-iv", iv.hex()]
    content = subprocess.run(command, input=raw, capture_output=True, check=True).stdout
    return json.dumps({"encrypt": base64.b64encode(iv + content).decode()}).encode()


def opened(lark: FakeLark, raw: bytes, key: str) -> Incoming:
    return events.read(raw, app_id=lark.app_id, verification_token=lark.verification_token, encrypt_key=key)


def test_an_encrypted_event_is_opened_with_the_configured_key(lark: FakeLark) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "你好"), "e-1")
    event = opened(lark, sealed(raw, lark.encrypt_key), lark.encrypt_key)
    assert event == read(lark, raw)


@pytest.mark.parametrize("content", ["AAAA", "not base64!", "", "QUJD" * 100])
def test_what_cannot_be_opened_is_refused(lark: FakeLark, content: str) -> None:
    with pytest.raises(EventRefused, match="cannot be opened"):
        opened(lark, json.dumps({"encrypt": content}).encode(), lark.encrypt_key)


def test_an_event_sealed_with_another_key_or_without_one_configured_is_refused(lark: FakeLark) -> None:
    raw = sealed(lark.event(lark.post(CHAT, ANN, "hello"), "e-1"), "another key")
    with pytest.raises(EventRefused, match="cannot be opened"):
        opened(lark, raw, lark.encrypt_key)
    with pytest.raises(EventRefused, match="no key for events is configured"):
        read(lark, raw)


def test_without_the_extra_the_command_that_installs_it_is_named(
    lark: FakeLark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(EventRefused, match=r"pip install 'oncemore\[feishu\]'"):
        opened(lark, b'{"encrypt": "AAAA"}', lark.encrypt_key)


def test_a_refusal_repeats_nothing_that_came(lark: FakeLark) -> None:
    raw = lark.event(lark.post(CHAT, ANN, "canary"))
    for value in ("canary", {"canary": "canary"}):
        for path in (("header", "token"), ("header", "app_id"), ("event", "message", "chat_type")):
            with pytest.raises(EventRefused) as caught:
                read(lark, changed(raw, *path, value=value))
            assert "canary" not in str(caught.value)


def test_without_a_token_configured_no_event_is_ours(lark: FakeLark) -> None:
    raw = changed(lark.event(lark.post(CHAT, ANN, "hello")), "header", "token", value="")
    with pytest.raises(EventRefused):
        events.read(raw, app_id=lark.app_id, verification_token="")
