"""The service as it is, on a port of the loopback, and a real Chromium before it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.adapters.api.page.world import Told
from tests.engine.executor.worker_process import shipped_rulebook

from oncemore.adapters import wiring
from oncemore.adapters.api.app import application
from oncemore.adapters.api.keys import Scope
from oncemore.adapters.api.service import Service

CHROMIUM = Path(os.environ.get("ONCEMORE_CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 20.0


@dataclass
class Served:
    """A service that answers.

    Attributes:
        keys: tokens by what they are for.
    """

    told: Told
    service: Service
    address: str
    keys: dict[str, str] = field(default_factory=dict)

    def key(self, *scopes: Scope) -> str:
        """A key for these."""
        name = "-".join(scopes)
        if name not in self.keys:
            with self.service.house.journal.connected():
                self.keys[name] = self.service.keys.add(f"key-{name}", scopes)[1]
        return self.keys[name]


@contextmanager
def served(told: Told) -> Iterator[Served]:
    """The service over what happened."""
    with wiring.opened(told.configuration, clock=told.now) as house:
        service = Service(house, shipped_rulebook())
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application(service), log_config=None, lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        # Who calls before it accepts is answered when it does: the socket listens already.
        try:
            yield Served(told, service, f"http://127.0.0.1:{listening.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join(SECONDS)
            listening.close()
            service.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; a test without it is skipped, or fails where it is required."""
    if not CHROMIUM.exists():
        mend = "install it (Debian: apt install chromium fonts-droid-fallback), or name it in ONCEMORE_CHROMIUM"
        absent = f"there is no {CHROMIUM}; {mend}"
        if os.environ.get("ONCEMORE_BROWSER") == "required":
            pytest.fail(absent)
        pytest.skip(absent)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Window:
    """One visitor's window, and everything that it did that it should not have."""

    page: Page
    context: BrowserContext
    address: str
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a page and wait until it has come to rest."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def come_in(self, key: str) -> Page:
        """Sign in."""
        self.open("/login")
        self.page.fill("#key", key)
        self.page.press("#key", "Enter")
        self.page.wait_for_url(self.address + "/")
        return self.page

    def one_key(self, letter: str) -> None:
        """Press an access key, as a keyboard does: the driver's own presses with Alt do not say which letter it is."""
        pressed = {
            "modifiers": 1,
            "key": letter,
            "code": f"Key{letter.upper()}",
            "text": letter,
            "unmodifiedText": letter,
        }
        session = self.context.new_cdp_session(self.page)
        for kind in ("keyDown", "keyUp"):
            code = {"windowsVirtualKeyCode": ord(letter.upper())}
            session.send("Input.dispatchKeyEvent", {"type": kind, **pressed, **code})
        session.detach()


@contextmanager
def window(
    browser: Browser, served: Served, *, width: int = 1440, lang: str = "en", **options: Any
) -> Iterator[Window]:
    """A window of its own, with cookies of its own."""
    height = 844 if width < 500 else 900
    context = browser.new_context(
        viewport={"width": width, "height": height}, locale="zh-CN" if lang == "zh" else "en-GB", **options
    )
    page = context.new_page()
    made = Window(page, context, served.address)
    page.on("console", lambda said: made.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: made.complaints.append(str(error)))

    def asked(request: Any) -> None:
        if not request.url.startswith((served.address, "data:")):
            made.elsewhere.append(request.url)

    context.on("request", asked)
    try:
        yield made
    finally:
        context.close()
