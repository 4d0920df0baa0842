"""Which rows hold the conversations, what was decided and done, and who works on it?

Times are whole milliseconds since the epoch. Texts that people or models wrote are not in these rows: they hold the
text's SHA-256 and its length, the text itself stands in `text`. The migrations are the schema's authority; a test
compares both.
"""

from __future__ import annotations

import peewee as pw

from oncemore.engine.statements import Rows

database = pw.DatabaseProxy()


class Row(Rows):
    """Common base: one database, strict tables, singular names."""

    class Meta:
        database = database
        strict_tables = True
        legacy_table_names = False


class Text(Row):
    """A text by its SHA-256. Retention deletes the body and leaves the row, so that history stays verifiable."""

    digest = pw.TextField(primary_key=True)
    length = pw.BigIntegerField()
    body = pw.TextField(null=True)
    stored_at = pw.BigIntegerField()


class Bundle(Row):
    """The texts of a policy and its groups by the policy's digest, kept so that a decision renders again."""

    digest = pw.TextField(primary_key=True)
    body = pw.TextField()


class Clock(Row):
    """The journal's last time, in its only row: `now` is never below it."""

    id = pw.BigIntegerField(primary_key=True)
    last = pw.BigIntegerField()


class Session(Row):
    """One durable conversation bound to one workspace. Whoever writes for it locks this row first. `left_at` is when
    its people left it for a fresh one; until then it is the one of its conversation."""

    id = pw.TextField(primary_key=True)
    workspace = pw.TextField()
    owner = pw.TextField()
    grant_level = pw.TextField()
    grant_revision = pw.BigIntegerField()
    root = pw.TextField()
    root_device = pw.BigIntegerField()
    root_inode = pw.BigIntegerField()
    runtime = pw.TextField()
    home = pw.TextField()
    source = pw.TextField()
    conversation = pw.TextField()
    state = pw.TextField()
    active_turn = pw.TextField(null=True)
    fence = pw.BigIntegerField()
    created_at = pw.BigIntegerField()
    left_at = pw.BigIntegerField(null=True)


class SessionThread(Row):
    """A native thread that a Session uses or has used, in order. One that is `set_aside` served one review only."""

    session = pw.TextField()
    ordinal = pw.BigIntegerField()
    runtime = pw.TextField()
    home = pw.TextField()
    thread = pw.TextField()
    set_aside = pw.BooleanField()
    used_from = pw.BigIntegerField()
    used_to = pw.BigIntegerField(null=True)

    class Meta:
        table_name = "session_thread"
        primary_key = pw.CompositeKey("session", "ordinal")


class Request(Row):
    """One human message that asked for work. `head` is the end of its event chain. `words` counts what people said of
    it since (stop, release, a newer message …), `words_seen` how many of them the step in hand knew."""

    id = pw.TextField(primary_key=True)
    session = pw.TextField()
    position = pw.BigIntegerField()
    message = pw.TextField()
    sender = pw.TextField()
    digest = pw.TextField()
    length = pw.BigIntegerField()
    language = pw.TextField()
    role = pw.TextField()
    audience = pw.TextField()
    host = pw.TextField()
    attachments = pw.BigIntegerField()
    delegated = pw.BooleanField()
    steered = pw.BooleanField()
    opted_out = pw.BooleanField()
    state = pw.TextField()
    stop_origin = pw.TextField()
    stop_target = pw.TextField(null=True)
    due_at = pw.BigIntegerField(null=True)
    waiting_since = pw.BigIntegerField(null=True)
    held = pw.TextField(null=True)
    words = pw.BigIntegerField()
    words_seen = pw.BigIntegerField()
    created_at = pw.BigIntegerField()
    head = pw.TextField()
    events = pw.BigIntegerField()


class Turn(Row):
    """One execution in a Session; never changed once `ended_at` is set. Its id is its client id at the runtime. A
    person's may be started until `expires_at`; a recovery has its policy's patience instead."""

    id = pw.TextField(primary_key=True)
    session = pw.TextField()
    request = pw.TextField()
    phase = pw.TextField()
    ordinal = pw.BigIntegerField()
    position = pw.BigIntegerField()
    status = pw.TextField()
    error = pw.TextField()
    detail = pw.TextField(null=True)
    input_digest = pw.TextField()
    input_length = pw.BigIntegerField()
    word = pw.TextField()
    profile = pw.TextField(null=True)
    native_thread = pw.TextField(null=True)
    native_turn = pw.TextField(null=True)
    native_ended_at = pw.BigIntegerField(null=True)
    reply_digest = pw.TextField(null=True)
    reply_length = pw.BigIntegerField(null=True)
    response_digest = pw.TextField(null=True)
    report_state = pw.TextField(null=True)
    has_gate = pw.BooleanField(null=True)
    has_reply = pw.BooleanField()
    has_deltas = pw.BooleanField()
    settled_cancel = pw.BooleanField(default=False)
    queued_at = pw.BigIntegerField()
    expires_at = pw.BigIntegerField(null=True)
    started_at = pw.BigIntegerField(null=True)
    ended_at = pw.BigIntegerField(null=True)


