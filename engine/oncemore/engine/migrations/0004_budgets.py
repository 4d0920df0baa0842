"""What is waited for and by whom it was allowed: budgets, the breaker, and advice that an operator acts on; and what a
look at much history must find without reading all of it."""

from oncemore.engine.schema import create

TABLES = [
    # Whoever counts recoveries to reserve one more writes this row first: two that count at once would both see room.
    "create table budget (name text primary key, fence integer not null) strict",
    "insert into budget (name, fence) values ('recoveries', 0)",
    """create table budget_wait (request text primary key references request (id), policy text not null, budget text not null,
        why text not null, since integer not null, until integer, given_up boolean not null) strict""",
    "create table route_capacity (name text primary key, state text not null, since integer not null) strict",
    """create table breaker_change (id integer primary key autoincrement,
        state text not null check (state in ('open', 'closed')), who text not null, why text not null, at integer not null) strict""",
    """create table advice (id integer primary key autoincrement, request text not null references request (id),
        policy text not null, decision text not null,
        state text not null check (state in ('waiting', 'taken', 'done', 'refused', 'lapsed')),
        who text, why text, reason text, offered_at integer not null, taken_at integer, settled_at integer) strict""",
    "create unique index advice_current on advice (request, policy) where state in ('waiting', 'taken')",
    "create index advice_state on advice (state, offered_at)",
    "create index attempt_reserved on attempt (reserved_at)",
    "create index attempt_settled on attempt (settled_at)",
    # What is counted at every look from outside must not read every Request there ever was.
    "create index request_held on request (state) where held is not null",
    "create index turn_unfinished on turn (status) where ended_at is null",
    "create index text_kept on text (stored_at, digest) where body is not null",
    "create index event_at on event (at)",
    "create index decision_of_policy on decision (policy, at)",
]


def up(migrator, db):
    """Create everything."""
    create(db, TABLES)
