"""By which digest is a text known, and by which are several together?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def digest(text: str) -> str:
    """`sha256:` and the SHA-256 of the text in UTF-8."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def digest_of(parts: Mapping[str, str]) -> str:
    """`sha256:` over the canonical JSON of texts by name."""
    return digest(canonical(dict(parts)))


def canonical(value: object) -> str:
    """A value as JSON in one form: sorted keys, no spaces, no escapes that are not needed."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
