"""What keeps a journal on a PostgreSQL server from being used, and what helps?

Told from the server's and libpq's own words. Nothing here repairs anything, and no password is ever in a URL or shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

_MENDS: tuple[tuple[tuple[str, ...], Callable[[str, str], str]], ...] = (
    (("is not installed",), lambda url, database: ""),
    (
        ("Connection refused", "Is the server running", "timeout expired", "resolve host", "translate host name"),
        lambda url, database: f"see whether it runs, and whether this is its address: pg_isready -d {shlex.quote(url)}",
    ),
    (
        ('database "{database}" does not exist',),
        lambda url, database: f"make it, as the server's administrator: createdb --encoding=UTF8 {database}",
    ),
    (
        ("role ",),
        lambda url, database: (
            "have the server's administrator make that user, or name another one in the journal's URL"
        ),
    ),
    (
        ("password authentication failed", "no password supplied"),
        lambda url, database: (
            "set PGPASSWORD, or PGPASSFILE to a file that holds it, where the command or service runs"
        ),
    ),
    (
        ("no pg_hba.conf entry",),
        lambda url, database: "have the server's administrator let this host and user in (pg_hba.conf)",
    ),
    (
        ("permission denied for schema",),
        lambda url, database: f"make the user the database's owner: alter database {database} owner to {_user(url)}",
    ),
    (
        ("permission denied",),
        lambda url, database: f"work as the user who made the tables, or make {_user(url)} their owner",
    ),
    (
        ("already exists", "does not exist"),
        lambda url, database: (
            "another program's tables stand there; give the journal a database of its own: "
            "createdb --encoding=UTF8 oncemore"
        ),
    ),
    (
        ("read-only transaction", "recovery mode"),
        lambda url, database: "name the primary server in the journal's URL; a standby takes nothing in",
    ),
    (
        ("too many clients", "remaining connection slots"),
        lambda url, database: "raise the server's max_connections, or run fewer workers",
    ),
    (
        ("keeps texts as",),
        lambda url, database: f"make one: createdb --encoding=UTF8 --template=template0 {database}_utf8",
    ),
    (("No space left", "could not extend"), lambda url, database: "make room on the server's disk"),
)


def mend(text: str, url: str) -> str:
    """The command or sentence that helps against a failure; empty when its words do not say."""
    database = shlex.quote(unquote(urlsplit(url).path.strip("/")) or "oncemore")
    for words, said in _MENDS:
        if any(word.replace("{database}", database) in text for word in words):
            return said(url, database)
    return ""


def _user(url: str) -> str:
    return unquote(urlsplit(url).username or "the user")
