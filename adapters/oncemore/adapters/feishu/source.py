"""Is the message that asked still there as it was, what came after it, and has our reply arrived under it?

Lark's book can be read, but never proves that a reply is absent: nothing promises that it shows one at once. Instead
its uuid lets one reply through within an hour, and only that makes a second try safe.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

from oncemore.adapters.feishu import content
from oncemore.adapters.feishu.api import Api, Gone
from oncemore.adapters.feishu.content import accepted_digest
from oncemore.adapters.feishu.fields import Malformed, flag, listing, text
from oncemore.adapters.feishu.message import Message, message_of, safe_id
from oncemore.adapters.wire import Wire
from oncemore.engine.errors import Refused, Unreadable
from oncemore.engine.ports import Newer, Receipt, Search, SourceRef
from oncemore.rules.case import Evidence, Reading

BASE = "https://open.feishu.cn"
MESSAGES = "/open-apis/im/v1/messages"

KEY_WINDOW = 3_000_000
"""Fifty minutes in milliseconds: Lark's promise is an hour, and its clock is not ours."""

REPLY_BYTES = 150 * 1024
"""Largest request that posts a text (page of im-v1/message/reply)."""

PAGES = 200
"""More pages than this, of fifty messages each, are not read."""


class Feishu:
    """A Source of one app.

    Args:
        name: its configured id.
        app_id: the app whose bot people write to; a reply of ours has it as sender.
        secret: reads the app's secret, see `secret`.
        clock: milliseconds since the epoch.
        base: the address of Lark's API, which `wire` must allow.
    """

    key_window = KEY_WINDOW

    def __init__(
        self,
        name: str,
        wire: Wire,
        *,
        app_id: str,
        secret: Callable[[], str],
        clock: Callable[[], int],
        base: str = BASE,
    ) -> None:
        self._name = name
        self._app_id = app_id
        self._clock = clock
        self._api = Api(wire, base, app_id, secret, clock)

    @property
    def name(self) -> str:
        """Its configured id."""
        return self._name

    def read(self, ref: SourceRef) -> Mapping[str, Reading]:
        """`source.state` and `source.sender_verified`, the message read back and compared with what was accepted.

        Raises:
            Refused: the reference is not one of Lark's.
            Unreadable: Lark did not show the message, or not as one.
        """
        now = self._clock()
        try:
            message = self._message(ref.message)
        except Gone as gone:
            return {"source.state": Reading("known", gone.state, Evidence(self._name, now))}
        digest, state = None, "recalled"
        if not message.deleted:
            try:
                digest = accepted_digest(message.content().text)
            except Malformed as error:
                _unreadable(error)
            # The mark alone is enough: the text may be as it was while a picture beside it is not.
            state = "unchanged" if digest == ref.digest and not message.updated else "edited"
        evidence = Evidence(self._name, now, digest=digest)
        same = message.sender_kind == "user" and message.sender == ref.sender
        return {
            "source.state": Reading("known", state, evidence),
            "source.sender_verified": Reading("known", same, evidence),
        }

    def newer(self, ref: SourceRef) -> Newer:
        """What people wrote in the chat, and in the message's topic, after it.

        Raises:
            Refused: the reference is not one of Lark's.
            Unreadable: not everything could be read.
        """
        now = self._clock()
        message = self._message(ref.message)
        found: dict[str, int] = {}
        for later in self._after(message):
            if self._counts(later):
                found.setdefault(later.id, later.created)
        return Newer(messages=tuple(sorted(found, key=found.__getitem__)), observed_at=now)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        """Post one reply to the message; within `key_window` the same key posts at most one.

        Raises:
            Busy: Lark was not reached, or told us to wait; nothing was posted.
            Refused: this call posted nothing, and the next one would not either.
            Uncertain: it may have been posted.
        """
        body = {
            "content": json.dumps({"text": content.as_written(text)}, ensure_ascii=False),
            "msg_type": "text",
            "uuid": uuid_of(key),
        }
        if not text.strip():
            raise Refused("Lark takes no empty text; nothing was sent")
        try:
            size = len(json.dumps(body, ensure_ascii=False).encode())
        except UnicodeEncodeError:
            raise Refused("the reply is not Unicode text; nothing was sent") from None
        if size > REPLY_BYTES:
            raise Refused(
                f"the reply has {size} bytes as Lark counts them, and it takes {REPLY_BYTES}; nothing was sent"
            )
        posted = self._api.send(f"{_path(ref.message)}/reply", body).get("message_id")
        named = isinstance(posted, str) and safe_id(posted)
        return Receipt(reply=posted if named else None, at=self._clock())

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        """Look for our reply: by its id, else by its text among the replies to the message. Absence is never proven.

        Raises:
            Refused: the reference is not one of Lark's.
            Unreadable: not everything could be read.
        """
        now = self._clock()
        if receipt is not None and receipt.reply is not None:
            found = self._by_id(ref, text, receipt.reply)
        else:
            found = self._by_text(ref, text)
        there = None if found is None else Receipt(reply=found.id, at=found.created)
        return Search(receipt=there, absence_proven=False, observed_at=now)

    def _by_id(self, ref: SourceRef, text: str, reply: str) -> Message | None:
        try:
            message = self._message(reply)
        except Gone:
            return None
        if not self._is_ours(message, text):
            return None
        if message.parent == ref.message:
            return message
        # In a topic every reply has the topic's first message as its parent.
        if message.thread is None or message.parent != message.root:
            return None
        source = self._message(ref.message)
        return message if (source.thread, source.root) == (message.thread, message.parent) else None

    def _by_text(self, ref: SourceRef, text: str) -> Message | None:
        """A topic's reply is not found so: it names the topic, and might answer another message of it."""
        for later in self._after(self._message(ref.message)):
            if later.parent == ref.message and self._is_ours(later, text):
                return later
        return None

    def _is_ours(self, message: Message, text: str) -> bool:
        if message.deleted or message.kind != "text" or (message.sender_kind, message.sender) != ("app", self._app_id):
            return False
        try:
            return message.content().text == content.normalised(content.as_written(text))
        except Malformed as error:
            _unreadable(error)

    def _message(self, message: str) -> Message:
        data = self._api.get(_path(message))
        try:
            items = [message_of(item) for item in listing(data.get("items"), "items")]
        except Malformed as error:
            _unreadable(error)
        # A merged message is followed by the messages that it holds.
        if not items or items[0].id != message:
            raise Unreadable("Lark showed another message than was asked for")
        return items[0]

    def _after(self, message: Message) -> Iterator[Message]:
        """Everything that was posted after a message, of its chat and of its topic, read completely."""
        since = str(max(message.created // 1000 - 1, 0))
        listed = [self._listed({"container_id_type": "chat", "container_id": message.chat, "start_time": since})]
        if message.thread is not None:
            listed.append(self._listed({"container_id_type": "thread", "container_id": message.thread}))
        if not any(one.id == message.id for container in listed for one in container):
            raise Unreadable("Lark's list does not hold the message itself, so it is not the whole of what came after")
        for container in listed:
            passed = False
            for one in container:
                passed = passed or one.id == message.id
                if one.id != message.id and (
                    one.created > message.created or (passed and one.created == message.created)
                ):
                    yield one

    def _listed(self, container: Mapping[str, str]) -> list[Message]:
        query = {**container, "sort_type": "ByCreateTimeAsc", "page_size": "50"}
        messages: list[Message] = []
        seen: set[str] = set()
        for _ in range(PAGES):
            data = self._api.get(MESSAGES, query)
            try:
                messages += [message_of(item) for item in listing(data.get("items"), "items")]
                if not flag(data, "has_more"):
                    return messages
                token = text(data, "page_token")
            except Malformed as error:
                _unreadable(error)
            if token in seen:
                raise Unreadable("Lark's list names a page twice")
            seen.add(token)
            query["page_token"] = token
        raise Unreadable(f"Lark's list has more than {PAGES} pages")

    def _counts(self, message: Message) -> bool:
        """Whether a person told the agent something with it."""
        if message.kind == "system" or message.sender_kind == "app" or message.deleted:
            return False
        if message.sender_kind != "user":
            raise Unreadable("somebody of a kind that is not known here wrote in the chat")
        if message.kind != "text":
            return True
        try:
            return not content.is_quiet(_bare(message))
        except Malformed as error:
            _unreadable(error)


def uuid_of(key: str) -> str:
    """The uuid of a reply, always the same for a key; 45 of the 50 characters that Lark takes."""
    return "once-" + hashlib.sha256(key.encode()).hexdigest()[:40]


def _path(message: str) -> str:
    if not safe_id(message):
        raise Refused("that is not the id of a message of Lark's; nothing was sent")
    return f"{MESSAGES}/{message}"


def _bare(message: Message) -> str:
    """The text with people's keys left in, so that a command after the bot's name is seen as one."""
    return content.content_of(message.kind, message.body or "", {}).text


def _unreadable(error: Malformed) -> NoReturn:
    raise Unreadable(f"Lark showed a message that cannot be read: {error}") from None
