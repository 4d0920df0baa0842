"""What does the page say in each language?

One table for each; every key stands in both, with the same places to fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from oncemore.adapters.api.page.words import chinese, english

Language: TypeAlias = Literal["en", "zh"]

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

WORDS: Final[Mapping[Language, Mapping[str, str]]] = {"en": english.WORDS, "zh": chinese.WORDS}


def said(lang: Language, key: str, **fields: object) -> str:
    """A text, with its places filled in.

    Args:
        fields: `count` picks the text for one where there is one.

    Raises:
        KeyError: there is no such text, or a place is not filled.
    """
    words = WORDS[lang]
    one = f"{key}.one"
    text = words[one] if fields.get("count") == 1 and one in words else words[key]
    return text.format(**fields) if fields else text
