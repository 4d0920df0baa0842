"""A steward in front of a model whose usage limit is reached: the question, its three quota tries, and the review."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.executor.world import World

from oncemore.adapters.demo.model import Fail, ModelRequest, Say, Script
from oncemore.engine import prompts
from oncemore.engine.crashpoints import Checkpoint, CrashPoint, unobserved
from oncemore.engine.tables import database

CODEX = "real Codex"
MINUTE = 60_000
HOUR = 60 * MINUTE
RETRY, EXHAUSTED = "retry-quota", "review-exhausted-answer"
TRIES = (0, 6 * MINUTE, 37 * MINUTE, 158 * MINUTE)
"""When the question and its three quota tries come, each a minute after it may."""

LATER = TRIES[-1] + 2 * MINUTE
QUESTION = "How many notes are there?"
REVIEW = "by reading only"
"""Words of a review's input."""


def limited(w: World) -> World:
    """The route says that it has capacity, and the model that there is none."""
    w.configure(level="portfolio_read", role="steward", policies=(RETRY, EXHAUSTED))
    w.plot.first = w.plot.other = lambda r: Fail("usage_limit")
    return w


def run(w: World, *offsets: int, checkpoint: Checkpoint = unobserved) -> None:
    """One worker of this process, until nothing is due at each of the offsets of the clock."""
    with w.worker(checkpoint=checkpoint) as worker:
        for offset in offsets:
            w.offset = offset
            while worker.run_due():
                pass


def reviewing(w: World, reply: Script | Callable[[ModelRequest], Script] = Say("None.")) -> None:  # noqa: B008
    def answer(request: ModelRequest) -> Script:
        if REVIEW not in request.last_user:
            return Fail("usage_limit")
        return reply(request) if callable(reply) else reply

    w.plot.first = w.plot.other = answer


def reviews(w: World) -> int:
    """How many requests the model got with a review's input."""
    return sum(REVIEW in entry.last_user for entry in w.model.requests)


def at_the_third_try(w: World, third: Script) -> None:
    """The third quota try, which is the fourth request, goes otherwise than the others."""
    w.plot.first = w.plot.other = lambda r: third if w.model.calls >= 3 else Fail("usage_limit")


def not_reviewed(w: World, calls: int = 4) -> None:
    assert (reviews(w), w.model.calls) == (0, calls)
    assert w.replies() in ([], [prompts.FAILED["en"]])
    assert w.rows("select * from turn where phase = 'review'") == []


class Killed(BaseException):
    """The process ends here; nothing of it runs any further."""


def once(point: CrashPoint, act: Callable[[], None]) -> Checkpoint:
    """Something that happens the first time that a review comes to a point."""
    done: list[bool] = []

    def checkpoint(reached: CrashPoint, about: str) -> None:
        if (
            reached == point
            and not done
            and database.execute_sql("select 1 from attempt where kind = 'review'").fetchone()
        ):
            done.append(True)
            act()

    return checkpoint


def kill() -> None:
    raise Killed
