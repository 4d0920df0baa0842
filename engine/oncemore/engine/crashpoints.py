"""At which moments may the process die, and is every one of them survived?

The executor says when it reaches each point; in operation nobody listens. The tests end the process there, start
another, and compare with what docs/crash-points.md promises.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias


class CrashPoint(StrEnum):
    """A moment between two stored facts, or between a stored fact and the outside."""

    AFTER_OBSERVE = "after_observe"
    AFTER_DECIDE = "after_decide"
    AFTER_RESERVE = "after_reserve"
    AFTER_ENQUEUE = "after_enqueue"
    AFTER_CLAIM = "after_claim"
    AFTER_LOAD = "after_load"
    AFTER_START_INTENT = "after_start_intent"
    AFTER_START_CALL = "after_start_call"
    AFTER_START_RECEIPT = "after_start_receipt"
    WHILE_RUNNING = "while_running"
    AFTER_NATIVE_END = "after_native_end"
    AFTER_SETTLE = "after_settle"
    AFTER_FREEZE = "after_freeze"
    AFTER_DELIVERY_INTENT = "after_delivery_intent"
    AFTER_SEND = "after_send"
    AFTER_RECEIPT = "after_receipt"
    AFTER_VERIFY = "after_verify"


Checkpoint: TypeAlias = Callable[[CrashPoint, str], None]
"""Told the point and the id of the Turn or Delivery that it is about."""


def unobserved(point: CrashPoint, subject: str) -> None:
    """What operation does at every point: nothing."""
