"""Lark (Feishu): a Source in a chat, read back through its API, and the events by which its messages arrive."""

from oncemore.adapters.feishu.content import accepted_digest
from oncemore.adapters.feishu.events import Event, EventRefused, classify
from oncemore.adapters.feishu.source import Feishu

__all__ = ["Event", "EventRefused", "Feishu", "accepted_digest", "classify"]
