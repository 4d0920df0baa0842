"""What has to be done by one at a time, whichever database it is?

SQLite has one writer at a time, so that nothing is to be done there. On PostgreSQL whoever comes second waits for the
first one's transaction to end.
"""

from __future__ import annotations

import hashlib
from typing import Any

import peewee as pw

from oncemore.engine.tables import database


def one_at_a_time(what: str) -> None:
    """Until the transaction ends nobody else comes past here for the same thing. Inside a transaction."""
    if not isinstance(database.obj, pw.SqliteDatabase):
        number = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], signed=True)
        database.execute_sql("select pg_advisory_xact_lock(%s)", (number,))


def free(rows: pw.ModelSelect[Any]) -> pw.ModelSelect[Any]:
    """Those of the rows that nobody else is changing; nor does anybody until the transaction ends. Inside one."""
    if isinstance(database.obj, pw.SqliteDatabase):
        return rows
    return rows.for_update("FOR UPDATE SKIP LOCKED")  # type: ignore[arg-type]


def locking(rows: pw.ModelSelect[Any]) -> pw.ModelSelect[Any]:
    """The same rows, which nobody else changes until the transaction ends. Inside a transaction."""
    if isinstance(database.obj, pw.SqliteDatabase):
        return rows
    return rows.for_update("FOR NO KEY UPDATE")  # type: ignore[arg-type]  # peewee takes the words too
