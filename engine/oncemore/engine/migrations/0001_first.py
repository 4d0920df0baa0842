"""The first schema: every table, and the triggers that keep history as it was."""

import peewee as pw

from oncemore.engine.schema import REFUSE, create, frozen, refused

TABLES = [
    "create table text (digest text primary key, length integer not null, body text, stored_at integer not null) strict",
    "create table bundle (digest text primary key, body text not null) strict",
    "create table clock (id integer primary key check (id = 1), last integer not null) strict",
    """create table session (id text primary key, workspace text not null, owner text not null, grant_level text not null,
        grant_revision integer not null, root text not null, root_device integer not null, root_inode integer not null,
        runtime text not null, home text not null, source text not null, conversation text not null,
        state text not null check (state in ('open', 'closed')), active_turn text, fence integer not null,
        created_at integer not null, left_at integer check (left_at is null or state = 'closed')) strict""",
    # A conversation has one Session at a time; those that it left for a fresh one stay as they are.
    "create unique index session_of on session (source, conversation) where left_at is null",
    """create table session_thread (session text not null references session (id), ordinal integer not null, runtime text not null,
        home text not null, thread text not null, set_aside boolean not null, used_from integer not null, used_to integer, primary key (session, ordinal), unique (session, runtime, home, thread)) strict""",
    """create table request (id text primary key, session text not null references session (id), position integer not null,
        message text not null, sender text not null, digest text not null, length integer not null, language text not null,
        role text not null, audience text not null, host text not null, attachments integer not null,
        delegated boolean not null, steered boolean not null, opted_out boolean not null,
        state text not null check (state in ('open', 'answered', 'stopped', 'superseded')),
        stop_origin text not null check (stop_origin in ('none', 'user', 'operator', 'system')), stop_target text,
        due_at integer, waiting_since integer, held text, words integer not null, words_seen integer not null, created_at integer not null, head text not null,
        events integer not null, unique (session, message), unique (session, position)) strict""",
    "create index request_due on request (due_at) where due_at is not null",
    "create index request_message on request (message)",
    """create table turn (id text primary key, session text not null references session (id),
        request text not null references request (id), phase text not null, ordinal integer not null,
        position integer not null, status text not null, error text not null, detail text, input_digest text not null,
        input_length integer not null, word text not null, profile text, native_thread text, native_turn text,
        native_ended_at integer, reply_digest text, reply_length integer, response_digest text, report_state text,
        has_gate boolean, has_reply boolean not null, has_deltas boolean not null, settled_cancel boolean not null, queued_at integer not null,
        expires_at integer check ((phase = 'business') = (expires_at is not null)), started_at integer, ended_at integer, unique (request, phase, ordinal), unique (session, position)) strict""",
    "create index turn_queue on turn (session, status)",
    # The ledger by constraint: what a policy says, it cannot spend more than this.
    """create table attempt (request text not null references request (id), kind text not null, ordinal integer not null,
        turn text not null unique, decision text not null,
        state text not null check (state in ('reserved', 'answered', 'unfinished', 'failed', 'withdrawn', 'ambiguous')),
        open boolean not null check (open = (state = 'reserved')), reason text, reserved_at integer not null,
        settled_at integer check (open = (settled_at is null)), primary key (request, kind, ordinal),
        check (kind in ('work', 'review', 'route') and ordinal = 1 or kind = 'quota' and ordinal between 1 and 3)) strict""",
    "create unique index attempt_one_open on attempt (request) where open = 1",
    """create table start_intent (turn text not null references turn (id), ordinal integer not null check (ordinal in (1, 2)),
        host text not null, boot text not null, pid integer not null, pid_started integer not null, held text not null,
        at integer not null, primary key (turn, ordinal)) strict""",
    """create table start_receipt (turn text primary key references turn (id), native_thread text not null,
        native_turn text not null, proof text not null, at integer not null, unique (native_thread, native_turn)) strict""",
    """create table delivery (id text primary key, request text not null references request (id), stage text not null,
        turn text, text_digest text not null, text_length integer not null,
        state text not null check (state in ('frozen', 'sending', 'sent', 'verified', 'unverified', 'ambiguous')),
        reply text, detail text, frozen_at integer not null, sent_at integer, verified_at integer,
        unique (request, stage)) strict""",
    """create table delivery_intent (delivery text not null references delivery (id), ordinal integer not null,
        host text not null, boot text not null, pid integer not null, pid_started integer not null, at integer not null,
        primary key (delivery, ordinal)) strict""",
    """create table decision_pass (id text primary key, request text not null references request (id), stage text not null,
        turn text, outcome text not null, fired text, signature text not null, stored text not null, at integer not null,
        last_seen integer not null, seen integer not null) strict""",
    "create index decision_pass_request on decision_pass (request, at)",
    """create table decision (id text primary key, pass text not null references decision_pass (id), request text not null,
        policy text not null, level text not null, outcome text not null, reason_kind text not null, reason_gate text,
        until integer, at integer not null) strict""",
    "create index decision_pass_of on decision (pass)",
    """create table event (request text not null, seq integer not null, at integer not null, kind text not null,
        body text not null, previous text not null, digest text not null unique, primary key (request, seq)) strict""",
    "create table route (name text primary key, holder text not null, next_look integer not null) strict",
    """create table level_change (id integer primary key autoincrement, policy text not null,
        level text not null check (level in ('off', 'shadow', 'advise', 'enforce')), who text not null, why text not null,
        at integer not null, until integer) strict""",
    """create table inbox_message (id text primary key, conversation text not null, position integer not null,
        author text not null, digest text not null, length integer not null, recalled boolean not null,
        command boolean not null, at integer not null, unique (conversation, position)) strict""",
    """create table inbox_reply (id text primary key, message text not null references inbox_message (id), key text not null unique,
        digest text not null, length integer not null, at integer not null) strict""",
]


