"""What does Codex ask instead of its vendor? A page on the loopback that tells of an account, and a home with a login.

The real program asks it as it would ask the vendor. The login is of nobody: a token that no one has signed.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ACCOUNT = "acc-1"
RESETS = 2_000_000_000
"""When the account's window begins anew, seconds since the epoch."""

CONFIG = """\
chatgpt_base_url = "{base}/backend-api"
cli_auth_credentials_store = "file"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
"""

OTHER_PROVIDER = """
[model_providers.other]
name = "other"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
"""


class Vendor(ThreadingHTTPServer):
    """Tells the account's usage.

    Attributes:
        usage: what is answered, laid over what an account with room has; None for an answer of 500.
        account: the account that the answer is about.
        asked: how often it was.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_port}"
        self.usage: dict[str, Any] | None = {}
        self.account: str | None = ACCOUNT
        self.asked = 0

    def answer(self) -> bytes:
        window = {
            "used_percent": 12,
            "limit_window_seconds": 18_000,
            "reset_after_seconds": 100,
            "reset_at": RESETS,
        }
        limit = {"allowed": True, "limit_reached": False, "primary_window": window, "secondary_window": None}
        told = {"plan_type": "pro", "rate_limit": limit, "credits": None, "user_id": "user-1"}
        return json.dumps({**told, "account_id": self.account, **(self.usage or {})}).encode()

    def log_in(self, home: Path, *, provider: str | None = None) -> Path:
        """A home in which the account is logged in.

        Args:
            provider: the name of another one, which the model is taken from.
        """
        home.mkdir(mode=0o700)
        chosen = "" if provider is None else f"model_provider = {json.dumps(provider)}\n"
        (home / "config.toml").write_text(chosen + CONFIG.format(base=self.base) + OTHER_PROVIDER)
        token = _token()
        tokens = {"id_token": token, "access_token": token, "refresh_token": "none", "account_id": ACCOUNT}
        today = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        login = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": today}
        (home / "auth.json").write_text(json.dumps(login))
        return home


class _Handler(BaseHTTPRequestHandler):
    server: Vendor

    def do_GET(self) -> None:
        usage = self.path.endswith("/usage")
        self.server.asked += usage
        content = self.server.answer() if usage else b"{}"
        self.send_response(200 if usage and self.server.usage is not None else 500)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def _token() -> str:
    now = int(time.time())
    about = {"chatgpt_plan_type": "pro", "chatgpt_user_id": "user-1", "chatgpt_account_id": ACCOUNT}
    claims = {"email": "ann@example.org", "iat": now, "exp": now + 36_000, "https://api.openai.com/auth": about}
    return ".".join([_part({"alg": "none", "typ": "JWT"}), _part(claims), "unsigned"])


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


@contextmanager
def vendor() -> Iterator[Vendor]:
    with Vendor() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
