"""What does Codex hold of a Session, as a fresh process reads it twice and our own processes once?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oncemore.adapters.codex import facts, projection
from oncemore.adapters.codex.connection import Connection
from oncemore.adapters.codex.effects import only_reading
from oncemore.adapters.codex.facts import Held, Seen
from oncemore.adapters.codex.log import Logged, read_log, unlisted
from oncemore.adapters.codex.owner import read_config
from oncemore.adapters.codex.processes import Processes
from oncemore.adapters.codex.profile import unrestricted
from oncemore.adapters.codex.reading import History, digest, read_history, rollouts
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import Inventory, SessionView, Thread, TurnView
from oncemore.rules.case import Evidence, Reading


def take(processes: Processes, session: SessionView, turn: TurnView, at: int) -> Inventory:
    """See `Runtime.inventory`.

    Args:
        at: the time of observation; it is taken before anything is read, so the content is never older than it says.
    """
    before = [processes.held(thread) for thread in session.threads]
    first, second, restriction = _read_twice(processes, session, at)
    owned = [
        read_history(owner.connection, thread)
        for thread in session.threads
        if (owner := processes.owner(thread)) is not None
    ]
    held = {thread.thread_id: processes.held(thread) for thread in session.threads}
    second = tuple(_caught_up(history, held[history.thread.thread_id]) for history in second)
    problem = _disagreement(first, second, owned)
    if problem is None and [one.owner for one in before] != [one.owner for one in held.values()]:
        problem = "a thread was loaded or let go while it was read"

    found = facts.bound(second, turn)
    logged = _logged(found)
    content = _digest(second, logged)
    seen = Seen(session, turn, second, held, problem is None, problem, logged, at, content)
    readings = facts.readings(seen)
    readings["route.restricted_profile"] = _owners_restriction(processes, session, at) or restriction
    answers = facts.final_answers(found[1].get("items", [])) if found is not None else []
    observation = facts.observation(found[1], held[found[0].thread.thread_id]) if found is not None else None
    return Inventory(
        readings=readings,
        complete=seen.agree and not any(_may_store_more(one) for one in held.values()),
        turns=tuple(
            facts.record(history, native, held[history.thread.thread_id])
            for history in second
            for native in history.turns
            if isinstance(native.get("id"), str)
        ),
        digest=content,
        observed_at=at,
        answer=answers[0] if len(answers) == 1 else None,
        only_reading=_only_reading(seen, found),
        observation=observation if observation is not None and observation.ended else None,
    )


def _read_twice(
    processes: Processes, session: SessionView, at: int
) -> tuple[tuple[History, ...], tuple[History, ...], Reading]:
    """Both readings in the order of the Session's threads, and whether such a process is restricted."""
    first: dict[Thread, History] = {}
    second: dict[Thread, History] = {}
    restriction = Reading("missing")
    for home in dict.fromkeys([*(thread.home for thread in session.threads), session.home]):
        with processes.reader(Path(home)) as reader:
            mine = [thread for thread in session.threads if thread.home == home]
            first |= {thread: read_history(reader, thread) for thread in mine}
            second |= {thread: read_history(reader, thread) for thread in mine}
            if home == session.home:
                restriction = _restriction(reader, home, "a process with the same settings", at)
    return (
        tuple(first[thread] for thread in session.threads),
        tuple(second[thread] for thread in session.threads),
        restriction,
    )


def _only_reading(seen: Seen, found: tuple[History, Mapping[str, Any]] | None) -> bool | None:
    if found is None or found[1].get("itemsView") != "full" or not seen.agree:
        return None
    terminals = seen.held[found[0].thread.thread_id].terminals or ()
    return only_reading(found[1].get("items", []), seen.logged, {terminal.item_id for terminal in terminals})


def restricted(processes: Processes, session: SessionView, at: int) -> Reading:
    """See `Runtime.restricted`."""
    if (told := _owners_restriction(processes, session, at)) is not None:
        return told
    with processes.reader(Path(session.home)) as reader:
        return _restriction(reader, session.home, "a process with the same settings", at)


def _restriction(connection: Connection, directory: str, asked: str, at: int) -> Reading:
    try:
        has = unrestricted(read_config(connection, directory))
    except Unreadable as error:
        return Reading("reported", None, Evidence("codex", at, details={"asked": asked, "why": str(error)}))
    details = {"asked": asked, **({"has": has} if has else {})}
    return Reading("known", has is None, Evidence("codex", at, details=details))


def _owners_restriction(processes: Processes, session: SessionView, at: int) -> Reading | None:
    """As told by the very process that will run the next turn, when it was started restricted."""
    owner = processes.owner(session.current) if session.current is not None else None
    if owner is None or not owner.restricted:
        return None
    return _restriction(owner.connection, owner.workspace.path, "the process that has the thread loaded", at)


def _logged(found: tuple[History, Mapping[str, Any]] | None) -> Logged:
    if found is None:
        return Logged()
    history, native = found
    home, thread_id = Path(history.thread.home), history.thread.thread_id
    logs = rollouts(home, thread_id)
    if len(logs) != 1 or history.rollout is None or logs[0].resolve() != Path(history.rollout).resolve():
        return Logged((), "the thread's log is not one file, where codex says that it is")
    try:
        return read_log(logs[0], thread_id, native, projection.look_up(home, thread_id, str(native["id"])))
    except Unreadable as error:
        return Logged((), str(error))


def _digest(histories: Sequence[History], logged: Logged) -> str:
    threads = [[history.thread.home, history.thread.thread_id, list(history.turns)] for history in histories]
    return digest([threads, [[call.name, call.call_id] for call in logged.calls], logged.problem])


def _caught_up(history: History, held: Held) -> History:
    """The same history, with a problem when the log holds more than Codex lists; while a turn may run it always may."""
    if not history.complete or _may_store_more(held):
        return history
    for path in rollouts(Path(history.thread.home), history.thread.thread_id):
        if (problem := unlisted(path, history.thread.thread_id, history.turns)) is not None:
            return replace(history, problem=problem)
    return history


def _disagreement(first: Sequence[History], second: Sequence[History], owned: Sequence[History]) -> str | None:
    for history in (*first, *second, *owned):
        if history.problem is not None:
            return history.problem
    if [history.turns for history in first] != [history.turns for history in second]:
        return "two readings differ"
    fresh = {history.thread: history.turns for history in second}
    if any(history.turns != fresh[history.thread] for history in owned):
        return "the process that has the thread loaded reads it differently"
    return None


def _may_store_more(held: Held) -> bool:
    """Whether a turn may run or begin in some process: what is not listed may then still come."""
    return held.owner != "none" and (held.unanswered or not held.quiet)
