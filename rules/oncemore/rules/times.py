"""How is a moment written?

As in RFC 3339, with a zone: `2026-11-30T12:00:00.000Z`. Moments are whole milliseconds since the epoch; nothing here
knows what time it is.
"""

from __future__ import annotations

import re

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_DAY_MS = 86_400_000
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MAX_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def parse(text: str) -> int:
    """Milliseconds since the epoch; what is finer is cut off.

    Raises:
        ValueError: it is not written so, or there is no such moment.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is no time; write it as "2026-11-30T12:00:00Z"')
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, zone_hour, zone_minute = found.groups()[6:]
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month) or hour > 23 or minute > 59 or second > 59:
        raise ValueError(f'there is no moment "{text}"')
    zone = 0
    if sign:
        if int(zone_hour) > 23 or int(zone_minute) > 59:
            raise ValueError(f'there is no zone such as in "{text}"')
        zone = (int(zone_hour) * 60 + int(zone_minute)) * (-1 if sign == "-" else 1)
    ms = int((fraction or "0").ljust(3, "0")[:3])
    return _days(year, month, day) * _DAY_MS + ((hour * 60 + minute - zone) * 60 + second) * 1_000 + ms


def format_ms(ms: int) -> str:
    """A moment in UTC, always with three decimals.

    Raises:
        ValueError: it lies before the epoch or after the year 9999.
    """
    if not 0 <= ms <= MAX_MS:
        raise ValueError(f"{ms} ms after the epoch cannot be written")
    days, rest = divmod(ms, _DAY_MS)
    year, month, day = _date(days)
    seconds, ms = divmod(rest, 1_000)
    hour, minute, second = seconds // 3_600, seconds // 60 % 60, seconds % 60
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    return 29 if month == 2 and _leap(year) else _MONTHS[month - 1]


def _years_days(year: int) -> int:
    """Days from the first of January of the year 1 to that of a year, in the Gregorian calendar."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400


def _days(year: int, month: int, day: int) -> int:
    months = sum(_days_in(year, earlier) for earlier in range(1, month))
    return _years_days(year) - _years_days(1970) + months + day - 1


def _date(days: int) -> tuple[int, int, int]:
    year = 1970 + days // 366
    while _days(year + 1, 1, 1) <= days:
        year += 1
    month = 1
    while month < 12 and _days(year, month + 1, 1) <= days:
        month += 1
    return year, month, days - _days(year, month, 1) + 1
