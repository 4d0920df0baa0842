"""Is what the demo tells true? Read again from the files, the journal, Codex's own store and the model's book."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncemore.adapters.wire import Wire
from oncemore.engine import texts
from oncemore.engine.canonical import canonical, digest
from oncemore.engine.errors import Unreadable
from oncemore.engine.tables import Attempt, Decision, DecisionPass, Delivery, Event, Turn

COUNT_SECONDS = 60

_COUNT_WITH = """\
import json, sys
from pathlib import Path
from oncemore.adapters.codex.count import turns
print(json.dumps({"turns": len(turns(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))}))
"""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file as it stands: whoever writes it again, even with the same bytes, changes one of these.

    Attributes:
        content: SHA-256 of its bytes.
        modified: nanoseconds since the epoch.
    """

    content: str
    size: int
    inode: int
    modified: int

    @classmethod
    def read(cls, path: Path) -> Artifact | None:
        """The file now; None when there is none."""
        try:
            told = path.stat()
            return cls(hashlib.sha256(path.read_bytes()).hexdigest(), told.st_size, told.st_ino, told.st_mtime_ns)
        except FileNotFoundError:
            return None


def turn_digest(turn: str) -> str:
    """Digest over every column of a Turn's row."""
    return digest(canonical(Turn.select().where(Turn.id == turn).dicts().get()))


def turn(request: str, phase: str, ordinal: int = 1) -> str:
    """The id of a Turn of the Request by its phase and its number in it; empty when there is none."""
    found = Turn.select(Turn.id).where(Turn.request == request, Turn.phase == phase, Turn.ordinal == ordinal)
    return str(found.scalar() or "")


def only_reads(request: str, phase: str) -> bool:
    """Whether the first Turn of that phase was started under limits that leave nothing but reading."""
    stored = Turn.select(Turn.profile).where(Turn.id == turn(request, phase)).scalar()
    limits = json.loads(stored) if stored else {}
    told = (limits.get("sandbox"), limits.get("network"), limits.get("writable_roots"))
    return told == ("read_only", False, [])


def delivery_digest(request: str, stage: str) -> str:
    """Digest over every column of a Delivery's row."""
    return digest(
        canonical(Delivery.select().where(Delivery.request == request, Delivery.stage == stage).dicts().get())
    )


def delivered(request: str) -> list[str]:
    """The stages of what reached the person and was read back, in order."""
    rows = Delivery.select().where(Delivery.request == request, Delivery.state == "verified")
    return [row.stage for row in rows.order_by(Delivery.frozen_at)]


def said(request: str) -> list[str]:
    """What reached the person and was read back, in order."""
    rows = Delivery.select().where(Delivery.request == request, Delivery.state == "verified")
    return [texts.fetch(row.text_digest) for row in rows.order_by(Delivery.frozen_at)]


def waits(request: str, policy: str, gate: str) -> bool:
    """Whether a policy has waited at one of its gates for the Request."""
    found = Decision.select().where(
        Decision.request == request,
        Decision.policy == policy,
        Decision.outcome == "wait",
        Decision.reason_gate == gate,
    )
    return bool(found.exists())


def fired_in_time(request: str, policy: str) -> bool:
    """Whether a policy fired on the Request after it had waited, and never before its time was over."""
    judged = list(Decision.select().where(Decision.request == request, Decision.policy == policy))
    waited = max(one.until or 0 for one in judged if one.outcome == "wait")
    fired = [one.at for one in judged if one.outcome == "fire"]
    return bool(fired) and min(fired) >= waited > 0


def looks(request: str) -> list[tuple[int, str | None]]:
    """The looks at a running Turn that were judged, in order: when the runtime was read, and which policy fired on it.

    Looks that change nothing are one with the first of them.
    """
    passes = DecisionPass.select().where(DecisionPass.request == request, DecisionPass.stage == "in_turn")
    return [
        (int(json.loads(one.stored)["case"]["facts"]["native.read"]["observed_at"]), one.fired)
        for one in passes.order_by(DecisionPass.at)
    ]


def happened(request: str) -> tuple[int, int, int, int]:
    """How many events, Turns, Attempts and deliveries the journal holds of a Request."""
    counts = [row.select().where(row.request == request).count() for row in (Event, Turn, Attempt, Delivery)]
    return counts[0], counts[1], counts[2], counts[3]


def book(model: str) -> list[dict[str, Any]]:
    """What the model was asked so far, call by call, as it tells everybody.

    Raises:
        Unreadable: it does not tell.
    """
    with Wire([model]) as wire:
        told = wire.get_json(model, "/book")
    requests = told.get("requests") if isinstance(told, dict) else None
    if not isinstance(requests, list):
        raise Unreadable(f"{model}/book tells no requests")
    return requests


def count_command(home: Path, thread: str, program: Path | None) -> list[str]:
    """The command with which another process counts the turns of a thread in Codex's own store."""
    if program is None:
        return [sys.executable, "-m", "oncemore.adapters.codex.count", str(home), thread]
    return [sys.executable, "-c", _COUNT_WITH, str(home), thread, str(program)]


def native_turns(home: Path, thread: str, program: Path | None) -> int:
    """What that command counts.

    Raises:
        Unreadable: it did not come to a number.
    """
    command = count_command(home, thread, program)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COUNT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"counting the turns took more than {COUNT_SECONDS} s") from None
    if done.returncode != 0:
        raise Unreadable(f"the turns could not be counted: {done.stderr.strip()}")
    return int(json.loads(done.stdout)["turns"])
