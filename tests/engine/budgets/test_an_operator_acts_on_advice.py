"""A policy at `advise` puts what it would do before an operator, who can let it happen once and override nothing."""

from __future__ import annotations

import pytest
from tests.engine.budgets.conftest import POLICY, Office

from oncemore.adapters.cli.timeline import render
from oncemore.adapters.standing import standings
from oncemore.adapters.timeline import timeline
from oncemore.engine import advice, breaker, levels
from oncemore.engine.errors import Conflict, NotFound


@pytest.fixture
def advised(office: Office) -> Office:
    office.opens(level="advise")
    office.backoff()
    return office


def act(office: Office, workspace: str = "notes", policy: str = POLICY) -> None:
    advice.act(office.house.journal, office.requests[workspace], policy, "ann", "it is urgent")


def test_a_firing_decision_is_put_before_the_operator_and_nothing_is_done(advised: Office) -> None:
    assert {(offer.request, offer.policy) for offer in advice.waiting()} == {
        (request, POLICY) for request in advised.requests.values()
    }
    assert advised.reserved() == []
    shown = {one.request: one for one in standings("open", "", advised.w.now())}
    one = shown[advised.requests["notes"]]
    assert (one.doing, one.gate) == ("advised", POLICY)
    assert one.helps == f"oncemore act {one.request} --why TEXT"
    offered = advised.w.rows("select decision from advice")
    fired = advised.w.rows("select id from decision where outcome = 'fire'")
    assert {row["decision"] for row in offered} == {row["id"] for row in fired}


def test_acting_does_it_once_for_this_request_alone_and_is_recorded(advised: Office) -> None:
    act(advised)
    advised.works()
    assert advised.reserved() == ["notes"]
    assert advised.row("notes")["state"] == "answered"
    row = advised.w.row("select * from advice where state = 'done'")
    assert (row["who"], row["why"], row["request"]) == ("ann", "it is urgent", advised.requests["notes"])
    kinds = advised.kinds("notes")
    assert kinds.index("advised") < kinds.index("advice_taken") < kinds.index("reserved")
    stages = advised.w.rows("select stage from decision_pass where fired is not null order by at")
    assert [row["stage"] for row in stages] == ["admission", "dispatch"]
    with pytest.raises(Conflict, match="already answered"):
        act(advised)


def decided(office: Office) -> list[tuple[str, str, str | None]]:
    """When, at which level, and by whose word the policy was judged to fire."""
    entries = timeline(office.requests["notes"])["timeline"]
    return [
        (entry["stage"], entry["level"], entry["let_through"])
        for entry in entries
        if entry["kind"] == "decided" and entry["policy"] == POLICY and entry["outcome"] == "fire"
    ]


def test_a_decision_that_an_operator_let_through_is_told_as_advice_with_who_did(advised: Office) -> None:
    act(advised)
    advised.works()
    assert decided(advised) == [
        ("admission", "advise", None),
        ("admission", "advise", "ann"),
        ("dispatch", "advise", "ann"),
    ]
    shown = render(timeline(advised.requests["notes"]))
    assert f"decided {POLICY} (advise, ann let it act) at dispatch: fire" in shown
    assert "(enforce" not in shown


def test_what_acts_by_its_level_is_nobodys_word_even_where_somebody_had_said_so(advised: Office) -> None:
    act(advised)
    with advised.house.journal.transaction():
        now = advised.house.journal.advance_clock().ms
        levels.change(POLICY, "enforce", who="bob", why="it is always right", at=now)
    advised.works()
    assert decided(advised)[1:] == [("admission", "enforce", None), ("dispatch", "enforce", None)]


def test_what_no_longer_fires_is_not_done_and_says_why(advised: Office) -> None:
    act(advised)
    text = advised.w.configuration.read_text()
    advised.w.configuration.write_text(text.replace("revision: 1", "revision: 2"))
    advised.works()
    assert advised.reserved() == []
    refused = advice.refusal(advised.requests["notes"])
    assert refused is not None
    assert refused.reason == "hold: grant-intact"
    assert advised.kinds("notes")[-1] == "advice_refused"
    with pytest.raises(Conflict, match="advises nothing"):
        act(advised)


def test_a_newer_message_takes_the_advice_back(advised: Office) -> None:
    advised.house.ask("notes", "Never mind.")
    advised.works()
    assert advised.requests["notes"] not in {offer.request for offer in advice.waiting()}
    with pytest.raises(Conflict, match="advises nothing"):
        act(advised)


def test_what_is_acted_on_waits_for_the_breaker_like_everything(advised: Office) -> None:
    breaker.open_by_hand(advised.house.journal, who="bob", why="maintenance")
    act(advised)
    advised.works()
    assert advised.wait("notes")["budget"] == "breaker"
    breaker.close(advised.house.journal, who="bob", why="done")
    advised.works()
    assert advised.row("notes")["state"] == "answered"


def test_acting_is_refused_where_it_can_have_no_effect(advised: Office) -> None:
    with pytest.raises(NotFound):
        advice.act(advised.house.journal, "r-none", POLICY, "ann", "why not")
    with pytest.raises(Conflict, match="advises nothing"):
        act(advised, policy="retry-quota")
    with pytest.raises(Conflict, match="reason"):
        advice.act(advised.house.journal, advised.requests["notes"], POLICY, "ann", "  ")
    act(advised)
    with pytest.raises(Conflict, match="acted on already"):
        act(advised)
    with advised.house.journal.transaction():
        now = advised.house.journal.advance_clock().ms
        levels.change(POLICY, "off", who="bob", why="an audit", at=now)
    with pytest.raises(Conflict, match="at off now"):
        act(advised, "plans")
    advised.works()
    assert advised.reserved() == []
    assert advice.waiting() == []
