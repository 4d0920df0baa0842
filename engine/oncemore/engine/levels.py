"""At which level does each policy work now? `off`, `shadow`, `advise` or `enforce`; the journal holds them.

A file fills a new journal only; afterwards every change is a record with who, why and until when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.errors import Conflict
from oncemore.engine.locks import one_at_a_time
from oncemore.engine.reasons import keepable
from oncemore.engine.statements import Prepared
from oncemore.engine.tables import Decision, Request, database

LEVELS: Final = ("off", "shadow", "advise", "enforce")

DEFAULT: Final = "shadow"
"""The level of a policy that nobody has given one: it is watched before it acts."""


def fill(levels: Mapping[str, str], at: int) -> None:
    """Take the levels of a file into a journal that holds none yet. Call it inside a transaction."""
    one_at_a_time("levels")
    if LevelChange.select().exists():
        return
    for policy, level in sorted(levels.items()):
        LevelChange.insert(policy=policy, level=level, who="levels file", why="first start", at=at).execute()


def change(policy: str, level: str, *, who: str, why: str, at: int, until: int | None = None) -> None:
    """Record a change. Call it inside a transaction.

    Raises:
        Conflict: no such level, or a reason that cannot be kept.
    """
    if level not in LEVELS:
        raise Conflict(f"there is no level {level!r}; there are {', '.join(LEVELS)}")
    keepable(why)
    LevelChange.insert(policy=policy, level=level, who=who, why=why, at=at, until=until).execute()
    # What the policy would have done at its old level rests; it is looked at again under the new one.
    would = Decision.select(Decision.request).where(Decision.policy == policy, Decision.outcome == "fire")
    Request.update(due_at=at).where(Request.state == "open", Request.held.is_null(), Request.id.in_(would)).execute()


_IN_FORCE = Prepared(
    database,
    2,
    lambda now, same: (
        LevelChange.select(LevelChange.policy, LevelChange.level)
        .where(LevelChange.at <= now, (LevelChange.until.is_null()) | (LevelChange.until > same))
        .order_by(LevelChange.id)
    ),
)


def current(policies: Iterable[str], now: int) -> dict[str, str]:
    """The level of each policy at `now`: its newest change that has not run out."""
    found = dict(_IN_FORCE(now, now))
    return {policy: found.get(policy, DEFAULT) for policy in policies}
