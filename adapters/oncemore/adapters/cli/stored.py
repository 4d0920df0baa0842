"""What did the journal keep of a decision? Rendered from that alone; nothing is evaluated again."""

from __future__ import annotations

import json
from typing import Any

from oncemore.engine.errors import NotFound
from oncemore.engine.records import render
from oncemore.engine.tables import Bundle, Decision, DecisionPass, Request

PREFIX = "sha256:"
Record = dict[str, Any]


def decision_records(wanted: str) -> list[Record]:
    """The record of a decision, by its id or a beginning of it that only one decision has.

    Raises:
        NotFound: none begins so, or several do.
        NotRenderable: what it was judged by is no longer kept.
    """
    start = wanted if wanted.startswith(PREFIX) else PREFIX + wanted
    found = list(Decision.select().where(Decision.id.startswith(start)).limit(2)) if wanted else []
    if len(found) != 1:
        many = "several decisions begin" if found else "no decision begins"
        raise NotFound(f"{many} with {wanted!r}")
    return [one for one in _rendered(found[0].decision_pass) if one["decision_id"] == found[0].id]


def request_records(request: str) -> list[Record]:
    """The records of a Request's newest pass.

    Raises:
        NotFound: there is no such Request, or nothing was decided on it yet.
        NotRenderable: what it was judged by is no longer kept.
    """
    newest = newest_pass(request)
    if newest is None:
        there = Request.get_or_none(Request.id == request) is not None
        raise NotFound(f"nothing was decided on {request} yet" if there else f"there is no Request {request}")
    return _rendered(newest.id)


def newest_pass(request: str) -> DecisionPass | None:
    """The newest look at a Request by all policies."""
    found = (
        DecisionPass.select()
        .where(DecisionPass.request == request)
        .order_by(DecisionPass.last_seen.desc(), DecisionPass.at.desc())
        .first()
    )
    assert found is None or isinstance(found, DecisionPass)
    return found


def _rendered(key: str) -> list[Record]:
    kept = DecisionPass.get_by_id(key)
    digests = {entry["digest"] for entry in json.loads(kept.stored)["policies"].values()}
    bundles = Bundle.select().where(Bundle.digest.in_(digests))
    return render(kept.stored.encode(), {bundle.digest: json.loads(bundle.body) for bundle in bundles})
