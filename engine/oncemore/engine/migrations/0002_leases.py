"""Who works on which Session, where there are several workers; and due times in the very order in which they are taken."""

from oncemore.engine.schema import create

STATEMENTS = [
    """create table worker (id integer primary key autoincrement, name text not null, host text not null, boot text not null,
        pid integer not null, pid_started integer not null, started_at integer not null, until integer not null) strict""",
    # A token is never given twice: whoever held an earlier one is told apart from whoever holds the Session now.
    """create table lease (token integer primary key autoincrement, session text not null unique references session (id),
        worker integer not null references worker (id), taken_at integer not null) strict""",
    "create index lease_worker on lease (worker)",
    "drop index request_due",
    "create index request_due on request (due_at, id) where due_at is not null",
]


def up(migrator, db):
    """Add both tables, and make the index of due times anew."""
    create(db, STATEMENTS)
