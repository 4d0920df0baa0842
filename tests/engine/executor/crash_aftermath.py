"""A worker died and others went on: is what stands afterwards what docs/crash-points.md says?"""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.executor.crash_tables import RUNS, Row
from tests.engine.executor.world import BACKOFF, World, hanging

from oncemore.engine import events, prompts

SECOND = ("work-1", "recovery:work-1", "continuation")
"""What a row of a continuation is about when the first Turn has been answered before the worker dies."""
NOTICES = (prompts.FAILED["en"], prompts.NOT_CONTINUED["en"])


def continued_by_another(w: World, row: Row, calls: int, artifacts: Sequence[str] = ()) -> None:
    """A person asks, a worker dies at the row's point, another one ends it; and the table is right about what is left.

    Args:
        calls: how often a model that hangs has been asked when the worker is killed.
        artifacts: files that the first Turn leaves, which nobody touches afterwards.
    """
    request = w.ask()
    second = row.about in SECOND
    if second:
        w.work()
        w.offset = BACKOFF
        made, first = [w.artifact(name) for name in artifacts], w.first_turn(request)
    if row.point in RUNS:
        setattr(w.plot, "second" if second else "first", hanging(w))
    process = w.work_until(row.point, row.subject)
    if row.point in RUNS:
        assert w.model.wait_for_calls(calls)
    w.kill(process)
    for times in (1, 2):
        w.offset = times * BACKOFF
        w.work()

    is_as_told(w, row, len(w.native_turns()), w.replies(), proofs(w, "not_sent"))
    assert len(w.rows("select * from attempt")) == (row.attempt != "-")
    if second:
        assert [w.artifact(name) for name in artifacts] == made
        assert w.first_turn(request) == first


def is_as_told(w: World, row: Row, native_turns: int, replies: Sequence[str], proofs: dict[str, int]) -> None:
    """The row is true of what the runtimes and the Source hold, and of the journal, whose chain of events is whole."""
    assert native_turns == row.turns
    assert len(replies) == len(set(replies)) == row.replies
    assert sum(reply in NOTICES for reply in replies) == row.notices
    request = w.row("select id, state from request")
    assert request["state"] == row.request
    last = w.rows("select state from attempt where turn = (select max(turn) from attempt)")
    assert [one["state"] for one in last] == ([] if row.attempt == "-" else [row.attempt])
    assert {name: times for name, times in proofs.items() if times} == (
        {} if row.settled_by == "-" else {row.settled_by: 1}
    )
    with w.house():
        assert events.verify(request["id"]) is None


def proofs(w: World, unsent: str) -> dict[str, int]:
    """How often a call was settled by which proof, but for a claim or a lock that was only not free yet.

    Args:
        unsent: the kind of the event that says a reply is sent again, since it had not been.
    """
    found = w.rows('select * from event where body like \'%"proof":"found"%\'')
    absent = w.rows("select * from event where kind in ('absent', ?)", unsent)
    neither = w.rows("select * from request where held like '%may have run%'")
    return {"found": len(found), "absent": len(absent), "neither": len(neither)}
