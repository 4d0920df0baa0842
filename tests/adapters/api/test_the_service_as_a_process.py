"""`oncemore serve` and `oncemore keys` do as processes what an operator needs, and say what keeps them from it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from tests.adapters.api.conftest import CONFIGURATION

from oncemore.adapters.cli.commands import cli

WAIT = 60


@dataclass
class Serving:
    """A service that runs, and what it has said at its start."""

    process: subprocess.Popen[str]
    url: str
    key: str | None
    said: list[str]

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        with httpx.Client(trust_env=False) as client:
            return client.get(f"{self.url}{path}", headers={"authorization": f"Bearer {key or self.key}"})

    def ask(self, number: int) -> httpx.Response:
        body = {"workspace": "notes", "text": f"message {number}", "message": f"m-{number}"}
        with httpx.Client(trust_env=False) as client:
            return client.post(
                f"{self.url}/v1/requests", json=body, headers={"authorization": f"Bearer {self.key}"}, timeout=30
            )

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and what it wrote on standard error."""
        self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=WAIT)
        return self.process.returncode, errors


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    file = tmp_path / "oncemore.yaml"
    file.write_text(CONFIGURATION)
    file.chmod(0o600)
    return tmp_path


@contextlib.contextmanager
def serving(home: Path) -> Iterator[Serving]:
    command = [sys.executable, "-m", "oncemore.adapters.cli", "serve", "--home", str(home), "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONCEMORE_")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment, "PYTHONUNBUFFERED": "1"}
    )
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(2)]
        url, second = re.search(r"http://[\d.:]+", said[0]), said[1].split()
        if url is None:
            raise AssertionError(process.communicate(timeout=WAIT))
        found = Serving(process, url[0], second[1] if second[0] == "key:" else None, said)
        yield found
    finally:
        process.kill()
        process.communicate()


def keys(home: Path, *arguments: str) -> str:
    done = CliRunner().invoke(cli, ["keys", *arguments, "--home", str(home)])
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def test_the_first_start_makes_a_key_and_says_it_once(home: Path) -> None:
    with serving(home) as first:
        assert first.key is not None and first.get("/readyz").json()["ready"] is True
        assert first.get("/healthz", key="none").text == "ok\n"
        code, errors = first.end()
    assert (code, first.key.rpartition("_")[2] in errors) == (0, False)
    with serving(home) as second:
        assert second.key is None
        assert "oncemore keys" in second.said[1]
        assert second.get("/v1/facts", key=first.key).status_code == 200


def test_what_keeps_turns_from_running_is_said_at_the_start(home: Path) -> None:
    with serving(home) as service:
        assert service.get("/healthz", key="none").text == "ok\n"
        _, errors = service.end()
    (note,) = [line for line in errors.splitlines() if "no model can be reached yet" in line]
    assert f"oncemore doctor --home {home}" in note


def test_keys_are_made_and_revoked_beside_it(home: Path) -> None:
    with serving(home) as service:
        token = keys(home, "add", "metrics", "--scope", "read", "--until", "1h")
        listed = json.loads(keys(home, "list", "--format", "json"))
        assert [one["state"] for one in listed] == ["in force", "in force"]
        answers = iter(lambda: service.get("/v1/facts", key=token).status_code, 200)
        assert all(status == 401 for status in answers)  # until the second is over in which keys are known
        keys(home, "revoke", token.split("_")[1])
        answers = iter(lambda: service.get("/v1/facts", key=token).status_code, 401)
        assert all(status == 200 for status in answers)
    assert "revoked" in keys(home, "list")


def test_keys_whose_pepper_is_gone_are_said_to_open_nothing(home: Path) -> None:
    keys(home, "add", "before", "--scope", "read")
    (home / "data" / "pepper").unlink()
    assert "before" in keys(home, "list") and not (home / "data" / "pepper").exists()
    with serving(home) as service:
        assert service.get("/healthz", key="none").text == "ok\n"
        _, errors = service.end()
    assert "the keys that the journal has open nothing here" in errors
    (home / "data" / "pepper").unlink()
    added = CliRunner().invoke(cli, ["keys", "add", "after", "--scope", "read", "--home", str(home)])
    assert "the keys that the journal has open nothing here" in added.stderr
    again = CliRunner().invoke(cli, ["keys", "add", "after", "--scope", "read", "--home", str(home)])
    assert "nothing here" not in again.stderr


def test_one_journal_has_one_worker(home: Path) -> None:
    with serving(home):
        done = CliRunner().invoke(cli, ["serve", "--home", str(home), "--port", "0"])
        assert (done.exit_code, "another worker" in done.output) == (2, True)


def test_an_address_that_is_taken_is_said(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "notes").mkdir()
    (other / "oncemore.yaml").write_text(CONFIGURATION)
    (other / "oncemore.yaml").chmod(0o600)
    with serving(home) as service:
        port = service.url.rpartition(":")[2]
        done = CliRunner().invoke(cli, ["serve", "--home", str(other), "--port", port])
        assert done.exit_code == 2
        assert f"127.0.0.1:{port}" in done.output


def test_what_was_answered_outlives_a_kill(home: Path) -> None:
    """Killed among posts: what had an answer is there, and the rest is there whole or not at all."""
    answered: list[int] = []
    with serving(home) as service:
        enough = threading.Event()

        def post(numbers: range) -> None:
            for number in numbers:
                try:
                    # The queue takes some 20; a refusal is an answer too, and leaves nothing.
                    if service.ask(number).status_code == 201:
                        answered.append(number)
                except httpx.HTTPError:
                    return
                if len(answered) >= 12:
                    enough.set()

        threads = [threading.Thread(target=post, args=(range(start, 4_000, 4),)) for start in range(4)]
        for thread in threads:
            thread.start()
        assert enough.wait(WAIT)
        service.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        key = service.key
    verified = CliRunner().invoke(cli, ["verify", "--home", str(home)])
    assert verified.exit_code == 0, verified.output
    with serving(home) as again:
        messages = again.get("/v1/conversations/notes?limit=200", key=key).json()["messages"]
        texts = [one["text"] for one in messages]
        assert {f"message {number}" for number in answered} <= set(texts)
        assert len(set(texts)) == len(texts)
        assert all(one["request"] is not None for one in messages)


def test_how_it_is_called_wrongly_is_said(home: Path) -> None:
    wrong = CliRunner().invoke(cli, ["keys", "add", "x", "--scope", "everything", "--home", str(home)])
    assert (wrong.exit_code, "admin" in wrong.output) == (2, True)
    unknown = CliRunner().invoke(cli, ["keys", "revoke", "000000000000", "--home", str(home)])
    assert (unknown.exit_code, "no key" in unknown.output) == (2, True)
    arguments = ["keys", "add", "x", "--scope", "read", "--until", "2020-01-01T00:00:00Z", "--home", str(home)]
    past = CliRunner().invoke(cli, arguments)
    assert (past.exit_code, "past" in past.output) == (2, True)
