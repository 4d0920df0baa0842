"""A moment reads as the calendar says, with its zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncemore.rules import times

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(0, times.MAX_MS))
def test_a_moment_is_written_as_the_calendar_says(ms: int) -> None:
    text = (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert times.format_ms(ms) == text
    assert times.parse(text) == ms


@pytest.mark.parametrize("text", ["2026-11-30T12:00:00Z", "2026-11-30 20:00:00.000+08:00", "2026-11-30t06:30:00-05:30"])
def test_a_zone_is_taken_into_account(text: str) -> None:
    assert times.format_ms(times.parse(text)) == "2026-11-30T12:00:00.000Z"


@pytest.mark.parametrize(
    "text",
    ["2026-11-30", "2026-11-30T12:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
     "2026-01-01T00:00:60Z", "2026-01-01T00:00:00+24:00", "yesterday", "２026-01-01T00:00:00Z"],
)  # fmt: skip
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no time|no moment|no zone"):
        times.parse(text)
