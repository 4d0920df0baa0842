"""The backups of docs/running.md: restored, the history is whole and stays what it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import peewee as pw
import pytest
from tests import postgres
from tests.engine.retention.test_texts_are_kept_for_a_time import Years

from oncemore.engine import events
from oncemore.engine.journal import Journal
from oncemore.engine.tables import Request, Turn


def lived(place: Path | str) -> tuple[str, str]:
    """A journal with a conversation that was answered; its Request's id and the end of its chain."""
    years = Years(place)
    request = years.ask("what is it?")
    years.answer(request, "it is this")
    head = Request.get_by_id(request).head
    years.journal.close()
    return request, head


def as_it_was(place: Path | str, request: str, head: str) -> None:
    journal = Journal(place)
    try:
        assert events.verify(request) is None
        assert Request.get_by_id(request).head == head
        with pytest.raises(pw.IntegrityError, match="never changes"), journal.transaction():
            Turn.update(status="failed").where(Turn.request == request).execute()
    finally:
        journal.close()


def test_sqlite(tmp_path: Path) -> None:
    made = tmp_path / "data" / "oncemore.db"
    request, head = lived(made)
    copy = tmp_path / "restored" / "oncemore.db"
    copy.parent.mkdir(mode=0o700)
    before = os.umask(0o077)
    with sqlite3.connect(made) as running, sqlite3.connect(copy) as copied:
        running.backup(copied)
    running.close()
    copied.close()
    os.umask(before)
    as_it_was(copy, request, head)


def test_postgresql(tmp_path: Path) -> None:
    server = postgres.server()
    made, restored = server.fresh(), server.fresh()
    request, head = lived(made)
    programs = server._program / "bin"
    dump = tmp_path / "copy.dump"
    subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", made], check=True)
    subprocess.run([programs / "pg_restore", "--no-owner", f"--dbname={restored}", dump], check=True)
    as_it_was(restored, request, head)
    for url in (made, restored):
        postgres.drop(url)
