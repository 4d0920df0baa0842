"""What is submitted is done in one transaction with what waits beside it, and answered when that is on the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oncemore.engine.allowance_tables import Route
from oncemore.engine.errors import Conflict, JournalRefused
from oncemore.engine.group_commit import GroupCommit
from oncemore.engine.journal import Journal


@pytest.fixture
def journal(place: Path | str) -> Iterator[Journal]:
    made = Journal(place)
    yield made
    made.close()


def add(name: str) -> Callable[[], str]:
    def work() -> str:
        Route.insert(name=name, holder="r", next_look=0).execute()
        return name

    return work


def names() -> list[str]:
    return [row.name for row in Route.select().order_by(Route.name)]


def held(group: GroupCommit) -> threading.Event:
    """Keep the writer busy until the event is set, so that what is submitted meanwhile waits."""
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()

    group.submit(work)
    begun.wait()
    return go


def test_what_waits_together_is_committed_together(journal: Journal) -> None:
    group = GroupCommit(journal)
    go = held(group)
    done = [group.submit(add(f"n{index:03}")) for index in range(100)]
    go.set()
    assert [one.result() for one in done] == names() == [f"n{index:03}" for index in range(100)]
    assert group.commits == 2
    group.close()


def test_one_that_fails_undoes_its_own_part_alone(journal: Journal) -> None:
    group = GroupCommit(journal)
    go = held(group)

    def fails() -> None:
        add("half")()
        raise Conflict("no")

    before, bad, after = group.submit(add("a")), group.submit(fails), group.submit(add("b"))
    go.set()
    assert (before.result(), after.result()) == ("a", "b")
    with pytest.raises(Conflict):
        bad.result()
    assert names() == ["a", "b"]
    group.close()


def test_a_commit_that_fails_is_told_to_everybody_in_it(journal: Journal) -> None:
    group = GroupCommit(journal)
    go = held(group)

    def breaks() -> None:
        # The transaction of the whole group is gone: its commit fails.
        if journal.server is None:
            journal._database.execute_sql("rollback")
        else:
            journal._database.connection().close()

    done = [group.submit(add("a")), group.submit(breaks), group.submit(add("b"))]
    go.set()
    for one in done:
        with pytest.raises(Exception):  # noqa: B017
            one.result()
    assert group.submit(add("later")).result() == "later"
    assert "a" not in names()
    group.close()


def test_what_was_submitted_is_done_before_it_closes_and_nothing_after(journal: Journal) -> None:
    group = GroupCommit(journal)
    go = held(group)
    waiting = group.submit(add("a"))
    go.set()
    group.close()
    assert waiting.result() == "a"
    with pytest.raises(JournalRefused):
        group.submit(add("b"))
    assert names() == ["a"]
