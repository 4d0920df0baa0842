"""A service that Lark tells of messages: how it is configured, and events as Lark seals and signs them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from tests.adapters.feishu.fake import FakeLark

if TYPE_CHECKING:
    from tests.adapters.api.conftest import World

ANN, CHAT = "ou_ann", "oc_private"
NAMES = {
    "ONCEMORE_TEST_SECRET": FakeLark.app_secret,
    "ONCEMORE_TEST_TOKEN": FakeLark.verification_token,
    "ONCEMORE_TEST_EVENTS": FakeLark.encrypt_key,
}
EVENTS = "events: {token: {environment: ONCEMORE_TEST_TOKEN}, encrypt_key: {environment: ONCEMORE_TEST_EVENTS}}"


def set_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the configuration names of the environment is there."""
    for name, value in NAMES.items():
        monkeypatch.setenv(name, value)


def configuration(base: str, told: str = EVENTS) -> str:
    return f"""\
journal: data/oncemore.db
runtimes:
  codex: {{home: codex}}
sources:
  team:
    {{kind: feishu, base: '{base}', app_id: {FakeLark.app_id}, secret: {{environment: ONCEMORE_TEST_SECRET}}, {told}}}
workspaces:
  notes: {{path: notes, owner: {ANN}, level: workspace_read, revision: 1, source: team}}
"""


@dataclass
class Told:
    """A service, and the Lark that tells it of messages."""

    world: World
    lark: FakeLark

    def tell(self, raw: bytes, headers: dict[str, str] | None = None, source: str = "team") -> httpx.Response:
        """What comes in, signed now unless it says otherwise."""
        signed = self.lark.signed(raw) if headers is None else headers
        return self.world.call("POST", f"/v1/sources/{source}/events", key=None, content=raw, headers=signed)

    def event(self, text: str = "Please write it.", event: str = "e-1", author: str = ANN, **changes: object) -> bytes:
        """The event of a message that a person just wrote, sealed."""
        return self.seal(self.lark.event(self.lark.post(CHAT, author, text), event, **changes))

    def seal(self, raw: bytes) -> bytes:
        key = hashlib.sha256(self.lark.encrypt_key.encode()).digest()
        iv = os.urandom(16)
        padder, encryptor = PKCS7(128).padder(), Cipher(algorithms.AES256(key), modes.CBC(iv)).encryptor()
        content = encryptor.update(padder.update(raw) + padder.finalize()) + encryptor.finalize()
        return json.dumps({"encrypt": base64.b64encode(iv + content).decode()}).encode()
