"""A span of time reads back as it was written, and what is none is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncemore.rules import durations


@given(st.integers(0, durations.MAX_MS))
def test_what_is_written_reads_back_the_same(ms: int) -> None:
    assert durations.parse(durations.format_ms(ms)) == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("60s", 60_000),
        ("1h30m", 5_400_000),
        ("500ms", 500),
        ("1m1m", 120_000),
        ("1s1h", 3_601_000),
        ("007s", 7_000),
    ],
)
def test_whole_numbers_with_units_are_read(text: str, ms: int) -> None:
    assert durations.parse(text) == ms


@pytest.mark.parametrize(
    "text",
    ["", "60", "1.5h", "-1s", "1d", "1us", "1m30", " 1s", "1s ", "1S", "s", "1 s", "１s", "9" * 20 + "s",
     "9" * 18 + "h"],
)  # fmt: skip
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|64 bits"):
        durations.parse(text)


def test_the_longest_span_is_the_largest_exact_number_of_json() -> None:
    assert durations.parse(f"{2**53 - 1}ms") == 2**53 - 1
    with pytest.raises(ValueError, match="too long"):
        durations.parse(f"{2**53}ms")
    with pytest.raises(ValueError, match="too long"):
        durations.parse("99999999999h")


def test_a_negative_span_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="never negative"):
        durations.format_ms(-1)
