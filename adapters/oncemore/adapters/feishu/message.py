"""What is a message, as Lark reads it back?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncemore.adapters.feishu.content import Content, content_of
from oncemore.adapters.feishu.fields import Malformed, flag, listing, mapping, moment, optional, text

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


def safe_id(value: str) -> bool:
    """Whether an id can stand in a path without leading elsewhere."""
    return bool(_ID.match(value))


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        kind: its type: `text`, `post`, `image`...
        thread: the topic that it belongs to; None outside topics.
        root, parent: what it replies to; in a topic both are the topic's first message.
        sender: a person's open id, or an app's id.
        sender_kind: `user`, `app`, or another word of Lark's.
        created: milliseconds since the epoch.
        updated: somebody changed it after it was sent.
        body: the content as JSON; None when it was taken back.
        mentions: names by the keys that stand for them in the text.
    """

    id: str
    kind: str
    chat: str
    thread: str | None
    root: str | None
    parent: str | None
    sender: str
    sender_kind: str
    created: int
    updated: bool
    deleted: bool
    body: str | None
    mentions: Mapping[str, str]

    def content(self) -> Content:
        """What it says. Raises `Malformed`."""
        if self.body is None:
            raise Malformed("the message has no content")
        return content_of(self.kind, self.body, self.mentions)


def message_of(item: Any) -> Message:
    """A message from Lark's JSON. Raises `Malformed`."""
    item = mapping(item, "a message")
    sender = mapping(item.get("sender"), "sender")
    deleted = flag(item, "deleted")
    message = Message(
        id=text(item, "message_id"),
        kind=text(item, "msg_type"),
        chat=text(item, "chat_id"),
        thread=optional(item, "thread_id"),
        root=optional(item, "root_id"),
        parent=optional(item, "parent_id"),
        sender=optional(sender, "id") or "",  # a system message has no sender
        sender_kind=optional(sender, "sender_type") or "",
        created=moment(item, "create_time"),
        updated=flag(item, "updated"),
        deleted=deleted,
        body=None if deleted else text(mapping(item.get("body"), "body"), "content"),
        mentions=names_of(item.get("mentions")),
    )
    for name in (message.id, message.chat, message.thread, message.root):
        if name is not None and not safe_id(name):
            raise Malformed("an id of the message is not one")
    return message


def names_of(mentions: Any) -> dict[str, str]:
    """The names of the people that a message mentions, by key. Raises `Malformed`."""
    found: dict[str, str] = {}
    for mention in listing(mentions, "mentions"):
        mention = mapping(mention, "a mention")
        found[text(mention, "key")] = optional(mention, "name") or text(mention, "key")
    return found
