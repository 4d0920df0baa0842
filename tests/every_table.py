"""Every table of a journal, as it is declared."""

from __future__ import annotations

from typing import Any

from oncemore.engine.allowance_tables import (
    Advice,
    BreakerChange,
    Budget,
    BudgetWait,
    LevelChange,
    Route,
    RouteCapacity,
)
from oncemore.engine.service_tables import ApiKey, EndedSession, PostedDecision, PostedMessage, PostedPass
from oncemore.engine.tables import (
    Attempt,
    Bundle,
    Clock,
    Decision,
    DecisionPass,
    Delivery,
    DeliveryIntent,
    Event,
    InboxMessage,
    InboxReply,
    Lease,
    Request,
    Row,
    RunningWorker,
    Session,
    SessionThread,
    StartIntent,
    StartReceipt,
    Text,
    Turn,
)

ROWS: tuple[type[Row], ...] = (
    Text,
    Bundle,
    Clock,
    Session,
    SessionThread,
    Request,
    Turn,
    Attempt,
    StartIntent,
    StartReceipt,
    Delivery,
    DeliveryIntent,
    DecisionPass,
    Decision,
    Event,
    Route,
    LevelChange,
    InboxMessage,
    InboxReply,
    RunningWorker,
    Lease,
    ApiKey,
    EndedSession,
    PostedMessage,
    PostedPass,
    PostedDecision,
    Budget,
    BudgetWait,
    RouteCapacity,
    BreakerChange,
    Advice,
)


def columns(row: type[Row]) -> dict[str, Any]:
    """The declared columns of a table, by column name."""
    return {field.column_name: field for field in row._meta.sorted_fields}
