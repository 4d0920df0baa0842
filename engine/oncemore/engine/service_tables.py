"""In which rows does the journal hold who may call the service, and what was posted to it?"""

from __future__ import annotations

import peewee as pw

from oncemore.engine.tables import Row


class ApiKey(Row):
    """A key to the service. The secret itself is nowhere: `digest` is its HMAC under the pepper. `scopes` are words."""

    id = pw.TextField(primary_key=True)
    name = pw.TextField()
    digest = pw.TextField()
    scopes = pw.TextField()
    created_at = pw.BigIntegerField()
    expires_at = pw.BigIntegerField(null=True)
    used_at = pw.BigIntegerField(null=True)
    revoked_at = pw.BigIntegerField(null=True)

    class Meta:
        table_name = "api_key"


class EndedSession(Row):
    """A session of the page whose holder signed out; `until` is when it would have ended by itself."""

    session = pw.TextField(primary_key=True)
    until = pw.BigIntegerField()

    class Meta:
        table_name = "ended_session"


class PostedMessage(Row):
    """A message that a program posted for a person, by the program's own id of it."""

    workspace = pw.TextField()
    message = pw.TextField()
    digest = pw.TextField()
    language = pw.TextField()
    inbox_message = pw.TextField()
    request = pw.TextField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "posted_message"
        primary_key = pw.CompositeKey("workspace", "message")


class PostedPass(Row):
    """All decisions on one posted case, kept because its poster asked for it. `poster` is the id of the key."""

    id = pw.TextField(primary_key=True)
    stored = pw.TextField()
    outcome = pw.TextField()
    fired = pw.TextField(null=True)
    poster = pw.TextField()
    at = pw.BigIntegerField()

    class Meta:
        table_name = "posted_pass"


class PostedDecision(Row):
    """One policy's decision within a posted pass."""

    id = pw.TextField(primary_key=True)
    posted_pass = pw.TextField(index=True, column_name="pass")

    class Meta:
        table_name = "posted_decision"
