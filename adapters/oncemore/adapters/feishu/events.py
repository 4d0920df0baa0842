"""What does an incoming event say, and may it be believed?

The signature is compared over the bytes as they came, before anything of them is read. Reading then takes what is
documented, ignores what is new beside it, and refuses a message that lacks something.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from oncemore.adapters.errors import AdapterError
from oncemore.adapters.feishu.content import accepted_digest, content_of
from oncemore.adapters.feishu.fields import Malformed, mapping, moment, text
from oncemore.adapters.feishu.message import names_of, safe_id

WINDOW = 300_000
"""How far the time of a signature may be from ours, in milliseconds, either way."""

MAX_BYTES = 1024 * 1024

MESSAGE_RECEIVED = "im.message.receive_v1"


class EventRefused(AdapterError):
    """Something that came in is not an event of our app; its text holds nothing of what came."""


@dataclass(frozen=True, slots=True)
class Event:
    """A message that arrived.

    Attributes:
        event_id: of this delivery; the same message can come again under another.
        sender: the person's open id.
        sender_type: `user`, or another word of Lark's.
        text: as it is accepted; empty where the message has none.
        create_time: milliseconds since the epoch.
        mentions: names of the people and bots that the text mentions.
        attachments: pictures, files and whatever else is no text.
    """

    event_id: str
    message_id: str
    chat_id: str
    sender: str
    sender_type: str
    text: str
    create_time: int
    chat_type: Literal["p2p", "group"]
    mentions: tuple[str, ...]
    attachments: int

    @property
    def digest(self) -> str:
        """What a Request of this message is accepted under."""
        return accepted_digest(self.text)


@dataclass(frozen=True, slots=True)
class Challenge:
    """Lark asks whether this address is ours; answer with `{"challenge": answer}`."""

    answer: str


@dataclass(frozen=True, slots=True)
class Unhandled:
    """An event of a type that is not taken in here, to be reported."""

    event_id: str
    event_type: str


Incoming: TypeAlias = Event | Challenge | Unhandled


def verify(headers: Mapping[str, str], raw: bytes, encrypt_key: str, now_ms: int) -> None:
    """Believe that Lark sent these bytes just now.

    The rule is Lark's for requests to a callback address: SHA-256, in hexadecimal, of timestamp, nonce, key and body.

    Args:
        encrypt_key: the app's key for events, which only Lark and the operator know.
        now_ms: milliseconds since the epoch.

    Raises:
        EventRefused: a header is missing, the signature is another, or it is not of these minutes.
    """
    if not encrypt_key:
        raise EventRefused("no key for events is configured, so no signature can be right")
    if len(raw) > MAX_BYTES:
        raise EventRefused(f"the request has more than {MAX_BYTES} bytes")
    lower = {name.lower(): value for name, value in headers.items()}
    wanted = ("x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature")
    timestamp, nonce, signature = (lower.get(name, "") for name in wanted)
    if not (timestamp and nonce and signature):
        raise EventRefused("the request is not signed")
    right = hashlib.sha256((timestamp + nonce + encrypt_key).encode("utf-8", "surrogatepass") + raw).hexdigest()
    if not hmac.compare_digest(right.encode(), signature.encode("utf-8", "surrogatepass")):
        raise EventRefused("the signature is not right")
    # Only now is the timestamp Lark's own word.
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(int(timestamp) * 1000 - now_ms) > WINDOW:
        raise EventRefused("the signature is not of these minutes")


def read(raw: bytes, *, app_id: str, verification_token: str, encrypt_key: str = "") -> Incoming:
    """What the bytes say; call `verify` first where a key for events is configured.

    Args:
        app_id: the only app whose events are ours.
        verification_token: the app's token for events, which stands in every one of them.
        encrypt_key: the app's key for events, with which Lark encrypts them; empty where it does not.

    Raises:
        EventRefused: it is no event of our app, is encrypted, or lacks something.
    """
    if len(raw) > MAX_BYTES:
        raise EventRefused(f"the request has more than {MAX_BYTES} bytes")
    try:
        whole = mapping(json.loads(raw.decode("utf-8")), "the request")
    except (ValueError, RecursionError):
        raise EventRefused("the request is not a JSON object") from None
    if "encrypt" in whole:
        whole = _opened(whole["encrypt"], encrypt_key)
    try:
        return _incoming(whole, app_id, verification_token)
    except Malformed as error:
        raise EventRefused(f"the event cannot be read: {error}") from None


def _opened(sealed: object, encrypt_key: str) -> Mapping[str, Any]:
    """The event inside an encrypted one: AES-256 in CBC mode under the SHA-256 of the key, the IV in front, PKCS #7.

    The signature over the raw bytes was checked before, so that what is opened is Lark's own.
    """
    if not encrypt_key:
        raise EventRefused("the event is encrypted, and no key for events is configured")
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        from cryptography.hazmat.primitives.padding import PKCS7
    except ImportError:
        raise EventRefused(
            "the event is encrypted: install what opens it with pip install 'oncemore[feishu]'"
        ) from None
    try:
        content = base64.b64decode(str(sealed), validate=True)
        cipher = Cipher(algorithms.AES256(hashlib.sha256(encrypt_key.encode()).digest()), modes.CBC(content[:16]))
        decryptor, unpadder = cipher.decryptor(), PKCS7(128).unpadder()
        padded = decryptor.update(content[16:]) + decryptor.finalize()
        plain = unpadder.update(padded) + unpadder.finalize()
        return mapping(json.loads(plain.decode("utf-8")), "the encrypted event")
    except (ValueError, RecursionError, Malformed):
        raise EventRefused("the encrypted event cannot be opened with the configured key") from None


def classify(event: Event, known_digest: str | None) -> Literal["new", "same", "changed"]:
    """What an event's message is to the journal.

    Args:
        known_digest: of the content under which the journal has this message id; None when it has none. The event's
            own id does not count: a message comes again under another one.
    """
    if known_digest is None:
        return "new"
    return "same" if known_digest == event.digest else "changed"


def _incoming(whole: Mapping[str, Any], app_id: str, verification_token: str) -> Incoming:
    if whole.get("type") == "url_verification":
        _check_token(whole, verification_token)
        challenge = text(whole, "challenge")
        if not challenge.isascii():
            raise Malformed("challenge is not one that can be sent back")
        return Challenge(challenge)
    if whole.get("schema") != "2.0":
        raise Malformed("its schema is not 2.0")
    header = mapping(whole.get("header"), "header")
    _check_token(header, verification_token)
    if header.get("app_id") != app_id:
        raise EventRefused("the event is of another app")
    event_id, event_type = text(header, "event_id"), text(header, "event_type")
    if event_type != MESSAGE_RECEIVED:
        return Unhandled(event_id, event_type)
    return _message(event_id, mapping(whole.get("event"), "event"))


def _check_token(holder: Mapping[str, Any], verification_token: str) -> None:
    given = holder.get("token")
    wrong = EventRefused("the event does not hold the app's token")
    if not verification_token or not isinstance(given, str):
        raise wrong
    if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), verification_token.encode()):
        raise wrong


def _message(event_id: str, event: Mapping[str, Any]) -> Event:
    sender = mapping(event.get("sender"), "sender")
    message = mapping(event.get("message"), "message")
    kind = message.get("chat_type")
    if kind not in ("p2p", "group"):
        raise Malformed("chat_type is not one that is known here")
    names = names_of(message.get("mentions"))
    content = content_of(text(message, "message_type"), text(message, "content"), names)
    message_id, chat_id = text(message, "message_id"), text(message, "chat_id")
    if not (safe_id(message_id) and safe_id(chat_id)):
        raise Malformed("an id of the message is not one")
    return Event(
        event_id=event_id,
        message_id=message_id,
        chat_id=chat_id,
        sender=text(mapping(sender.get("sender_id"), "sender_id"), "open_id"),
        sender_type=text(sender, "sender_type"),
        text=content.text,
        create_time=moment(message, "create_time"),
        chat_type=kind,
        mentions=tuple(names.values()),
        attachments=content.attachments,
    )
