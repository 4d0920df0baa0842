"""What is kept for a time is found by its time, and whoever left the page is kept out of it by every process."""

from oncemore.engine.schema import create

TABLES = [
    "create index posted_pass_at on posted_pass (at)",
    # A session of the page whose holder signed out; without the service's seal its name opens nothing.
    "create table ended_session (session text primary key, until integer not null) strict",
]


def up(migrator, db):
    """Create everything."""
    create(db, TABLES)
