"""Who may do what over HTTP?

A key is `om_<id>_<secret>`. The secret has 256 random bits and is shown once, when the key is made; the journal keeps
its HMAC-SHA-256 under a pepper that stands in a file of its own. A stolen database opens nothing without that file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from oncemore.adapters.configuration import Configuration
from oncemore.adapters.errors import ConfigurationRefused
from oncemore.engine.errors import Conflict, NotFound
from oncemore.engine.journal import Journal
from oncemore.engine.service_tables import ApiKey

Scope: TypeAlias = Literal["read", "decide", "act", "admin"]

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""What a key may be for; none of them holds another.

`read` what is kept; `decide` posted cases; `act`: post, stop, release, and keep posted decisions; `admin`: levels and
the breaker.
"""

REFRESH_MS: Final = 1_000
"""How old what is known of the keys may be: a key that another process revoked opens nothing after it."""

USED_MS: Final = 60_000
"""How exactly it is kept when a key was last used."""

_TOKEN = re.compile(r"om_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)
_NAME = re.compile(r"[!-~]([ -~]{0,62}[!-~])?", re.ASCII)
_PEPPER_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret. Times are milliseconds since the epoch.

    Attributes:
        name: what it is for, in its maker's words.
        expires_at: None for never.
        used_at: when it was last used, to the minute; None for never.
    """

    id: str
    name: str
    scopes: frozenset[Scope]
    created_at: int
    expires_at: int | None = None
    used_at: int | None = None
    revoked_at: int | None = None

    def opens(self, now: int) -> bool:
        """Whether it opens anything at that time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Keys:
    """The keys of one journal, as this process knows them.

    Args:
        pepper: what the digests are made under; see `pepper`.
        clock: milliseconds since the epoch.
    """

    def __init__(self, journal: Journal, pepper: bytes, clock: Callable[[], int]) -> None:
        self._journal = journal
        self._pepper = pepper
        self._clock = clock
        self._held: dict[str, tuple[Key, bytes]] = {}
        self._read_at: int | None = None
        self._changes = 0
        self._latest = 0
        self._used: dict[str, int] = {}
        self._noted: dict[str, int] = {}

    # What the journal holds; the calling thread is connected ---------------------------------------------------------

    def add(self, name: str, scopes: Collection[Scope], *, expires_at: int | None = None) -> tuple[Key, str]:
        """Make a key; the key and its token, which is not shown again.

        Args:
            expires_at: milliseconds since the epoch; None for never.

        Raises:
            Conflict: the name is none, or no scope is named.
        """
        if not _NAME.fullmatch(name):
            raise Conflict("a key's name has 1 to 64 visible ASCII characters, and blanks only between them")
        if not scopes or not set(scopes) <= set(SCOPES):
            raise Conflict(f"a key has one or more of the scopes {', '.join(SCOPES)}")
        secret = secrets.token_hex(32)
        with self._journal.transaction():
            now = self._journal.advance_clock().ms
            row = ApiKey.create(
                id=secrets.token_hex(6),
                name=name,
                digest=self._digest(secret).hex(),
                scopes=" ".join(scope for scope in SCOPES if scope in scopes),
                created_at=now,
                expires_at=expires_at,
            )
        self._changes += 1
        self._read_at = None
        return _key(row), f"om_{row.id}_{secret}"

    def listed(self) -> list[Key]:
        """Every key that was ever made, oldest first."""
        return [_key(row) for row in ApiKey.select().order_by(ApiKey.created_at, ApiKey.id)]

    def revoke(self, key: str) -> Key:
        """End a key for good; one that is revoked stays as it is.

        Raises:
            NotFound: there is no such key.
        """
        with self._journal.transaction():
            now = self._journal.advance_clock().ms
            row = ApiKey.get_or_none(ApiKey.id == key)
            if row is None:
                raise NotFound(f"there is no key {key}")
            if row.revoked_at is None:
                ApiKey.update(revoked_at=now).where(ApiKey.id == key).execute()
        self._changes += 1
        self._read_at = None
        return _key(ApiKey.get_by_id(key))

    def refresh(self) -> None:
        """Read the keys anew."""
        read_at, changes = self._clock(), self._changes
        self._latest = max(self._latest, self._journal.now().ms)
        rows: Iterable[ApiKey] = ApiKey.select().where(ApiKey.revoked_at.is_null())
        self._held = {str(row.id): (_key(row), bytes.fromhex(str(row.digest))) for row in rows}
        # What was changed meanwhile may not be in it.
        self._read_at = read_at if changes == self._changes else None

    def note_used(self) -> None:
        """Keep when keys were used."""
        used, self._used = self._used, {}
        if not used:
            return
        with self._journal.transaction():
            for key, at in used.items():
                ApiKey.update(used_at=at).where(
                    ApiKey.id == key, ApiKey.used_at.is_null() | (ApiKey.used_at < at)
                ).execute()

    # What this process knows; asked for every call, without the journal ----------------------------------------------

    @property
    def stale(self) -> bool:
        """Whether `refresh` is due."""
        return self._read_at is None or not 0 <= self._clock() - self._read_at < REFRESH_MS

    @property
    def ageing(self) -> bool:
        """Whether `refresh` will be due soon."""
        return self._read_at is None or not 0 <= self._clock() - self._read_at < REFRESH_MS / 2

    def check(self, token: str) -> Key | None:
        """The key of a token; None when it opens nothing, for whatever reason."""
        found = _TOKEN.fullmatch(token)
        if found is None:
            return None
        key, expected = self._held.get(found[1], (None, b"\0" * 32))
        right = hmac.compare_digest(self._digest(found[2]), expected)
        now = self.now()
        if key is None or not right or not key.opens(now):
            return None
        if now - self._noted.get(key.id, key.used_at or 0) >= USED_MS:
            self._noted[key.id] = self._used[key.id] = now
        return key

    def current(self, key: str) -> Key | None:
        """The key of an id, when it still opens something."""
        found = self._held.get(key)
        return found[0] if found is not None and found[0].opens(self.now()) else None

    def now(self) -> int:
        """A time that does not run backwards with the system's clock: what ran out once stays so."""
        self._latest = max(self._latest, self._clock())
        return self._latest

    @property
    def used(self) -> bool:
        """Whether there is something for `note_used`."""
        return bool(self._used)

    def seal(self, purpose: str, text: str) -> str:
        """A mark that only this service can make of a text, 64 hexadecimal digits; compare it with `sealed`."""
        return hmac.digest(self._pepper, f"{purpose}\0{text}".encode(), "sha256").hex()

    def sealed(self, purpose: str, text: str, mark: str) -> bool:
        """Whether the mark is this service's own, compared in constant time."""
        return hmac.compare_digest(self.seal(purpose, text).encode(), mark.encode("utf-8", "surrogatepass"))

    def _digest(self, secret: str) -> bytes:
        return hmac.digest(self._pepper, secret.encode(), hashlib.sha256)


def _key(row: ApiKey) -> Key:
    scopes = frozenset(scope for scope in SCOPES if scope in str(row.scopes).split())
    return Key(row.id, row.name, scopes, row.created_at, row.expires_at, row.used_at, row.revoked_at)


def pepper_file(configuration: Configuration) -> Path:
    """Where the pepper of a house's keys stands: beside its journal."""
    return configuration.data / "pepper"


def pepper(path: Path) -> bytes:
    """What the file of the pepper holds; it is made where it is not there.

    Raises:
        ConfigurationRefused: it cannot be made or read, is open to others, or holds no pepper.
    """
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise ConfigurationRefused(f"the file {path} for the keys' pepper cannot be made: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(_PEPPER_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return _read(path)


def _read(path: Path) -> bytes:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise ConfigurationRefused(f"{path} must be a file that only its owner can read: chmod 600 {path}")
            content = file.read(4 * _PEPPER_BYTES)
    except OSError as error:
        raise ConfigurationRefused(f"{path} cannot be read: {error.strerror or error}") from error
    if not re.fullmatch(rb"[0-9a-f]{%d}" % (2 * _PEPPER_BYTES), content.strip()):
        raise ConfigurationRefused(
            f"{path} does not hold the pepper of the keys; bring it back from a backup, or remove it and make new keys"
        )
    return bytes.fromhex(content.strip().decode())
