"""`recovery: off` of a workspace counts at once, for what was asked before too."""

from __future__ import annotations

from tests.engine.budgets.conftest import Office


def switch(office: Office, state: str) -> None:
    text = office.w.configuration.read_text()
    office.w.configuration.write_text(text.replace("revision: 1", f"revision: 1, recovery: {state}"))


def test_nothing_is_taken_up_for_an_owner_who_wants_none(office: Office) -> None:
    office.opens(fields=", recovery: off")
    office.backoff()
    assert office.reserved() == []
    decided = office.w.rows("select reason_gate from decision where policy = 'continue-unfinished-work'")
    assert {row["reason_gate"] for row in decided} == {"not-opted-out"}
    assert office.w.replies() == ["Part one is written."] * 3


def test_switched_off_while_a_recovery_waits_it_is_not_begun_and_nobody_is_told(office: Office) -> None:
    office.opens()
    switch(office, "off")
    office.backoff()
    office.works(3_600_000)
    assert office.reserved() == []
    assert len(office.w.replies()) == 3
