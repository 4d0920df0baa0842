"""A decision whose stored bytes are not what was stored is told as that: never shown, tried, or called a bug."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run, Story

POLICY = "continue-unfinished-work"


def damage(home: Path, statement: str, body: str) -> None:
    """Change what is stored, past what keeps programs from doing so."""
    with closing(sqlite3.connect(home / "data" / "oncemore.db")) as database:
        for (name,) in database.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            database.execute(f'drop trigger "{name}"')
        database.execute(statement, (body,))
        database.commit()


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", "null", '{"case": 7}'])
@pytest.mark.parametrize(
    "statement", ["update decision_pass set stored = ?", "update bundle set body = ?"], ids=["decision", "text"]
)
def test_what_is_not_what_was_stored_is_told_with_what_to_do(
    run: Run, story: Story, waiting: Path, statement: str, body: str
) -> None:
    damage(waiting, statement, body)
    for command in (("try", POLICY), ("explain",), ("explain", "--since", "1h"), ("explain", "--nearest")):
        done = run(*command, "--request", story.request, "--home", waiting)
        assert done.exit_code == 2, done.output
        assert "error[E104]" in done.stderr and "bring back a backup" in done.stderr
