"""A continuation needs proof: which reports count, whose requests, and what a real Codex's record must show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.executor.world import BACKOFF, World, reported, turn_of_another_program
from tests.rows.continuation_world import CODEX, continuations, run
from tests.rows.removals import gate, guard
from tests.rows.row import row

from oncemore.adapters.codex import inventory, reading
from oncemore.adapters.codex.connection import Connection
from oncemore.adapters.codex.reading import History
from oncemore.adapters.demo.model import Call, ModelRequest, Say, Script, Shell, Together
from oncemore.engine import intake, response
from oncemore.engine.ports import Thread

EFFECTS = gate(
    "effects-ended", "effects-settled", "nothing-in-background", "floor/effects", "floor/background", "native-idle"
)


def nothing_continued(w: World, calls: int = 2, turns: int = 1) -> None:
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, calls, turns)
    assert w.replies() == ["Part one is written."]
    assert w.rows("select * from attempt") == []


def answering(w: World, change: Callable[[dict[str, Any]], None]) -> None:
    """The first answer's envelope, changed."""

    def first(request: ModelRequest) -> Script:
        text = reported(request)
        content = json.loads(text[text.index("{") : text.rindex("}") + 1])
        change(content)
        opening, closing = text[: text.index("{")], text[text.rindex("}") + 1 :]
        return [
            Shell("printf one > one.md"),
            Say(f"Part one is written. {opening}{json.dumps(content)}{closing}"),
        ]

    w.plot.first = first


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("gate", {"summary": "delete the archive"}),
        ("protected_action", {"summary": "publish"}),
        ("handoff", {"to": "somebody"}),
        ("proposals", ["another plan"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@row(
    "U12",
    "A report beside a gate, a protected action, a handoff or proposals is dropped; the answer is kept.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.response._with_report",
        lambda text, content, gates: response.Response(text, response._report(content["report"]), "valid"),
        "that a report stands alone in its envelope",
    ),
)
def test_U12_a_report_beside_a_question_for_a_person_is_dropped(w: World, part: str, value: object) -> None:
    answering(w, lambda content: content.update({part: value}))
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)
    assert w.artifact()[0] == b"one"


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report.update(more="yes"),
        lambda report: report.pop("completed"),
        lambda report: report.update(remaining="x" * 1_001),
        lambda report: report.update(effects_settled=False),
        lambda report: report.update(effects_settled=1),
        lambda report: report.update(effects_settled="true"),
    ],
    ids=["a-fourth-field", "a-missing-field", "a-long-text", "not-settled", "settled-1", "settled-true-as-text"],
)
@row(
    "U13",
    "A report with another field, without one, with too long a text or without a plain `true` is dropped.",
    on=CODEX,
    removed=guard(
        "oncemore.engine.response._report", lambda found: response.Report("x", "y"), "the shape that a report must have"
    ),
)
def test_U13_a_report_of_another_shape_is_dropped(w: World, change: Callable[[dict[str, Any]], object]) -> None:
    answering(w, lambda content: change(content["report"]) and None)
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)


@row(
    "U14",
    "A local path in a report is replaced before it is stored, and the work is continued all the same.",
    on=CODEX,
    removed=guard("oncemore.engine.response.redact", str, "that local paths are replaced"),
)
def test_U14_a_path_in_a_report_is_replaced_and_it_still_counts(w: World) -> None:
    secret = "/home/ann/secret-place/two.md"
    answering(w, lambda content: content["report"].update(remaining=f"{secret} is left"))
    w.ask()
    run(w, 0, BACKOFF)
    assert (continuations(w), len(w.native_turns())) == (2, 2)
    assert w.replies() == ["Part one is written.", "Part two is written."]
    kept = b"".join(file.read_bytes() for file in (w.folder / "data").iterdir())
    assert b"secret-place" not in kept
    assert w.rows("select * from text where body like '%[path] is left%'") != []


@pytest.mark.parametrize(
    "kind",
    [{"audience": "group"}, {"role": "steward"}, {"host": "attached"}, {"attachments": 1}, {"delegated": True}],
    ids=["group", "steward", "attached", "attachment", "delegated"],
)
@row(
    "U16",
    "A group's, a steward's, an attached conversation's and a delegated request, and one with files, are left alone.",
    on=CODEX,
    removed=gate(
        "private-and-managed",
        "not-delegated",
        "no-attachments",
        "project-work",
        "floor/private",
        "floor/managed",
        "floor/delegated",
        "floor/attachments",
    ),
)
def test_U16_what_is_not_one_persons_own_project_is_left_alone(w: World, kind: dict[str, Any]) -> None:
    text = "Write one.md and two.md."
    with w.house() as house:
        assert house.ports.grants is not None
        grant = house.ports.grants.grant("notes")
        with house.journal.transaction():
            home = str(w.folder / "codex")
            session = intake.open_session(
                house.journal, grant, runtime="codex", home=home, source="inbox", conversation="notes"
            )
            message = house.inbox.post("notes", "ann", text)
            intake.accept(house.journal, session, intake.Arrival(message=message, sender="ann", text=text, **kind))
    run(w, 0, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)


@pytest.mark.parametrize(
    "deed",
    [Call("teleport", {"to": "there"}), Shell("sleep 300", yield_ms=250)],
    ids=["unknown", "active"],
)
@row(
    "U9",
    "A thing of an unknown kind in the native record, or one that still runs, is no proof.",
    on=CODEX,
    removed=EFFECTS,
)
def test_U09_an_unknown_or_unended_thing_is_no_proof(w: World, deed: Call | Shell) -> None:
    w.plot.first = lambda r: [deed, Say(f"Part one is written. {reported(r)}")]
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)


