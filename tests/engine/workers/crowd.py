"""Many conversations and several workers, of which one after the other is killed: what became of it, by every book.

Workers are processes that do what `oncemore work` does, forked from the server of `worker_process`. Codex is the
scripted app-server, a program for each thread, over its own protocol; its books are its logs. Time is put forward for
everybody at once, so that nobody waits for a backoff.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from tests.adapters.codex.scripted import install
from tests.engine.executor.worker_process import _FORKS, shipped_rulebook
from tests.engine.executor.world import CONTINUES, KEY, World, reported, world

from oncemore.adapters import wiring
from oncemore.adapters.demo.model import ModelRequest, Say, Script
from oncemore.engine import events, intake, prompts
from oncemore.engine.worker import Worker

BACKOFF = 61_000
WORK = "Write part one and part two of "
CHAT = "Just say yes to "

ENDED = """select count(*) as n from request where due_at is null and held is null
    and not exists (select 1 from turn where turn.request = request.id and turn.ended_at is null)"""


class Clock:
    """The system's time, put forward by what stands in a file that everybody maps."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(struct.pack("q", 0))
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), 8)

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + int(struct.unpack("q", self._map[:8])[0])

    def forward(self, ms: int) -> None:
        self._map[:8] = struct.pack("q", struct.unpack("q", self._map[:8])[0] + ms)

    def close(self) -> None:
        self._map.close()


def _work(file: Path, clock: Path, environment: dict[str, str]) -> None:
    """A worker until it is told to stop, or killed."""
    os.environ.clear()
    os.environ.update(environment)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with (
        wiring.opened(file, clock=Clock(clock), worker=True) as house,
        Worker(wiring.context(house, shipped_rulebook()), house.configuration.worker.poll) as worker,
    ):
        worker.run(stop)


@dataclass
class Crowd:
    """Conversations on one journal, and those who work on them.

    Attributes:
        asked: how many Requests need a recovery.
        sent: all Requests, by their Session, in the order in which they were sent.
    """

    w: World
    clock: Clock
    asked: int = 0
    sent: dict[str, list[str]] = field(default_factory=dict)
    kills: int = 0
    workers: list[Any] = field(default_factory=list)

    def start(self, number: int) -> None:
        for _ in range(number):
            made = _FORKS.Process(
                target=_work, args=(self.w.configuration, self.w.folder / "clock", dict(os.environ)), daemon=True
            )
            made.start()
            self.workers.append(made)

    def kill_one(self) -> None:
        """End the one that works longest, at whatever it is, and start another in its place."""
        oldest = self.workers.pop(0)
        assert oldest.exitcode is None, "a worker ended by itself"
        os.kill(oldest.pid, signal.SIGKILL)
        oldest.join()
        self.kills += 1
        self.start(1)

    def stop(self) -> None:
        """Let the workers end what they have in hand, and leave."""
        for one in self.workers:
            os.kill(one.pid, signal.SIGTERM)
        for one in self.workers:
            one.join(60)
            # One that had only just begun knew of no other way to end.
            assert one.exitcode in (0, -signal.SIGTERM), one.exitcode

    def logs(self) -> list[list[dict[str, Any]]]:
        """Codex's own books: the records of every thread."""
        found = (self.w.folder / "codex" / "sessions").rglob("*.jsonl")
        return [[json.loads(line)["payload"] for line in file.read_text().splitlines()] for file in sorted(found)]


def said(request: ModelRequest) -> Script:
    """What the model says: half of the work with a report of the rest, the rest, or yes."""
    if CONTINUES in request.last_user:
        return Say("Both parts are written.")
    if request.last_user.startswith(WORK):
        return Say(f"Part one is written. {reported(request)}")
    return Say("Yes.")


@contextmanager
def crowd(folder: Path, url: str) -> Iterator[Crowd]:
    """An empty one."""
    os.environ[KEY] = "none"
    with world(folder, url) as w:
        w.program = install(folder)
        w.entries["top"] = "queue_patience: 240h\nworker: {poll: 100ms, lease: 5s, observe_again: 5s}\n"
        w.configure()
        w.plot.first = w.plot.second = w.plot.other = said
        clock = Clock(folder / "clock")
        made = Crowd(w, clock)
        try:
            yield made
        finally:
            for one in made.workers:
                one.kill()
                one.join()
            clock.close()


