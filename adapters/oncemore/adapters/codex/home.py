"""How does a codex home that belongs to Oncemore begin?"""

from __future__ import annotations

import json
import os
from pathlib import Path

from oncemore.engine.errors import Refused

CONFIG = """\
model = {model}
model_provider = "oncemore"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
remote_plugin = false
apps = false
[history]
persistence = "none"
[model_providers.oncemore]
name = "oncemore"
base_url = {base_url}
wire_api = "responses"
env_key = {key_variable}
request_max_retries = {retries}
stream_max_retries = {retries}
stream_idle_timeout_ms = {idle_ms}
supports_websockets = false
"""
"""Nothing in it reaches out beyond the provider: no updates, no analytics, no plug-ins, which are fetched at start."""


def write_config(
    home: Path,
    base_url: str,
    key_variable: str,
    *,
    model: str = "scripted",
    retries: int = 0,
    idle_ms: int = 60_000,
) -> Path:
    """Make a home with a configuration for one provider of the Responses interface.

    Args:
        key_variable: the environment variable that holds the provider's key; the runtime must be told to pass it on.
        idle_ms: for how long a silent stream is waited for.

    Raises:
        Refused: the home has a configuration already; it is never overwritten.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = home / "config.toml"
    text = CONFIG.format(
        model=json.dumps(model),
        base_url=json.dumps(base_url),
        key_variable=json.dumps(key_variable),
        retries=retries,
        idle_ms=idle_ms,
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise Refused(f"{path} exists already and is left as it is") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return path
