"""What does a Lark hold, and what does it answer? Messages, tokens and replies by the rules that replies depend on.

It has one app with one bot; `fake` puts it on the loopback. Times are those of the clock that it is given, in
milliseconds since the epoch. The answer to a second request under one uuid is not documented; here it says success and
names no message.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

HOUR = 3_600_000
PAGE = 50
REPLY_BYTES = 150 * 1024

ReplyFault = Literal[
    "applied-no-answer", "applied-slow", "applied-5xx", "applied-no-id", "applied-garbled", "lost", "5xx", "limited"
]
ReadFault = Literal["no-answer", "slow", "5xx", "limited", "garbled", "same-page"]


@dataclass(slots=True)
class Entry:
    """A message in the book; a person's, or a reply of the bot."""

    id: str
    chat: str
    sender: str
    sender_type: str
    kind: str
    content: str
    created: int
    parent: str | None = None
    root: str | None = None
    thread: str | None = None
    updated: int | None = None
    deleted: bool = False
    hidden: int = 0
    mentions: tuple[tuple[str, str, str], ...] = ()

    @property
    def text(self) -> str:
        """The text of a text message."""
        found = json.loads(self.content)["text"]
        assert isinstance(found, str)
        return found


@dataclass(slots=True)
class Faults:
    """What goes wrong next; every entry is used once, in order.

    Attributes:
        reply: for posts. `lost` and `5xx` post nothing, and `applied-...` post; `limited` answers with a rate limit.
        read: for reads of one message and of a list alike; None lets one through.
        token: codes that the next requests for a token are answered with.
        lag: how many reads do not show a reply that is posted from now on.
        gone_by_code: a message that was taken back is answered with code 230110, instead of with its remains.
        reset: seconds that a rate limit names; None names none.
    """

    reply: deque[ReplyFault] = field(default_factory=deque)
    read: deque[ReadFault | None] = field(default_factory=deque)
    token: deque[int] = field(default_factory=deque)
    lag: int = 0
    gone_by_code: bool = False
    reset: str | None = "7"


