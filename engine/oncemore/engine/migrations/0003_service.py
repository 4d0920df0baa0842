"""What the service keeps beside the conversations: keys, messages by their senders' own ids, and decisions on posted cases."""

from oncemore.engine.schema import create

TABLES = [
    """create table api_key (id text primary key, name text not null, digest text not null, scopes text not null,
        created_at integer not null, expires_at integer, used_at integer, revoked_at integer) strict""",
    # The sender's own id of a message: the same content again is the same Request, other content is refused.
    """create table posted_message (workspace text not null, message text not null, digest text not null,
        language text not null, inbox_message text not null, request text not null, at integer not null, primary key (workspace, message)) strict""",
    # Decisions on cases that somebody posted: they belong to no Request, and nothing that acts reads them.
    """create table posted_pass (id text primary key, stored text not null, outcome text not null, fired text,
        poster text not null, at integer not null) strict""",
    "create table posted_decision (id text primary key, pass text not null references posted_pass (id)) strict",
    "create index posted_decision_of on posted_decision (pass)",
]


def up(migrator, db):
    """Create the tables."""
    create(db, TABLES)
