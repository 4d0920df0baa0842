"""Is a message sent once, found again by its tag, and never sent a second time?"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.antigravity.fake import Look, asked, planned
from tests.adapters.antigravity.stand import PLANNERS, READ, WRITE, Stand

from oncemore.engine.errors import Busy, Refused, Uncertain, Unreadable
from oncemore.engine.ports import NativeTurn, TurnView


def test_a_message_is_sent_under_our_tag_and_its_turn_is_found_by_it(stand: Stand) -> None:
    native = stand.start("request-1", "please")
    assert native == NativeTurn("cascade-1", "sent-1")
    assert stand.server.sends == [
        {
            "cascadeId": "cascade-1",
            "items": [{"text": "please"}],
            "cascadeConfig": {"plannerConfig": PLANNERS["workspace_write"]},
            "tags": ["request-1"],
            "deliveryStrategy": "WHEN_IDLE",
        }
    ]


def test_a_message_that_shows_late_is_waited_for(stand: Stand) -> None:
    stand.server.faults.late = 3
    assert stand.start() == NativeTurn("cascade-1", "sent-1")
    assert len(stand.server.sends) == 1


def test_a_send_that_was_carried_out_without_an_answer_is_found(stand: Stand) -> None:
    stand.server.faults.reset_after_send = 1
    assert stand.start() == NativeTurn("cascade-1", "sent-1")
    assert len(stand.server.sends) == 1


def test_a_send_that_left_no_trace_is_uncertain_and_not_repeated(stand: Stand) -> None:
    stand.server.faults.send_lost = 1
    with pytest.raises(Uncertain, match="not found"):
        stand.start()
    assert len(stand.server.sends) == 1


def test_a_message_that_was_sent_and_is_not_there_is_never_taken_for_absent(stand: Stand) -> None:
    stand.server.faults.send_lost = 1
    with pytest.raises(Uncertain):
        stand.start()
    stand.server.script(Look())
    inventory = stand.runtime.inventory(stand.session, TurnView("request-1"))
    assert inventory.readings["native.read"].value == "stable"
    assert inventory.under("request-1") == ()
    assert not inventory.complete


def test_a_message_that_is_there_already_is_not_sent_again(stand: Stand) -> None:
    first = stand.start()
    stand.server.script(Look([asked("please", "request-1"), planned("done")]))
    assert stand.runtime.start(stand.session, "request-1", "please", WRITE) == first
    assert len(stand.server.sends) == 1


def test_a_message_that_became_two_is_uncertain(stand: Stand) -> None:
    stand.server.faults.send_twice = 1
    with pytest.raises(Uncertain, match="more than once"):
        stand.start()


def test_a_refusal_of_the_server_is_a_refusal(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    stand.load()
    monkeypatch.setenv("LANGUAGE_SERVER_TOKEN", "an-old-token")
    with pytest.raises(Refused):
        stand.runtime.start(stand.session, "request-1", "please", WRITE)
    assert stand.server.sends == []


def test_nothing_is_sent_into_a_conversation_at_work(stand: Stand) -> None:
    stand.load()
    stand.server.script(Look([asked("mine", execution="theirs")], run="RUNNING"))
    with pytest.raises(Refused, match="RUNNING"):
        stand.runtime.start(stand.session, "request-1", "please", WRITE)
    assert stand.server.sends == []


def test_nothing_is_sent_into_a_conversation_that_was_not_loaded(stand: Stand) -> None:
    stand.load()
    stand.runtime.release(stand.session)
    with pytest.raises(Refused, match="not loaded"):
        stand.runtime.start(stand.session, "request-1", "please", WRITE)
    assert stand.server.sends == []


def test_a_new_conversation_is_begun_once_until_it_is_used(stand: Stand) -> None:
    first = stand.runtime.load(stand.session, WRITE, stand.workspace)
    again = stand.runtime.load(stand.session, WRITE, stand.workspace)
    assert (first, first.created) == (again, True)
    assert stand.server.starts == 1


def test_a_recorded_conversation_is_checked_and_no_other_begun(stand: Stand) -> None:
    assert stand.load()
    assert not stand.load()
    assert stand.server.starts == 1


def test_a_conversation_that_is_listed_late_is_waited_for(stand: Stand) -> None:
    stand.server.faults.unlisted = 2
    assert stand.load()


def test_a_conversation_whose_folder_is_not_told_is_not_used(stand: Stand) -> None:
    stand.server.faults.unlisted = 100
    with pytest.raises(Unreadable, match="in which folder"):
        stand.load()


def test_a_conversation_in_another_folder_is_refused(stand: Stand, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stand.server.folder = other
    with pytest.raises(Refused, match="not the workspace"):
        stand.load()


def test_a_conversation_in_more_than_one_folder_is_refused(stand: Stand, tmp_path: Path) -> None:
    stand.server.more_folders = [tmp_path]
    with pytest.raises(Refused, match="more than one"):
        stand.load()


def test_a_conversation_whose_run_status_is_not_known_is_not_used(stand: Stand) -> None:
    stand.load()
    stand.server.script(Look(run="UNLOADED"))
    with pytest.raises(Unreadable, match="UNLOADED"):
        stand.load()


def test_a_folder_that_is_reached_by_another_name_is_the_same_folder(stand: Stand, tmp_path: Path) -> None:
    (tmp_path / "a name with spaces").symlink_to(stand.folder)
    stand.server.folder = tmp_path / "a name with spaces"
    assert stand.load()


def test_a_conversation_at_work_is_busy(stand: Stand) -> None:
    stand.load()
    stand.server.script(Look([asked("mine")], run="BUSY"))
    with pytest.raises(Busy):
        stand.load()


def test_a_profile_that_the_server_was_not_configured_for_is_refused(stand: Stand) -> None:
    with pytest.raises(Refused, match="read_only"):
        stand.runtime.load(stand.session, READ, stand.workspace)
    assert stand.server.calls.total() == 0


def test_a_server_that_breaks_makes_loading_unreadable(stand: Stand) -> None:
    stand.server.faults.broken = 1
    with pytest.raises(Unreadable):
        stand.load()


def test_a_slow_server_is_given_up(stand: Stand) -> None:
    stand.load()
    stand.server.faults.slow = 30.0
    impatient = stand.another(seconds=0.05)
    with pytest.raises(Unreadable, match=r"0\.05 s"):
        impatient.observe(NativeTurn("cascade-1", "sent-1"), 0.0)