FROZEN = [
    ("turn", ("id",), "{0}ended_at is not null", "an ended Turn never changes"),
    ("attempt", ("request", "kind", "ordinal"), "{0}open = 0", "a used Attempt never changes"),
    ("delivery", ("id",), "{0}verified_at is not null", "a verified Delivery never changes"),
    ("event", ("request", "seq"), "{0}seq is not null", "events are only appended"),
    ("start_intent", ("turn", "ordinal"), "{0}at is not null", "intents are only added"),
    ("start_receipt", ("turn",), "{0}at is not null", "receipts are only added"),
    ("delivery_intent", ("delivery", "ordinal"), "{0}at is not null", "intents are only added"),
    ("bundle", ("digest",), "{0}digest is not null", "policy texts never change"),
]

SQLITE = [
    # An open row may change its state, never what it is.
    """create trigger attempt_delete_open before delete on attempt begin select raise(abort, 'an Attempt is never taken back'); end""",
    """create trigger attempt_identity before update on attempt when new.request is not old.request or new.kind is not old.kind
        or new.ordinal is not old.ordinal or new.turn is not old.turn or new.decision is not old.decision
        begin select raise(abort, 'an Attempt keeps its identity'); end""",
    """create trigger attempt_after_last before insert on attempt
        when exists (select 1 from attempt where request = new.request and kind in ('work', 'review'))
        begin select raise(abort, 'nothing follows a work or review Attempt'); end""",
    # What a cancelled Turn did is never known: no try that may execute follows it, whatever is read later.
    """create trigger attempt_after_cancel before insert on attempt when new.kind in ('quota', 'route')
        and exists (select 1 from turn where request = new.request and settled_cancel = 1)
        begin select raise(abort, 'nothing is tried again after a cancelled Turn'); end""",
    """create trigger turn_identity before update on turn when new.id is not old.id or new.request is not old.request
        or new.session is not old.session or new.phase is not old.phase or new.ordinal is not old.ordinal
        or new.input_digest is not old.input_digest or new.word is not old.word
        or new.expires_at is not old.expires_at
        begin select raise(abort, 'a Turn keeps its identity and its input'); end""",
    """create trigger delivery_text before update on delivery when new.text_digest is not old.text_digest
        or new.request is not old.request or new.stage is not old.stage
        begin select raise(abort, 'a frozen text never changes'); end""",
    """create trigger pass_stored before update on decision_pass when new.stored is not old.stored or new.id is not old.id
        or new.at is not old.at begin select raise(abort, 'a decision never changes'); end""",
    """create trigger decision_update before update on decision begin select raise(abort, 'a decision never changes'); end""",
    """create trigger clock_backwards before update on clock when new.last < old.last
        begin select raise(abort, 'the journal''s time never runs backwards'); end""",
    """create trigger text_body before update on text when new.digest is not old.digest or new.length is not old.length
        or (new.body is not null and old.body is not null and new.body is not old.body)
        begin select raise(abort, 'a text is kept or dropped, never changed'); end""",
]


