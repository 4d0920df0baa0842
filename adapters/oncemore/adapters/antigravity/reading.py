"""What does the language server hold of a conversation, and was all of it read?

One look is two whole readings, one after the other: status, steps, status, steps. The server gives the first steps with
the number of all of them; the rest is asked for by offset until they are all there. Fields that are zero, empty or
false are absent in its JSON and are read as such. Anything that does not add up makes the look incomplete with the
reason, never shorter.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from oncemore.adapters.antigravity import results
from oncemore.adapters.antigravity.conversation import Conversation
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.antigravity.steps import KINDS, REASONS, STATES, Executor, Step, word
from oncemore.engine.errors import Unreadable

PAGES = 1000
"""More pages than any conversation has that could be read at all."""

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z\Z")
_WAITS: Mapping[str, str] = {"permission": "approval", "filePermission": "approval", "askQuestion": "question"}


class _Flaw(Exception):
    """Why a reading is not the whole conversation."""


class _Whole:
    """One reading: the status as it was told before any step was read, and everything else."""

    def __init__(self, run: str, trajectory: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> None:
        self.run = run
        self.trajectory = trajectory
        self.steps = steps
        self.content = _canonical([list(steps), trajectory.get("executorMetadatas", [])])


def look(server: LanguageServer, cascade_id: str, known: Collection[str]) -> Conversation:
    """The conversation, read twice. Whatever could not be read is told in it.

    Args:
        known: client ids of ours; an input that bears one of them among its tags came under it.
    """
    wholes: list[_Whole] = []
    try:
        for _ in range(2):
            wholes.append(_read(server, cascade_id))
        first, last = wholes
        steps, executors = read_steps(last.steps), _executors(last.trajectory)
        _check_places(steps, cascade_id, last.steps)
    except _Flaw as error:
        return Conversation(cascade_id, problem=str(error))
    except Unreadable as error:
        return Conversation(cascade_id, answered=False, problem=str(error))
    agree = first.run == last.run and first.content == last.content
    return Conversation(
        thread_id=cascade_id,
        run=last.run if first.run == last.run else "",
        steps=steps,
        executors=executors,
        client_ids={step.index: found for step in steps if (found := client_id(step, known)) is not None},
        complete=True,
        agree=agree,
        problem=None if agree else "two readings differ",
        digest=hashlib.sha256(_canonical([last.run, last.content.decode()])).hexdigest(),
    )


def client_id(step: Step, known: Collection[str]) -> str | None:
    """Under what client id an input came: one of ours, else its first tag; None without a tag."""
    return next((tag for tag in step.tags if tag in known), step.tags[0] if step.tags else None)


def folders(server: LanguageServer, cascade_id: str) -> list[str]:
    """The workspace folders of a conversation, as URIs; empty while the server does not list it yet.

    Raises:
        Unreadable: the server did not say.
    """
    about = server.read("GetAllCascadeTrajectories", {}).get("trajectorySummaries", {})
    summary = about.get(cascade_id) if isinstance(about, dict) else None
    listed = summary.get("workspaces", []) if isinstance(summary, dict) else []
    told = [one.get("workspaceFolderAbsoluteUri") for one in listed if isinstance(one, dict)]
    if not all(isinstance(uri, str) for uri in told) or not isinstance(listed, list) or len(told) != len(listed):
        raise Unreadable("the language server listed a workspace without its folder")
    return [str(uri) for uri in told]


def _read(server: LanguageServer, cascade_id: str) -> _Whole:
    answer = server.read("GetCascadeTrajectory", {"cascadeId": cascade_id})
    trajectory = answer.get("trajectory")
    if not isinstance(trajectory, dict) or trajectory.get("cascadeId") != cascade_id:
        raise _Flaw("the language server described another conversation")
    total = whole_number(answer.get("numTotalSteps"))
    if total is None:
        raise _Flaw("the language server did not say how many steps there are")
    steps = _list(trajectory.get("steps"))
    for _ in range(PAGES):
        if len(steps) >= total:
            break
        page = server.read("GetCascadeTrajectorySteps", {"cascadeId": cascade_id, "stepOffset": len(steps)})
        more = _list(page.get("steps"))
        if not more:
            raise _Flaw(f"the language server gave {len(steps)} of {total} steps and no more")
        steps += more
    if len(steps) != total:
        raise _Flaw(f"the language server gave {len(steps)} steps, and says that there are {total}")
    if len({_canonical(step) for step in steps}) != total:
        raise _Flaw("the language server gave a step twice")
    return _Whole(word(answer.get("status"), "CASCADE_RUN_STATUS_", {}), trajectory, steps)


def read_steps(listed: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """Steps in their order. What the model thought stays behind here."""
    return tuple(_step(index, raw) for index, raw in enumerate(listed))


def _step(index: int, raw: Mapping[str, Any]) -> Step:
    about, planned, said = _object(raw, "metadata"), _object(raw, "plannerResponse"), _object(raw, "userInput")
    place = about.get("sourceTrajectoryStepInfo")
    kind, state = (
        word(raw.get("type"), "CORTEX_STEP_TYPE_", KINDS),
        word(raw.get("status"), "CORTEX_STEP_STATUS_", STATES),
    )
    exit_code = whole_number(_object(raw, "runCommand").get("exitCode"))
    return Step(
        index=index,
        kind=kind,
        state=state,
        execution=_text(about, "executionId"),
        told_index=whole_number(place.get("stepIndex")) if isinstance(place, dict) else None,
        created_at=milliseconds(about.get("createdAt"), up=False),
        completed_at=milliseconds(about.get("completedAt"), up=True),
        text=_said(said) if "userInput" in raw else None,
        tags=tuple(str(tag) for tag in _list(said.get("tags"), str)),
        response=_text(planned, "modifiedResponse") or _text(planned, "response"),
        calls=tuple(
            str(call.get("id") or f"{index}/{number}") for number, call in enumerate(_list(planned.get("toolCalls")))
        ),
        call=_text(_object(about, "toolCall"), "id"),
        stop=word(planned.get("stopReason"), "STOP_REASON_", {}),
        result=_result(kind, raw),
        failed=kind == "RUN_COMMAND" and state == "DONE" and exit_code != 0,
        waits_for=_waits_for(raw, kind, state),
    )


def _result(kind: str, raw: Mapping[str, Any]) -> results.Result | None:
    try:
        return results.of_message(kind, raw)
    except ValueError as error:
        raise _Flaw(f"the language server gave {error}") from None


def _waits_for(raw: Mapping[str, Any], kind: str, state: str) -> str:
    if state != "WAITING":
        return ""
    asked = [_WAITS.get(name, "unknown") for name in _object(raw, "requestedInteraction")]
    if not asked and kind == "ASK_QUESTION":
        return "question"
    return asked[0] if len(set(asked)) == 1 else "unknown"


def _said(said: Mapping[str, Any]) -> str | None:
    """The text of an input; None where nothing but text would tell it whole."""
    if whole := _text(said, "userResponse"):
        return whole
    items = _list(said.get("items"))
    texts = [item.get("text", "") for item in items if set(item) <= {"text"}]
    return "".join(map(str, texts)) if items and len(texts) == len(items) else None


def _executors(trajectory: Mapping[str, Any]) -> tuple[Executor, ...]:
    return tuple(
        Executor(
            reason=word(raw.get("terminationReason"), "EXECUTOR_TERMINATION_REASON_", REASONS),
            last_step=_needed(whole_number(raw.get("lastStepIdx")), "an executor's last step is not a number"),
            execution=_text(raw, "executionId"),
        )
        for raw in _list(trajectory.get("executorMetadatas"))
    )


def _check_places(steps: Sequence[Step], cascade_id: str, listed: Sequence[Mapping[str, Any]]) -> None:
    for step, raw in zip(steps, listed, strict=True):
        place = _object(raw, "metadata").get("sourceTrajectoryStepInfo")
        own = isinstance(place, dict) and place.get("cascadeId", cascade_id) == cascade_id
        if own and step.told_index != step.index:
            raise _Flaw(f"step {step.index} says that it is step {step.told_index}")


def whole_number(value: object) -> int | None:
    """A number of proto3 JSON: absent is zero, 64 bit ones are texts; None where it is none."""
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        return int(value)
    return None


def milliseconds(value: object, *, up: bool) -> int | None:
    """A time of proto3 JSON in milliseconds since the epoch, rounded down or up; None where it is none."""
    found = _TIME.match(value) if isinstance(value, str) else None
    if found is None:
        return None
    try:
        second = int(datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
    nanoseconds = int((found[2] or "0").ljust(9, "0"))
    return second * 1000 + (nanoseconds + (999_999 if up else 0)) // 1_000_000


def _needed(value: int | None, why: str) -> int:
    if value is None:
        raise _Flaw(why)
    return value


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name, "")
    if not isinstance(value, str):
        raise _Flaw(f"the language server gave a {name} that is no text")
    return value


def _object(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name, {})
    if not isinstance(value, dict):
        raise _Flaw(f"the language server gave a {name} of another form")
    return value


def _list(value: object, of: type = dict) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, of) for one in value):
        raise _Flaw("the language server gave a list of another form")
    return list(value)


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
