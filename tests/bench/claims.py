"""What does it cost to find due work, among a thousand stored Requests and among a million?

A hundred are due, one in a hundred is due later, the others have ended. Shown are the plans, the pages that one claim
reads, and the time for all hundred; a page is 4 KiB on SQLite, read anew by a fresh connection, and 8 KiB on
PostgreSQL.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from tests import postgres

from oncemore.engine.journal import Journal
from oncemore.engine.leases import CLAIM, NEXT_DUE, Leases, OneOfMany, OneWorker, Terms, longest_due
from oncemore.engine.tables import Request, database

SIZES = (1_000, 1_000_000)
DUE, IN_ONE, BATCH, NOW = 100, 10, 8, 1_000_000

SESSION = """insert into session (id, workspace, owner, grant_level, grant_revision, root, root_device, root_inode,
    runtime, home, source, conversation, state, fence, created_at)
    select 's-' || n, 'notes', 'ann', 'workspace_write', 1, '/srv', 1, 2, 'codex', '/h', 'inbox', 'c' || n, 'open', 0, 1
    from {numbers} where n < {sessions}"""
REQUEST = """insert into request (id, session, position, message, sender, digest, length, language, role, audience,
    host, attachments, delegated, steered, opted_out, state, stop_origin, due_at, words, words_seen, created_at, head,
    events)
    select 'r-' || n, 's-' || (n / {one}), n % {one}, 'm-' || n, 'ann', 'sha256:' || n, 10, 'en', 'project', 'private',
    'managed', 0, {no}, {no}, {no}, case when n % {every} = 0 or n % 100 = 1 then 'open' else 'answered' end, 'none',
    case when n % {every} = 0 then {now} - n % 997 when n % 100 = 1 then {now} + n end, 0, 0, 1, '', 0
    from {numbers} where n < {size}"""


@dataclass(frozen=True)
class Measured:
    """One database at one size.

    Attributes:
        pages: that one claim reads.
        seconds: to find and take all that is due, the median of several times.
    """

    plan: str
    pages: int
    seconds: float


def fill(journal: Journal, size: int) -> None:
    """Store so many Requests, of which a hundred are due."""
    sqlite = journal.server is None
    numbers = (
        f"(with recursive counted(n) as (select 0 union all select n + 1 from counted where n < {size - 1})"
        " select n from counted)"
        if sqlite
        else f"generate_series(0, {size - 1}) as numbers(n)"
    )
    terms = {"numbers": numbers, "sessions": size // IN_ONE, "one": IN_ONE, "size": size, "now": NOW}
    terms |= {"every": size // DUE, "no": "0" if sqlite else "false"}
    with journal.transaction():
        for statement in (SESSION, REQUEST):
            said = statement.format(**terms)
            database.execute_sql(said if sqlite else said.replace("%", "%%"))
    if not sqlite:
        database.execute_sql("vacuum analyze")


def plan_on_sqlite(path: Path) -> str:
    """How SQLite finds the next due Request, and when the next one is due."""
    following = Request.select(Request.due_at).where(Request.due_at.is_null(False)).order_by(Request.due_at).limit(1)
    told = []
    with closing(sqlite3.connect(path)) as connection:
        for query in (longest_due(NOW, ["r-1", "r-2"]).limit(1), following):
            sql, parameters = query.sql()
            told += [row[3] for row in connection.execute(f"explain query plan {sql}", parameters)]
    return "\n".join(told)


def plan_on_postgres(url: str, *options: str) -> str:
    """How PostgreSQL claims a batch, and finds when the next one is due."""
    wanted = ", ".join(["costs off", *options])
    with psycopg.connect(url) as connection:
        worker = connection.execute(
            "insert into worker (name, host, boot, pid, pid_started, started_at, until)"
            " values ('w', 'h', 'b', 1, 1, 0, 0) returning id"
        ).fetchone()
        assert worker is not None
        claim: Any = f"explain ({wanted}) {CLAIM}"
        told = [line for (line,) in connection.execute(claim, (NOW, ["r-1"], BATCH, worker[0])).fetchall()]
        following: Any = f"explain ({wanted}) {NEXT_DUE}"
        told += [line for (line,) in connection.execute(following).fetchall()]
        connection.rollback()
    return "\n".join(told)


def pages_on_sqlite(path: Path) -> int:
    """What a connection that has seen nothing yet reads for one claim."""

    def read() -> int:
        return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])

    sql, parameters = longest_due(NOW, ()).limit(1).sql()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("select count(*) from sqlite_master").fetchall()
        before = read()
        own = read() - before  # what the looking itself reads
        before = read()
        connection.execute(sql, parameters).fetchall()
        return round((read() - before - own) / 4096)


def pages_on_postgres(url: str) -> int:
    """What one claim of a batch reads and writes, as PostgreSQL itself counts it."""
    for line in plan_on_postgres(url, "analyze", "buffers", "timing off", "summary off").splitlines():
        if "Buffers: shared" in line:
            counts = dict(part.split("=") for part in line.split() if "=" in part)
            return int(counts.get("hit", 0)) + int(counts.get("read", 0))
    raise AssertionError("no buffers were told")


def taken(leases: Leases) -> float:
    """Seconds for finding and taking everything that is due, one after the other."""
    began, besides = time.perf_counter(), set[str]()
    while (request := leases.next(NOW, besides)) is not None:
        besides.add(request)
    assert len(besides) == DUE
    return time.perf_counter() - began


def measured(place: Path | str, size: int, rounds: int) -> Measured:
    """One database at one size."""
    journal = Journal(place)
    leases: list[OneOfMany] = []
    try:
        fill(journal, size)

        def worker() -> Leases:
            if journal.server is None:
                return OneWorker()
            leases.append(OneOfMany(journal, Terms("bench", batch=BATCH)))
            return leases[-1]

        taken(worker())
        seconds = statistics.median(taken(worker()) for _ in range(rounds))
        if isinstance(place, Path):
            return Measured(plan_on_sqlite(place), pages_on_sqlite(place), seconds)
        return Measured(plan_on_postgres(place), pages_on_postgres(place), seconds)
    finally:
        for one in leases:
            one.close()
        journal.close()


def places(folder: Path) -> Iterator[tuple[str, int, Path | str]]:
    """A fresh database of each kind for each size."""
    for size in SIZES:
        yield "SQLite", size, folder / str(size) / "oncemore.db"
    for size in SIZES:
        yield "PostgreSQL", size, postgres.server().fresh()


def show(rounds: int = 5) -> bool:
    """Measure and print; whether a claim reads at most ten pages more among a million."""
    found: dict[tuple[str, int], Measured] = {}
    with tempfile.TemporaryDirectory(prefix="oncemore-bench-") as folder:
        for name, size, place in places(Path(folder)):
            found[name, size] = one = measured(place, size, rounds)
            print(
                f"\n{name}, {size:,} stored, {DUE} due: a claim reads {one.pages} pages; all take {one.seconds:.4f} s"
            )
            print("\n".join(f"    {line}" for line in one.plan.splitlines()))
    good = True
    for name in ("SQLite", "PostgreSQL"):
        small, large = (found[name, size] for size in SIZES)
        more, ratio = large.pages - small.pages, large.seconds / small.seconds
        print(f"\n{name}: {more:+d} pages (allowed 10), {ratio:.2f} times the time")
        good &= more <= 10
    return good