POSTGRES = [
    refused("attempt_delete_open", "delete", "attempt", "", "an Attempt is never taken back"),
    refused(
        "attempt_identity",
        "update",
        "attempt",
        "new.request is not old.request or new.kind is not old.kind or new.ordinal is not old.ordinal"
        " or new.turn is not old.turn or new.decision is not old.decision",
        "an Attempt keeps its identity",
    ),
    # What looks into tables is no condition of a trigger there.
    """create function attempt_follows() returns trigger language plpgsql as $$ begin
        if exists (select 1 from attempt where request = new.request and kind in ('work', 'review')) then
            raise exception 'nothing follows a work or review Attempt' using errcode = 'integrity_constraint_violation';
        end if;
        if new.kind in ('quota', 'route') and exists (select 1 from turn where request = new.request and settled_cancel) then
            raise exception 'nothing is tried again after a cancelled Turn' using errcode = 'integrity_constraint_violation';
        end if;
        return new; end $$""",
    "create trigger attempt_after_last before insert on attempt for each row execute function attempt_follows()",
    refused(
        "turn_identity",
        "update",
        "turn",
        "new.id is not old.id or new.request is not old.request or new.session is not old.session"
        " or new.phase is not old.phase or new.ordinal is not old.ordinal or new.input_digest is not old.input_digest"
        " or new.word is not old.word or new.expires_at is not old.expires_at",
        "a Turn keeps its identity and its input",
    ),
    refused(
        "delivery_text",
        "update",
        "delivery",
        "new.text_digest is not old.text_digest or new.request is not old.request or new.stage is not old.stage",
        "a frozen text never changes",
    ),
    refused(
        "pass_stored",
        "update",
        "decision_pass",
        "new.stored is not old.stored or new.id is not old.id or new.at is not old.at",
        "a decision never changes",
    ),
    refused("decision_update", "update", "decision", "", "a decision never changes"),
    refused("clock_backwards", "update", "clock", "new.last < old.last", "the journal''s time never runs backwards"),
    refused(
        "text_body",
        "update",
        "text",
        "new.digest is not old.digest or new.length is not old.length"
        " or (new.body is not null and old.body is not null and new.body is not old.body)",
        "a text is kept or dropped, never changed",
    ),
]


def up(migrator, db):
    """Create everything."""
    sqlite = isinstance(db, pw.SqliteDatabase)
    create(db, TABLES if sqlite else [*map(_truths, TABLES), REFUSE])
    for table, key, when, text in FROZEN:
        create(db, frozen(db, table, key, when, text))
    create(db, SQLITE if sqlite else POSTGRES)
    create(db, ["insert into clock (id, last) values (1, 0)"])


def _truths(statement):
    """The one index on a truth, as PostgreSQL takes it."""
    return statement.replace("where open = 1", "where open")