class Book:
    """The messages of every chat, and what becomes of a call.

    Attributes:
        book: all messages, in the order in which they were posted.
        faults: what goes wrong next.
        tokens: until when each is good.
        lock: held while a call is answered.
    """

    app_id = "cli_0123456789abcdef"
    app_secret = "the secret of nobody's app"
    encrypt_key = "the key of nobody's events"
    verification_token = "the token of nobody's events"
    token_seconds = 7200

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.book: list[Entry] = []
        self.faults = Faults()
        self.tokens: dict[str, int] = {}
        self.lock = threading.RLock()
        self._uuids: dict[str, int] = {}
        self._issued = 0

    def post(
        self,
        chat: str,
        sender: str,
        text: str,
        *,
        kind: str = "text",
        sender_type: str = "user",
        content: str | None = None,
        thread: str | None = None,
        mentions: tuple[tuple[str, str, str], ...] = (),
    ) -> str:
        """A message arrives in a chat; its id.

        Args:
            content: the content as JSON, for other types than text.
            thread: the topic that it belongs to.
            mentions: key, open id and name of each person mentioned.
        """
        with self.lock:
            roots = [entry.id for entry in self.book if thread is not None and entry.thread == thread]
            entry = Entry(
                id=self._new_id(),
                chat=chat,
                sender=sender,
                sender_type=sender_type,
                kind=kind,
                content=content or json.dumps({"text": text}),
                created=self.clock(),
                parent=roots[0] if roots else None,
                root=roots[0] if roots else None,
                thread=thread,
                mentions=mentions,
            )
            self.book.append(entry)
            return entry.id

    def edit(self, message: str, text: str) -> None:
        """The person changes a message."""
        with self.lock:
            entry = self.entry(message)
            entry.content, entry.updated = json.dumps({"text": text}), self.clock()

    def recall(self, message: str) -> None:
        """The person takes a message back."""
        with self.lock:
            self.entry(message).deleted = True

    def revoke_tokens(self) -> None:
        """Every token given out so far is turned away from now on."""
        with self.lock:
            self.tokens.clear()

    def entry(self, message: str) -> Entry:
        """The message of an id."""
        return next(entry for entry in self.book if entry.id == message)

    def replies(self, message: str) -> list[Entry]:
        """What the bot posted under a message, in order."""
        return [entry for entry in self.book if entry.sender_type == "app" and entry.parent == message]

    def event(self, message: str, event_id: str = "e-1", **changes: object) -> bytes:
        """The event by which a message is told to the app's address.

        Args:
            changes: fields of the message to tell otherwise.
        """
        entry = self.entry(message)
        told: dict[str, object] = {
            "message_id": entry.id,
            "create_time": str(entry.created),
            "chat_id": entry.chat,
            "chat_type": "p2p",
            "message_type": entry.kind,
            "content": entry.content,
            "mentions": [
                {"key": key, "id": {"open_id": person}, "name": name, "tenant_key": "t"}
                for key, person, name in entry.mentions
            ],
            **changes,
        }
        whole = {
            "schema": "2.0",
            "header": {
                "event_id": event_id,
                "event_type": "im.message.receive_v1",
                "create_time": str(entry.created),
                "token": self.verification_token,
                "app_id": self.app_id,
                "tenant_key": "t",
            },
            "event": {
                "sender": {"sender_id": {"open_id": entry.sender}, "sender_type": entry.sender_type, "tenant_key": "t"},
                "message": told,
            },
        }
        return json.dumps(whole).encode()

    def signed(self, raw: bytes, *, nonce: str = "n0") -> dict[str, str]:
        """The headers that vouch for a request to the app's address now."""
        timestamp = str(self.clock() // 1000)
        signature = hashlib.sha256((timestamp + nonce + self.encrypt_key).encode() + raw).hexdigest()
        return {
            "X-Lark-Request-Timestamp": timestamp,
            "X-Lark-Request-Nonce": nonce,
            "X-Lark-Signature": signature,
        }

    def _new_id(self) -> str:
        return "om_" + hashlib.sha256(str(len(self.book)).encode()).hexdigest()[:32]

    def issue(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """A token for the app."""
        if self.faults.token:
            return 400, {"code": self.faults.token.popleft(), "msg": "no"}
        if (asked.get("app_id"), asked.get("app_secret")) != (self.app_id, self.app_secret):
            return 400, {"code": 10014, "msg": "app secret invalid"}
        self._issued += 1
        token = f"t-{self._issued:08d}-canary"
        self.tokens[token] = self.clock() + self.token_seconds * 1000
        return 200, {"code": 0, "msg": "ok", "tenant_access_token": token, "expire": self.token_seconds}

    def _shown(self, entry: Entry) -> bool:
        """Whether a read shows the message by now; a read that does not brings it closer."""
        if entry.hidden == 0:
            return True
        entry.hidden -= 1
        return False

    def _item(self, entry: Entry) -> dict[str, Any]:
        person = entry.sender_type == "user"
        return {
            "message_id": entry.id,
            **({"root_id": entry.root, "parent_id": entry.parent} if entry.parent else {}),
            **({"thread_id": entry.thread} if entry.thread else {}),
            "msg_type": entry.kind,
            "create_time": str(entry.created),
            "update_time": str(entry.updated or entry.created),
            "deleted": entry.deleted,
            "updated": entry.updated is not None,
            "chat_id": entry.chat,
            "sender": {
                "id": entry.sender,
                "id_type": "open_id" if person else "app_id",
                "sender_type": entry.sender_type,
                "tenant_key": "t",
            },
            "body": {"content": "This message was recalled" if entry.deleted else entry.content},
            "mentions": [
                {"key": key, "id": person, "id_type": "open_id", "name": name, "tenant_key": "t"}
                for key, person, name in entry.mentions
            ],
        }

    def read(self, message: str) -> tuple[int, dict[str, Any]]:
        """One message."""
        found = [entry for entry in self.book if entry.id == message]
        if not found or not self._shown(found[0]):
            return 400, {"code": 231003, "msg": "The message is not found, maybe not exist or deleted."}
        if found[0].deleted and self.faults.gone_by_code:
            return 400, {"code": 230110, "msg": "Action unavailable as the message has been deleted."}
        return 200, {"code": 0, "msg": "success", "data": {"items": [self._item(found[0])]}}

    def listed(self, query: Mapping[str, str], again: bool) -> tuple[int, dict[str, Any]]:
        """A page of a chat or a topic; the same one again, where `again`."""
        kind, container = query.get("container_id_type"), query.get("container_id")
        size, start = int(query.get("page_size", "20")), int(query.get("start_time", "0")) * 1000
        if kind not in ("chat", "thread") or size > PAGE or (kind == "thread" and start):
            return 400, {"code": 230001, "msg": "Your request contains an invalid request parameter."}
        if kind == "chat":
            # A topic's messages are not listed in its chat, but for the first.
            held = [e for e in self.book if e.chat == container and e.created >= start and not (e.thread and e.root)]
        else:
            held = [e for e in self.book if e.thread == container]
        first = int(query.get("page_token", "p0")[1:])
        page = held[first : first + size]
        more = first + size < len(held)
        data: dict[str, Any] = {
            "has_more": more,
            "items": [self._item(entry) for entry in page if self._shown(entry)],
        }
        if more:
            data["page_token"] = f"p{first if again else first + size}"
        return 200, {"code": 0, "msg": "success", "data": data}

    def reply(self, message: str, asked: Mapping[str, Any], size: int) -> tuple[int, dict[str, Any]]:
        """A reply under a message, once for each uuid within an hour."""
        uuid = asked.get("uuid", "")
        found = [entry for entry in self.book if entry.id == message]
        if not isinstance(uuid, str) or len(uuid) > 50 or asked.get("msg_type") != "text":
            return 400, {"code": 230001, "msg": "Your request contains an invalid request parameter."}
        if size > REPLY_BYTES:
            return 400, {"code": 230025, "msg": "The length of the message content reaches its limit."}
        if not found:
            return 400, {"code": 231003, "msg": "The message is not found, maybe not exist or deleted."}
        if found[0].deleted:
            return 400, {"code": 230011, "msg": "The message is recalled."}
        if uuid and self.clock() - self._uuids.get(uuid, -HOUR) < HOUR:
            return 200, {"code": 0, "msg": "success", "data": {}}
        self._uuids[uuid] = self.clock()
        first = found[0].root or found[0].id
        reply = Entry(
            id=self._new_id(),
            chat=found[0].chat,
            sender=self.app_id,
            sender_type="app",
            kind="text",
            content=str(asked["content"]),
            created=self.clock(),
            parent=first if found[0].thread else found[0].id,
            root=first,
            thread=found[0].thread,
            hidden=self.faults.lag,
        )
        self.book.append(reply)
        return 200, {"code": 0, "msg": "success", "data": self._item(reply)}
