"""At which level does a policy work, who said so, and until when?"""

from __future__ import annotations

from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.levels import current
from oncemore.rules import durations, times


def told(policy: str, now: int) -> dict[str, str | None]:
    """The level of a policy and the change that gave it, by the same rule as the engine's; times as text."""
    level = current([policy], now)[policy]
    change = (
        LevelChange.select()
        .where(
            LevelChange.policy == policy,
            LevelChange.at <= now,
            (LevelChange.until.is_null()) | (LevelChange.until > now),
        )
        .order_by(LevelChange.id.desc())
        .first()
    )
    return {
        "policy": policy,
        "level": level,
        "since": None if change is None else times.format_ms(change.at),
        "until": None if change is None or change.until is None else times.format_ms(change.until),
        "who": None if change is None else change.who,
        "why": "nobody has set it" if change is None else change.why,
    }


def ends(text: str, now: int) -> int:
    """When a change ends that is written as a duration from now or as a time, milliseconds since the epoch.

    Raises:
        ValueError: it is neither, or no time ahead; says so.
    """
    try:
        moment = now + durations.parse(text)
    except ValueError:
        try:
            moment = times.parse(text)
        except ValueError:
            raise ValueError(
                f"{text!r} is neither a duration such as 8h nor a time such as 2026-11-30T12:00:00Z"
            ) from None
    if not now < moment <= times.MAX_MS:
        raise ValueError(f"{text!r} lies in the past, or beyond the year 9999")
    return moment
