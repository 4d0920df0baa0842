"""How does a decision get into the journal?

A pass is stored once with everything it looked at; a later pass that changes no outcome, reason, gate result or time
only says that it was seen again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oncemore.engine import advice, events, levels
from oncemore.engine.context import Context
from oncemore.engine.decision import Pass, Stage
from oncemore.engine.tables import Bundle, Decision, DecisionPass
from oncemore.rules.case import Case


def judge(context: Context, request: str, case: Case, stage: Stage) -> Pass:
    """Judge a case by every policy at its present level. Nothing is stored."""
    at = levels.current(context.rules.names, case.now)
    # A policy that settles a running Turn has nothing to say of an ended one, and the other way round.
    in_turn = [name for name in at if context.rules.action(name) == "settle_turn"]
    at = {name: level if (name in in_turn) == (stage == "in_turn") else "off" for name, level in at.items()}
    # An operator's word lets a policy that only advises act on this one Request.
    allowed = advice.taken(request)
    if allowed is not None and at.get(allowed) == "advise":
        at[allowed] = "enforce"
    return context.rules.decide(case, stage=stage, request=request, levels=at)


def record(
    context: Context, request: str, judgement: Pass, stage: Stage, turn: str | None, now: int, *, acts: bool
) -> None:
    """Keep a judgement. Call it inside the transaction that acts on it.

    Args:
        acts: something is done on it now; otherwise the same again is only seen again.
    """
    signature = _signature(judgement, stage, turn)
    newest = (
        DecisionPass.select(DecisionPass.id, DecisionPass.signature)
        .where(DecisionPass.request == request)
        .order_by(DecisionPass.at.desc(), DecisionPass.id.desc())
        .first()
    )
    if newest is not None and newest.signature == signature and not acts:
        DecisionPass.update(last_seen=now, seen=DecisionPass.seen + 1).where(DecisionPass.id == newest.id).execute()
        return
    key = "sha256:" + hashlib.sha256(judgement.stored).hexdigest()
    if DecisionPass.select().where(DecisionPass.id == key).exists():
        return
    for digest, body in context.rules.bundles.items():
        if not Bundle.select().where(Bundle.digest == digest).exists():
            # Another worker may keep it in the same moment.
            Bundle.insert(digest=digest, body=body).on_conflict_ignore().execute()
    DecisionPass.insert(
        id=key,
        request=request,
        stage=stage,
        turn=turn,
        outcome=str(judgement.outcome),
        fired=judgement.fired,
        signature=signature,
        stored=judgement.stored.decode(),
        at=now,
        last_seen=now,
        seen=1,
    ).execute()
    for each in judgement.records:
        Decision.insert(
            id=each["decision_id"],
            decision_pass=key,
            request=request,
            policy=each["policy"]["name"],
            level=each["level"],
            outcome=each["outcome"],
            reason_kind=each["reason"]["kind"],
            reason_gate=each["reason"]["gate"],
            until=millis(each["until"]),
            at=now,
        ).execute()
    events.append(request, "decided", now, decision_pass=key, stage=stage, outcome=str(judgement.outcome))


def of_policy(judgement: Pass, policy: str) -> Mapping[str, Any] | None:
    """The record of one policy."""
    return next((each for each in judgement.records if each["policy"]["name"] == policy), None)


def millis(time: str | None) -> int | None:
    """A record's time as milliseconds since the epoch."""
    return None if time is None else round(datetime.fromisoformat(time).timestamp() * 1000)


def _signature(judgement: Pass, stage: Stage, turn: str | None) -> str:
    content = [stage, turn, judgement.fired] + [
        [
            each["policy"]["name"],
            each["policy"]["digest"],
            each["level"],
            each["outcome"],
            each["reason"],
            each["until"],
            # While a Turn runs there is a look every moment; only another outcome or deciding gate is news.
            [] if stage == "in_turn" else [[gate["id"], gate["result"]] for gate in each["gates"]],
        ]
        for each in judgement.records
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
