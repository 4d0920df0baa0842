"""What became of a Turn that was claimed, starting or running when its process ended?

An intent without a receipt is settled by one of three proofs, in this order: found in the complete inventory; absent
from it while we hold the native writer lock and the sender is gone; neither, and then it is shown and left alone.
"""

from __future__ import annotations

import json

from oncemore.engine import events, facts, running
from oncemore.engine.context import Context, due, let_go, lock
from oncemore.engine.dispatch import STARTS
from oncemore.engine.errors import PortError
from oncemore.engine.ports import Inventory, NativeTurn, Observation, Profile, TurnView
from oncemore.engine.process import callers_gone
from oncemore.engine.tables import Request, Session, StartIntent, StartReceipt, Turn


def reconcile(context: Context, turn: Turn) -> bool:
    """Take one step with a Turn that nobody is running in this process; whether anything changed."""
    if turn.status == "queued":
        # Claimed and no intent: nothing was started.
        with context.journal.transaction():
            now = context.journal.advance_clock().ms
            lock(turn.session)
            let_go(turn.session, turn, now, now, "its claim was left behind")
        return True
    receipt = StartReceipt.get_or_none(StartReceipt.turn == turn.id)
    if receipt is None:
        return _settle_start(context, turn)
    return _settle_run(context, turn, NativeTurn(receipt.native_thread, receipt.native_turn))


def _settle_start(context: Context, turn: Turn) -> bool:
    if not callers_gone(StartIntent.select().where(StartIntent.turn == turn.id), but=context.process):
        return _look_again(context, turn, "another process may be starting it")
    if not _own_thread(context, turn):
        return _look_again(context, turn, "the native thread could not be taken")
    inventory = _inventory(context, turn, None)
    if inventory is None or not inventory.complete:
        return _look_again(context, turn, "the inventory is not complete")
    found = inventory.under(turn.id)
    if len(found) == 1:
        running.receive(context, turn.id, found[0].native, "found")
        return True
    nameless = _nameless(turn, inventory) if not found else []
    if len(nameless) == 1:
        # A turn may be stored before its message is. One that was not there before, in a thread that was ours, is taken
        # for this one: at worst a Turn that never ran is called interrupted; it never runs twice.
        running.receive(context, turn.id, nameless[0], "nameless")
        return True
    if nameless:
        return _look_again(context, turn, "there are native turns without a name")
    if found:
        running.settle(context, turn.id, Observation("failed", True, error="other"), running.MERGED)
        return True
    tried = StartIntent.select().where(StartIntent.turn == turn.id).count()
    if tried >= STARTS:
        running.settle(context, turn.id, Observation("failed", True, error="route_unavailable"), "could not be started")
        return True
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        lock(turn.session)
        Turn.update(status="queued", started_at=None).where(Turn.id == turn.id).execute()
        Session.update(active_turn=None).where(Session.id == turn.session).execute()
        due(turn.request, now)
        events.append(turn.request, "absent", now, turn=turn.id, tried=tried, inventory=inventory.digest)
    return True


def _nameless(turn: Turn, inventory: Inventory) -> list[NativeTurn]:
    """Native turns without a client id that were not there when the intent was stored."""
    intents = StartIntent.select().where(StartIntent.turn == turn.id)
    held = {turn_id for intent in intents for turn_id in json.loads(intent.held)}
    return [
        record.native
        for record in inventory.turns
        if record.native.turn_id not in held and all(client_id is None for client_id in record.client_ids)
    ]


def _settle_run(context: Context, turn: Turn, native: NativeTurn) -> bool:
    inventory = _inventory(context, turn, native)
    if inventory is None or inventory.observation is None or not inventory.observation.ended:
        # Where the runtime lives on without us, the Turn is simply watched again.
        seen = running.watch(context, turn, native)
        if seen is not None:
            running.finish(context, turn, native, seen)
        if Turn.get_by_id(turn.id).ended_at is not None:
            return True
        # A turn without a recorded end may be running in another process. Once we hold its thread, it cannot be.
        if not _own_thread(context, turn):
            return _look_again(context, turn, "the native thread could not be taken")
        inventory = _inventory(context, turn, native)
    if inventory is None or inventory.observation is None or not inventory.observation.ended:
        return _look_again(context, turn, "its end cannot be read")
    running.finish(context, turn, native, inventory.observation, "its process ended before it did")
    return True


def _own_thread(context: Context, turn: Turn) -> bool:
    """Load the thread: it then is ours alone, and nothing that was sent to another owner can still arrive."""
    session = Session.get_by_id(turn.session)
    if context.ports.grants is None:
        return False
    try:
        grant = context.ports.grants.read(facts.grant_ref(session))
        if grant.workspace is None or grant.profile is None:
            return False
        profile = Profile("read_only") if turn.phase == "review" else grant.profile
        try:
            context.runs(turn).load(facts.running_view(turn), profile, grant.workspace)
        finally:
            grant.workspace.close()
    except PortError:
        return False
    return True


def _inventory(context: Context, turn: Turn, native: NativeTurn | None) -> Inventory | None:
    try:
        return context.runs(turn).inventory(facts.running_view(turn), TurnView(turn.id, native))
    except PortError:
        return None


def _look_again(context: Context, turn: Turn, why: str) -> bool:
    """Neither proof: nothing is done to the outside; a look is only a read and may find one yet."""
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        row = Request.get_by_id(turn.request)
        held = f"{turn.id} may have run: {why}"
        if row.held != held:
            events.append(turn.request, "ambiguous", now, turn=turn.id, why=why)
        due(turn.request, now + context.settings.observe_again, held)
    return False
