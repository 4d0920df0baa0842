"""Which states are there now, and what is reported of them? Writes the page anew, unless a report says what is not so.

python -m tests.adapters.states
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.adapters.states import table
from tests.adapters.states.states import NAMES, RUNTIMES, book, world
from tests.adapters.states.truth import Read, Truth, lies


def settled(key: tuple[str, str], truth: Truth, read: Read, wanted: str | None) -> tuple[str, list[str]]:
    """The row of a state, and what was told wrongly on the way to it."""
    told: dict[str, None] = {}
    row = table.settle(key, truth, read, wanted, lambda seen: told.update(dict.fromkeys(lies(truth, seen))))
    return row, list(told)


def main() -> int:
    """The command; 0 when the page was written."""
    lines: dict[tuple[str, str], str] = {}
    before = table.committed()
    wrong: list[str] = []
    for runtime in RUNTIMES:
        with tempfile.TemporaryDirectory(prefix="states-") as folder, world(runtime, Path(folder)) as opened:
            for name in (one for one in NAMES if one in book(runtime).provoked):
                with opened.provoked(name) as (truth, read):
                    key = (runtime, name)
                    lines[key], lied = settled(key, truth, read, before.get(key))
                    wrong += [f"{runtime}, {name}: {lie}" for lie in lied]
    for lie in wrong:
        print(lie, file=sys.stderr)
    for key in sorted(key for key in lines if lines[key] != before.get(key)):
        print(f"{', '.join(key)}\n  {before.get(key, 'was not there')}\n  {lines[key]}")
    if wrong:
        return 1
    table.PATH.write_text(table.document(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
