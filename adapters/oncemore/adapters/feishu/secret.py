"""Where is an app's secret kept? In a variable or a file that the operator names, read when it is needed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from oncemore.adapters.errors import ConfigurationRefused

MAX_BYTES = 4096


def from_environment(variable: str) -> Callable[[], str]:
    """Reads the secret from a variable of our own environment."""

    def read() -> str:
        found = os.environ.get(variable, "").strip()
        if not found:
            raise ConfigurationRefused(f"the variable {variable} holds no secret")
        return found

    return read


def from_file(path: Path) -> Callable[[], str]:
    """Reads the secret from a file that nobody else may read."""

    def read() -> str:
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise ConfigurationRefused(f"{path} is not a file")
                if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                    raise ConfigurationRefused(f"{path} is open to others: chmod 600 it")
                found = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise ConfigurationRefused(f"{path} cannot be read: {error.strerror or error}") from None
        try:
            secret = found.decode("ascii").strip()
        except UnicodeDecodeError:
            secret = ""
        if not secret or len(found) > MAX_BYTES:
            raise ConfigurationRefused(f"{path} does not hold a secret")
        return secret

    return read
