"""What may a turn have done? Its items say, and the calls in the thread's log, because items leave some out.

A command that the sandbox denied has no item at all; only the log has its call. A command that still runs in the
background has none until it ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from oncemore.adapters.codex.log import BENIGN_ITEMS, Logged

EFFECT_ITEMS = frozenset({"commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall"})
"""Items with a status of their own that may have changed something."""

BARE_EFFECT_ITEMS = frozenset({"webSearch", "imageGeneration"})
"""Items that reached outside and bear no status; they are listed once they are done."""

KNOWN_ITEMS = BENIGN_ITEMS | EFFECT_ITEMS | BARE_EFFECT_ITEMS

Effects = Literal["none", "settled", "active", "failed", "unknown"]


def judge(items: Iterable[Mapping[str, Any]], logged: Logged, running: Collection[str]) -> Effects:
    """The value of `native.effects`.

    Args:
        logged: what the log holds of the turn; when it may not be all, nothing that is not there is taken for not done.
        running: item ids of commands that run in the background now.
    """
    told = [item for item in items if item["type"] not in BENIGN_ITEMS]
    with_item = {str(item.get("id")) for item in told}
    marks = {_item_mark(item) for item in told}
    for call in logged.calls:
        if call.call_id in running:
            marks.add("active")
        elif call.call_id not in with_item and not call.harmless:
            marks.add("failed" if call.command else "unknown")
    if logged.problem is not None:
        marks.add("unknown")
    order: tuple[Effects, ...] = ("active", "failed", "unknown", "settled")
    return next((mark for mark in order if mark in marks), "none")


def _item_mark(item: Mapping[str, Any]) -> Effects:
    if item["type"] in BARE_EFFECT_ITEMS:
        return "settled"
    if item["type"] not in EFFECT_ITEMS:
        return "unknown"
    marks: Mapping[object, Effects] = {
        "inProgress": "active",
        "completed": "settled",
        "failed": "failed",
        "declined": "failed",
    }
    return marks.get(item.get("status"), "unknown")


def only_reading(items: Iterable[Mapping[str, Any]], logged: Logged, running: Collection[str]) -> bool | None:
    """Whether the turn did nothing but look, under a sandbox that lets nothing be written.

    A command that came to an end of its own ran inside the sandbox and cannot have written. One without an item was
    denied: it tried to. Patches, services, searches and delegated work are never reading. None when the log may not
    be whole.
    """
    if logged.problem is not None:
        return None
    told = [item for item in items if item["type"] not in BENIGN_ITEMS]
    ended = {
        str(item.get("id"))
        for item in told
        if item["type"] == "commandExecution" and isinstance(item.get("exitCode"), int) and item["exitCode"] >= 0
    }
    looked = all(str(item.get("id")) in ended for item in told)
    called = all(call.harmless or call.call_id in ended for call in logged.calls)
    return looked and called and not running
