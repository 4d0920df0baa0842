"""What the server has that workers are forked from: everything that a worker imports, and the shipped policies."""

from __future__ import annotations

import httpx
import playhouse.migrations  # noqa: F401
from tests.engine.executor.worker_process import shipped_rulebook

import oncemore.adapters.antigravity.language_server
import oncemore.adapters.capacity
import oncemore.adapters.codex.runtime
import oncemore.adapters.feishu  # noqa: F401

shipped_rulebook()
httpx.Client().close()  # which imports the rest
