"""What does `/stop` end? The asker's own Request that ran or was newest when it came, and never another one."""

from __future__ import annotations

from tests.engine.commands.conftest import Talk

from oncemore.engine import commands, events, prompts
from oncemore.engine.command_texts import say
from oncemore.engine.tables import Request, Turn


def test_what_runs_is_stopped_before_what_waits(talk: Talk) -> None:
    first, second = talk.say("first"), talk.say("second")
    turn = talk.begin(first)
    stop = talk.say("/stop")
    assert (talk.state(first), talk.state(second)) == ("stopped", "open")
    row = Request.get_by_id(first)
    assert (row.stop_origin, row.stop_target) == ("user", turn)
    assert events.latest(stop, "command")["target"] == first


def test_with_nothing_running_the_newest_open_one_is_stopped(talk: Talk) -> None:
    first, second = talk.say("first"), talk.say("second")
    talk.say("/stop")
    assert (talk.state(first), talk.state(second)) == ("open", "stopped")
    assert Turn.get(Turn.request == second).status == "withdrawn"


def test_each_further_stop_takes_the_next_one(talk: Talk) -> None:
    first, second = talk.say("first"), talk.say("second")
    talk.begin(first)
    talk.say("/stop")
    talk.say("/stop")
    assert (talk.state(first), talk.state(second)) == ("stopped", "stopped")


def test_nobody_stops_what_somebody_else_asked_for(talk: Talk) -> None:
    request = talk.say("first", author="bob")
    talk.begin(request)
    stop = talk.say("/stop", author="ann")
    assert talk.state(request) == "open"
    assert talk.frozen(stop) == [("command", say("nothing_to_stop", "en"))]


def test_a_stop_that_comes_again_does_not_hit_a_later_turn(talk: Talk) -> None:
    talk.say("first")
    stop = talk.posted("/stop")
    commands.accept_command(talk.journal, talk.session, stop)
    later = talk.say("second")
    talk.begin(later)
    commands.accept_command(talk.journal, talk.session, stop)
    assert talk.state(later) == "open"


def test_a_stop_has_one_answer_and_it_stands_under_what_was_stopped(talk: Talk) -> None:
    request = talk.say("first")
    stop = talk.say("/stop")
    talk.deliver(request, stop)
    assert talk.answers(request) == [prompts.STOPPED["en"]]
    assert (talk.answers(stop), talk.frozen(stop)) == ([], [])


def test_when_nothing_runs_the_stop_itself_is_answered(talk: Talk) -> None:
    stop = talk.say("/stop", language="zh")
    talk.deliver(stop)
    assert talk.answers(stop) == [say("nothing_to_stop", "zh")]


def test_an_answered_message_is_not_stopped(talk: Talk) -> None:
    request = talk.say("first")
    Turn.update(status="completed", ended_at=talk.time).where(Turn.request == request).execute()
    Request.update(state="answered").where(Request.id == request).execute()
    assert talk.frozen(talk.say("/stop")) == [("command", say("nothing_to_stop", "en"))]
    assert talk.state(request) == "answered"
