"""A completed Turn on a real Codex that reported unfinished work: how it is run, and how often it was continued."""

from __future__ import annotations

from typing import Any

from tests.engine.executor.world import CONTINUES, World

CODEX = "real Codex"
CONTINUE = "continue-unfinished-work"


def run(w: World, *offsets: int, **options: Any) -> None:
    """A worker of this process until nothing is due, with the clock put forward by each of the offsets."""
    for offset in offsets:
        w.offset = offset
        with w.worker(**options) as worker:
            while worker.run_due():
                pass


def continuations(w: World) -> int:
    """How many requests the model got with a continuation's input."""
    return sum(CONTINUES in entry.last_user for entry in w.model.requests)