class Attempt(Row):
    """The one reserved try of a kind for a Request; never changed again once it is settled (`open` 0)."""

    request = pw.TextField()
    kind = pw.TextField()
    ordinal = pw.BigIntegerField()
    turn = pw.TextField(unique=True)
    decision = pw.TextField()
    state = pw.TextField()
    open = pw.BooleanField()
    reason = pw.TextField(null=True)
    reserved_at = pw.BigIntegerField()
    settled_at = pw.BigIntegerField(null=True)

    class Meta:
        primary_key = pw.CompositeKey("request", "kind", "ordinal")


class StartIntent(Row):
    """Written before the runtime is asked to start a Turn: only who inserted it may call. `held` lists the native
    turns that the inventory before it already held, so that a start merged into one of them shows."""

    turn = pw.TextField()
    ordinal = pw.BigIntegerField()
    host = pw.TextField()
    boot = pw.TextField()
    pid = pw.BigIntegerField()
    pid_started = pw.BigIntegerField()
    held = pw.TextField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "start_intent"
        primary_key = pw.CompositeKey("turn", "ordinal")


class StartReceipt(Row):
    """The native turn that a start led to: `answered` by the call, or `found` in the inventory afterwards."""

    turn = pw.TextField(primary_key=True)
    native_thread = pw.TextField()
    native_turn = pw.TextField()
    proof = pw.TextField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "start_receipt"


class Delivery(Row):
    """One frozen text going to the Source at one stage; never changed again once it is verified."""

    id = pw.TextField(primary_key=True)
    request = pw.TextField()
    stage = pw.TextField()
    turn = pw.TextField(null=True)
    text_digest = pw.TextField()
    text_length = pw.BigIntegerField()
    state = pw.TextField()
    reply = pw.TextField(null=True)
    detail = pw.TextField(null=True)
    frozen_at = pw.BigIntegerField()
    sent_at = pw.BigIntegerField(null=True)
    verified_at = pw.BigIntegerField(null=True)


class DeliveryIntent(Row):
    """Written before a reply is sent; the key is the same for every try of one Delivery."""

    delivery = pw.TextField()
    ordinal = pw.BigIntegerField()
    host = pw.TextField()
    boot = pw.TextField()
    pid = pw.BigIntegerField()
    pid_started = pw.BigIntegerField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "delivery_intent"
        primary_key = pw.CompositeKey("delivery", "ordinal")


class DecisionPass(Row):
    """One look at a Request by all policies. `stored` never changes; only `last_seen` and `seen` do."""

    id = pw.TextField(primary_key=True)
    request = pw.TextField(index=True)
    stage = pw.TextField()
    turn = pw.TextField(null=True)
    outcome = pw.TextField()
    fired = pw.TextField(null=True)
    signature = pw.TextField()
    stored = pw.TextField()
    at = pw.BigIntegerField()
    last_seen = pw.BigIntegerField()
    seen = pw.BigIntegerField()

    class Meta:
        table_name = "decision_pass"


class Decision(Row):
    """One policy's outcome within a pass."""

    id = pw.TextField(primary_key=True)
    decision_pass = pw.TextField(index=True, column_name="pass")
    request = pw.TextField()
    policy = pw.TextField()
    level = pw.TextField()
    outcome = pw.TextField()
    reason_kind = pw.TextField()
    reason_gate = pw.TextField(null=True)
    until = pw.BigIntegerField(null=True)
    at = pw.BigIntegerField()


class Event(Row):
    """What happened to a Request, in order; each row carries the digest of the one before."""

    request = pw.TextField()
    seq = pw.BigIntegerField()
    at = pw.BigIntegerField()
    kind = pw.TextField()
    body = pw.TextField()
    previous = pw.TextField()
    digest = pw.TextField(unique=True)

    class Meta:
        primary_key = pw.CompositeKey("request", "seq")


class InboxMessage(Row):
    """A message of the App conversation, in the order in which it came."""

    id = pw.TextField(primary_key=True)
    conversation = pw.TextField()
    position = pw.BigIntegerField()
    author = pw.TextField()
    digest = pw.TextField()
    length = pw.BigIntegerField()
    recalled = pw.BooleanField()
    command = pw.BooleanField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "inbox_message"


class InboxReply(Row):
    """A reply of ours under a message of the App conversation; one for each key."""

    id = pw.TextField(primary_key=True)
    message = pw.TextField()
    key = pw.TextField(unique=True)
    digest = pw.TextField()
    length = pw.BigIntegerField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "inbox_reply"


class RunningWorker(Row):
    """A worker on a server, taken for gone after `until`, by the server's clock."""

    id = pw.BigAutoField()
    name = pw.TextField()
    host = pw.TextField()
    boot = pw.TextField()
    pid = pw.BigIntegerField()
    pid_started = pw.BigIntegerField()
    started_at = pw.BigIntegerField()
    until = pw.BigIntegerField()

    class Meta:
        table_name = "worker"


class Lease(Row):
    """A Session in the hand of one worker on a server; the token is never given again."""

    token = pw.BigAutoField()
    session = pw.TextField(unique=True)
    worker = pw.BigIntegerField(index=True)
    taken_at = pw.BigIntegerField()
