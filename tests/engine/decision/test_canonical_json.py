"""Are the canonical bytes those of RFC 8785?"""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from oncemore.engine.canonical import MAX_SAFE, canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_SAFE, MAX_SAFE) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_they_are_those_of_an_independent_implementation(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_members_are_sorted_by_utf16_code_units() -> None:
    assert canonical({"\ufb33": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize("value", [MAX_SAFE + 1, -MAX_SAFE - 1, 1.5, b"x", "\ud800", {"a": {1, 2}}])
def test_what_has_no_exact_bytes_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical(value)