@pytest.mark.parametrize("command", ["exit 7", "kill -9 $$"], ids=["it-failed", "it-was-killed"])
@row(
    "U19",
    "A command that failed is no settled effect, and no proof.",
    on=CODEX,
    removed=gate("effects-settled", "floor/effects"),
)
def test_U19_a_failed_command_is_no_proof(w: World, command: str) -> None:
    w.plot.first = lambda r: [Shell(command), Say(f"Part one is written. {reported(r)}")]
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)


@row(
    "U20",
    "A later native turn, of somebody who used the thread elsewhere, leaves no proof.",
    on=CODEX,
    removed=gate("latest-turn", "native-known", "nobody-went-on", "floor/latest", "floor/nothing-newer"),
)
def test_U20_a_later_native_turn_leaves_no_proof(w: World) -> None:
    w.ask()
    run(w, 0)
    turn_of_another_program(w)
    run(w, BACKOFF, 2 * BACKOFF)
    nothing_continued(w, calls=3, turns=2)


@row(
    "U21",
    "Two final answers in the native turn are no proof.",
    on=CODEX,
    removed=gate("one-answer"),
)
def test_U21_two_final_answers_are_no_proof(w: World) -> None:
    def first(request: ModelRequest) -> Script:
        last = Say(f"Part one is written. {reported(request)}", "final_answer")
        return [Shell("printf one > one.md"), Together((Say("Almost.", "final_answer"), last))]

    w.plot.first = first
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF)
    assert (continuations(w), w.model.calls, len(w.native_turns())) == (0, 2, 1)
    assert len(w.native_turns()[0]["answers"]) == 2
    assert w.rows("select * from attempt") == []


@row(
    "U22",
    "A command that the turn left running in the background is no settled end, however long it is waited for.",
    on=CODEX,
    removed=EFFECTS,
)
def test_U22_a_background_command_is_waited_for(w: World) -> None:
    w.plot.first = lambda r: [
        Shell("printf one > one.md; sleep 300", yield_ms=250),
        Say(f"Part one is written. {reported(r)}"),
    ]
    w.ask()
    run(w, 0, BACKOFF, 2 * BACKOFF, 100 * BACKOFF)
    nothing_continued(w)
    assert w.artifact()[0] == b"one"


@row(
    "U23",
    "Two native readings that differ are no proof this time; once they agree it is continued.",
    on=CODEX,
    removed=guard(
        "oncemore.adapters.codex.inventory._disagreement",
        lambda first, second, owned: None,
        "that two readings are held against each other",
    ),
)
def test_U23_two_readings_that_differ_are_no_proof_this_time(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    w.ask()
    run(w, 0)
    read = inventory.read_history
    growing = [True]

    def grows(connection: Connection, thread: Thread) -> History:
        """The first of every two readings comes before the last item was stored."""
        found = read(connection, thread)
        shorter, growing[0] = growing[0], not growing[0]
        if not shorter or not found.turns:
            return found
        *others, last = found.turns
        return replace(found, turns=(*others, {**last, "items": last["items"][:-1]}))

    with monkeypatch.context() as patch:
        patch.setattr(inventory, "read_history", grows)
        run(w, BACKOFF)
        nothing_continued(w)
    run(w, 2 * BACKOFF)
    assert (continuations(w), len(w.native_turns())) == (2, 2)


def of_pages(change: Callable[[list[Any], str | None], tuple[list[Any], str | None, str | None]]) -> Any:
    ask = reading._page

    def page(*arguments: Any) -> tuple[list[Any], str | None, str | None]:
        turns, following, _ = ask(*arguments)
        return change(turns, following)

    return page


@pytest.mark.parametrize("told", ["codex gave the same cursor twice", "codex refused"], ids=["loop", "refusal"])
@row(
    "U24",
    "A native history of which a page is missing, comes again or is refused is no proof.",
    on=CODEX,
    removed=guard(
        "oncemore.adapters.codex.inventory.read_history",
        lambda connection, thread: replace(reading.read_history(connection, thread), problem=None),
        "that a history says what it lacks",
    ),
)
def test_U24_a_history_with_a_page_missing_is_no_proof(w: World, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    w.ask()
    run(w, 0)
    with monkeypatch.context() as patch:
        patch.setattr(reading, "_page", of_pages(lambda turns, following: (turns, None, told)))
        run(w, BACKOFF, 2 * BACKOFF)
    nothing_continued(w)


@row(
    "U25",
    "A conversation without a Source of its own is neither answered, nor told of reports, nor continued.",
    on=CODEX,
    removed=gate(
        "source-unchanged",
        "people-first",
        "nobody-went-on",
        "floor/source",
        "floor/people-first",
        "floor/nothing-newer",
    ),
)
def test_U25_without_a_source_nothing_is_said_or_continued(w: World) -> None:
    w.ask()

    def sourceless(*offsets: int) -> None:
        with w.worker() as worker:
            worker._context.ports = replace(worker._context.ports, sources={})
            for offset in offsets:
                w.offset = offset
                while worker.run_due():
                    pass

    sourceless(0)
    assert (w.model.calls, w.native_turns(), w.replies()) == (0, [], [])
    run(w, BACKOFF)
    before, artifact = w.native_turns(), w.artifact()
    sourceless(2 * BACKOFF, 3 * BACKOFF)
    nothing_continued(w)
    assert (w.native_turns(), w.artifact()) == (before, artifact)
