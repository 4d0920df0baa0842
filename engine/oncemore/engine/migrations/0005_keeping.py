"""What is kept for a time is found by its time."""

from oncemore.engine.schema import create

TABLES = [
    "create index posted_pass_at on posted_pass (at)",
]


def up(migrator, db):
    """Create everything."""
    create(db, TABLES)