def played(made: Crowd, conversations: int, rounds: int, workers: int, *, every: float, limit: float) -> None:
    """People write in many conversations: each asks for work, and once that has ended for more, and one in four at last
    for two small things at once; meanwhile one worker is killed every so many seconds.

    Args:
        rounds: how often each asks for work.
        limit: seconds after which it has failed.
    """
    began = killed = moved = time.monotonic()
    with (
        wiring.opened(made.w.configuration, clock=made.clock) as house,
        psycopg.connect(made.w.journal, autocommit=True, row_factory=dict_row) as server,
    ):
        assert house.ports.grants is not None
        grant = house.ports.grants.grant("notes")
        names = {f"c{number}": 0 for number in range(conversations)}

        def write(name: str, text: str) -> str:
            with house.journal.transaction():
                session = intake.open_session(
                    house.journal, grant, runtime="codex", home=str(made.w.folder / "codex"), source="inbox",
                    conversation=name,
                )  # fmt: skip
                message = house.inbox.post(name, "ann", text)
                arrival = intake.Arrival(message=message, sender="ann", text=text)
                patience = house.configuration.queue_patience
                request = intake.accept(house.journal, session, arrival, patience=patience)
            made.sent.setdefault(session, []).append(request)
            return request

        latest = {name: write(name, f"{WORK}{name}") for name in names}
        made.asked = len(latest)
        made.start(workers)
        while True:
            done = {row["id"] for row in server.execute(ENDED.replace("count(*) as n", "id")).fetchall()}
            for name, request in list(latest.items()):
                if request in done:
                    names[name] += 1
                    if names[name] < rounds:
                        latest[name] = write(name, f"{WORK}{name}, {names[name]}")
                        made.asked += 1
                    elif names[name] == rounds and int(name[1:]) % 4 == 0:
                        write(name, f"{CHAT}{name}")
                        latest[name] = write(name, f"{CHAT}{name} again")
                    else:
                        del latest[name]
            if not latest:
                break
            now = time.monotonic()
            assert now - began < limit, f"{len(latest)} conversations go on"
            if now - killed >= every:
                made.kill_one()
                killed = now
            if now - moved >= 1:
                made.clock.forward(BACKOFF)
                moved = now
            time.sleep(0.05)
    made.stop()


def checked(made: Crowd) -> Counter[str]:
    """Everything that has to hold whatever was killed; how many Requests ended in which way."""
    w = made.w
    every = {request for requests in made.sent.values() for request in requests}
    states = {row["id"]: row for row in w.rows("select * from request")}
    assert set(states) == every
    assert [one for one in states.values() if one["due_at"] is not None or one["held"] is not None] == []

    # Codex's own books: no input of ours was taken in twice, whatever its receipt became.
    inputs = Counter(
        item["item"]["client_id"]
        for log in made.logs()
        for item in log
        if item.get("type") == "item_completed" and item["item"]["type"] == "UserMessage"
    )
    assert [one for one, times in inputs.items() if times > 1] == []
    continued = Counter(one.rsplit("-", 2)[0] for one in inputs if "-work-" in one)
    assert max(continued.values()) == 1
    # The inbox's: no reply twice, and at most one at each stage.
    keys = [row["key"] for row in w.rows("select key from inbox_reply")]
    assert len(keys) == len(set(keys))
    unverified = w.rows("select id, state from delivery where state <> 'verified'")
    assert unverified == []

    ways: Counter[str] = Counter()
    notices = {row["request"] for row in w.rows("select request from delivery where stage = 'notice'")}
    for request in every:
        answered, noticed = states[request]["state"] == "answered", request in notices
        assert answered or noticed, f"{request} ended without a word"
        whole = f"{request}/recovery:work-1" in keys
        ways["continued" if whole else "answered" if answered else "told that it was cut off"] += 1

    # The order of the queue: people's Turns one after the other, as they were sent.
    for session, requests in made.sent.items():
        turns = w.rows(
            "select request, phase, started_at, ended_at from turn where session = ? and started_at is not null"
            " order by position",
            session,
        )
        assert [turn["request"] for turn in turns if turn["phase"] == "business"] == requests
        spans = sorted((turn["started_at"], turn["ended_at"]) for turn in turns)
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), session
        people = [turn["started_at"] for turn in turns if turn["phase"] == "business"]
        assert people == sorted(people)

    with w.house():
        assert [broken for request in every if (broken := events.verify(request)) is not None] == []
    assert w.rows("select * from lease") == []
    replies = Counter(row["body"] for row in w.rows("select body from inbox_reply join text using (digest)"))
    assert replies[prompts.FAILED["en"]] + replies[prompts.NOT_CONTINUED["en"]] == len(notices)
    return ways
