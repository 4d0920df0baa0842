"""What did a person write, as plain text? And how is a text written so that it arrives as it is?

One function makes the text of an event and of a message read back, so that both have the same digest while nobody
changed the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncemore.adapters.feishu.fields import Malformed, listing, mapping
from oncemore.engine import texts

QUIET = frozenset({"/status", "/help", "/why"})
"""Commands that ask Oncemore something and tell the agent nothing; with a word more they are messages like others."""

_MENTION = re.compile(r"@_user_[0-9]+")
_MARKUP = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_PARTS = frozenset({"text", "a", "md", "code_block"})
_ATTACHED = frozenset({"img", "media", "file"})


@dataclass(frozen=True, slots=True)
class Content:
    """A message's content.

    Attributes:
        text: normalised; empty where there is none.
        attachments: pictures, files and whatever else is no text.
    """

    text: str
    attachments: int = 0


def normalised(text: str) -> str:
    """A text without what a chat program may change on its own: kinds of line ends, space around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def accepted_digest(text: str) -> str:
    """The digest under which a message with this text is accepted, as `SourceRef.digest` holds it."""
    return texts.digest(normalised(text))


def content_of(kind: str, content: str, mentions: Mapping[str, str]) -> Content:
    """A message's content from Lark's JSON for its type.

    Args:
        mentions: the names of people by the keys that stand for them in the text.

    Raises:
        Malformed: it is not the JSON of its type.
    """
    if kind == "text":
        return Content(_named(_part(_object(content), "text"), mentions))
    if kind == "post":
        return _post(_object(content), mentions)
    return Content("", attachments=1)


def is_quiet(text: str) -> bool:
    """Whether a text is one of the commands that end nothing, perhaps after naming the bot."""
    return re.sub(r"^(@_user_[0-9]+\s*)+", "", text.strip()).strip().lower() in QUIET


def as_written(text: str) -> str:
    """A text as it is sent: Lark would take `<at ...>` in it as a call to people, which nobody asked for."""
    return _MARKUP.sub("<\u200b", text)


def _object(content: str) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(content), "content")
    except (ValueError, RecursionError):
        raise Malformed("content is not a JSON object") from None


def _named(text: str, mentions: Mapping[str, str]) -> str:
    def name(found: re.Match[str]) -> str:
        return "@" + mentions[found[0]] if found[0] in mentions else found[0]

    return normalised(_MENTION.sub(name, text))


def _post(content: Mapping[str, Any], mentions: Mapping[str, str]) -> Content:
    lines = [_part(content, "title")] if content.get("title") else []
    attachments = 0
    for paragraph in listing(content.get("content"), "content"):
        line = ""
        for part in listing(paragraph, "a paragraph"):
            part = mapping(part, "a part")
            tag = part.get("tag")
            if tag in _PARTS:
                line += _part(part, "text")
            elif tag == "at":
                line += _part(part, "user_id") if part.get("user_id") in mentions else f"@{_part(part, 'user_name')}"
            elif tag == "emotion":
                line += f"[{_part(part, 'emoji_type')}]"
            elif tag == "hr":
                line += "---"
            elif tag in _ATTACHED:
                attachments += 1
            else:
                raise Malformed("a part of the text is of a kind that is not known here")
        lines.append(line)
    return Content(_named("\n".join(lines), mentions), attachments)


def _part(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    if not isinstance(value, str):
        raise Malformed(f"{name} is not a text")
    return value
