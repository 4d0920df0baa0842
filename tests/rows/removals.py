"""What is taken out to see that a row's test can fail: a gate, a part of a policy's `when`, or a function of ours.

A gate is taken out of copies of the shipped policies, which the world then uses; one of the floor, `floor/ID`, out of
the text that this process compiles policies with. The world's worker runs in this process. What stands in the place of
a function of ours and is wanted by several rows stands at the end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rows.row import Removal

from oncemore.adapters.antigravity import reading
from oncemore.adapters.antigravity.conversation import Conversation
from oncemore.adapters.antigravity.server import LanguageServer
from oncemore.adapters.antigravity.steps import word
from oncemore.engine.context import Context, due
from oncemore.engine.journal import Journal
from oncemore.engine.ports import NativeTurn
from oncemore.engine.tables import Session, Turn, database
from oncemore.rules import floor
from oncemore.rules.digests import digest_of
from oncemore.rules.shipped import shipped_policies


def gate(*ids: str) -> Removal:
    """Take gates out: by their ids in the policies and groups, and by `floor/ID` in the floor."""
    own = {id for id in ids if not id.startswith(floor.PREFIX)}
    below = {id.removeprefix(floor.PREFIX) for id in ids if id.startswith(floor.PREFIX)}

    def apply(monkeypatch: pytest.MonkeyPatch, world: Any) -> None:
        if own:
            _change_policies(world, lambda name, content: _without(content, own))
        if below:
            _change_floor(monkeypatch, below)

    names = ", ".join(f"`{id}`" for id in ids)
    return Removal(f"the gate{'s' if len(ids) > 1 else ''} {names}", apply)


def clause(policy: str, text: str, put: str = "true") -> Removal:
    """Take a part of a policy's `when` out.

    Args:
        put: what stands there instead; nothing, with the `&&` before it, where it is `true`.
    """

    def change(name: str, content: dict[str, Any]) -> None:
        if content.get("policy") != policy:
            return
        when = " ".join(content["when"].split())
        for found, new in ((f" && {text}", ""), (f"{text} && ", "")) if put == "true" else ((text, put),):
            if found in when:
                content["when"] = when.replace(found, new)
                return
        raise LookupError(f"{policy} does not say {text}")

    return Removal(f"`{text}` in the `when` of `{policy}`", lambda _, world: _change_policies(world, change))


def without_policy(policy: str) -> Removal:
    """Ship without a policy."""

    def change(name: str, content: dict[str, Any]) -> bool:
        return content.get("policy") != policy

    return Removal(f"the policy `{policy}`", lambda _, world: _change_policies(world, change))


def guard(path: str, replacement: Any, says: str = "") -> Removal:
    """Put something else in the place of a function of the engine or an adapter.

    Args:
        path: module and name, such as `oncemore.engine.response.parse`, or a method of a class.
        says: in words; the path's own where it is empty.
    """
    parts = path.split(".")
    words = says or f"`{'.'.join(parts[2:])}`"
    return Removal(words, lambda monkeypatch, _: monkeypatch.setattr(*_found(parts), replacement))


def ledger() -> Removal:
    """Let the journal take any Attempt, whatever was tried before."""

    def apply(monkeypatch: pytest.MonkeyPatch, world: Any) -> None:
        made = Journal.__init__

        def without(journal: Journal, *arguments: Any, **options: Any) -> None:
            made(journal, *arguments, **options)
            database.execute_sql("drop trigger if exists attempt_after_last")
            database.execute_sql("drop trigger if exists attempt_after_cancel")
            database.execute_sql("pragma ignore_check_constraints = on")

        monkeypatch.setattr(Journal, "__init__", without)

    return Removal("the journal's own refusal of a further Attempt", apply)


def all_of(says: str, *removals: Removal) -> Removal:
    """Several at once, where one rule is kept in more than one place."""

    def apply(monkeypatch: pytest.MonkeyPatch, world: Any) -> None:
        for removal in removals:
            removal.apply(monkeypatch, world)

    return Removal(says, apply)


def _found(parts: list[str]) -> tuple[Any, str]:
    for split in range(len(parts) - 1, 0, -1):
        try:
            place: Any = import_module(".".join(parts[:split]))
        except ImportError:
            continue
        return functools.reduce(getattr, parts[split:-1], place), parts[-1]
    raise LookupError(f"there is no {'.'.join(parts)}")


def _change_policies(world: Any, change: Callable[[str, dict[str, Any]], bool | None]) -> None:
    """Change every policy and group of the world's own copy, made of the shipped ones where it has none yet; False
    leaves one out."""
    before = world.policies or shipped_policies()
    after = Path(world.folder) / f"policies-{len(list(Path(world.folder).glob('policies-*')))}"
    for file in [*before.glob("*.yaml"), *before.glob("groups/*.yaml")]:
        if file.stem.endswith("_test") or file.stem == "levels":
            continue
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if change(file.stem, content) is False:
            continue
        copy = after / file.relative_to(before)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=1_000)
        copy.write_text(text, encoding="utf-8")
    world.use(after)


def _without(content: dict[str, Any], ids: set[str]) -> None:
    """Leave the gates out; a group that would be left empty keeps one that a record always passes."""
    kept = [one for one in content["gates"] if one.get("id") not in ids]
    if not kept:
        kept = [{**content["gates"][0], "require": "attempts.work >= 0"}]
    content["gates"] = kept


def _change_floor(monkeypatch: pytest.MonkeyPatch, ids: set[str]) -> None:
    content = yaml.safe_load(floor.FLOOR_TEXT)
    content["every"] = [one for one in content["every"] if one["id"] not in ids]
    actions = {name: [one for one in gates if one["id"] not in ids] for name, gates in content["actions"].items()}
    content["actions"] = {name: gates for name, gates in actions.items() if gates}
    text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=1_000)
    monkeypatch.setattr(floor, "FLOOR_TEXT", text)
    monkeypatch.setattr(floor, "FLOOR_DIGEST", digest_of({floor.FLOOR_FILE: text}))
    monkeypatch.setattr(floor.floor_gates, "__defaults__", (text,))


def the_first_page(server: LanguageServer, cascade: str) -> Any:
    """A reading that stops at the first page, however many steps there are; it stands in for the real one."""
    answer = server.read("GetCascadeTrajectory", {"cascadeId": cascade})
    trajectory = answer["trajectory"]
    run = word(answer.get("status"), "CASCADE_RUN_STATUS_", {})
    return reading._Whole(run, trajectory, trajectory.get("steps", []))


def begun_anew(context: Context, turn: Turn, native: NativeTurn) -> bool:
    """A Turn that was left running is put back into the queue; it stands in for looking at what became of it."""
    with context.journal.transaction():
        now = context.journal.advance_clock().ms
        Turn.update(status="queued", started_at=None).where(Turn.id == turn.id).execute()
        Session.update(active_turn=None).where(Session.id == turn.session).execute()
        due(turn.request, now)
    return True


READ, LOOK = reading._read, reading.look


def read_once(server: LanguageServer, cascade_id: str, known: Collection[str]) -> Conversation:
    """One reading instead of two, which agrees with itself; it stands in for a look."""
    told = READ(server, cascade_id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_read", lambda server, cascade_id: told)
        return LOOK(server, cascade_id, known)
