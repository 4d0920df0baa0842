"""How is a time written for somebody who reads it on a page?

In UTC, as everywhere in Oncemore, with the span from now beside it to the minute: a page that nothing happened on
stays the same for that long.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from oncemore.adapters.api.page.words import Language, said
from oncemore.rules import times

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def when(moment: int | str, *, lang: Language, now: int, spanned: bool = True) -> Markup:
    """A time, and how far away it is.

    Args:
        moment: milliseconds since the epoch, or as records write it.
        spanned: with the span.
    """
    try:
        ms = moment if isinstance(moment, int) else times.parse(moment)
        written = times.format_ms(ms)
    except ValueError:  # beyond the calendar
        return Markup("{}").format(moment)
    text = _clock(ms, now, lang)
    apart = Markup(' <span class="apart">{}</span>').format(_apart(ms - now, lang)) if spanned else Markup("")
    return Markup('<span class="when"><time datetime="{0}" title="{0}">{1}</time>{2}</span>').format(
        written, text, apart
    )


def span(ms: int, *, lang: Language) -> str:
    """A length of time in its largest unit."""
    ms = abs(ms)
    if ms < MINUTE:
        return said(lang, "span.moment")
    unit, size = ("minutes", MINUTE) if ms < HOUR else ("hours", HOUR) if ms < 2 * DAY else ("days", DAY)
    return said(lang, f"span.{unit}", count=ms // size)


def _apart(ms: int, lang: Language) -> str:
    return said(lang, "span.in" if ms >= 0 else "span.ago", span=span(ms, lang=lang))


def _clock(ms: int, now: int, lang: Language) -> str:
    at, today = (datetime.fromtimestamp(one / 1000, UTC) for one in (ms, now))
    clock = f"{at:%H:%M:%S}"
    if at.date() == today.date():
        return clock
    day = f"{at.month}月{at.day}日" if lang == "zh" else f"{at.day} {_MONTHS[at.month - 1]}"
    year = "" if at.year == today.year else f"{at.year}年" if lang == "zh" else f" {at.year}"
    return f"{year}{day} {clock}" if lang == "zh" else f"{day}{year}, {clock}"
