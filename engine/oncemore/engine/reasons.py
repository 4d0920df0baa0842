"""Can what a person gives as the reason of a change be kept?"""

from __future__ import annotations

from oncemore.engine.errors import Conflict


def keepable(why: str) -> None:
    """Refuse a reason that no database could hold.

    Raises:
        Conflict: it has a NUL character.
    """
    if "\0" in why:
        raise Conflict("the reason has a NUL character, which cannot be kept")
