"""Which states are there now, and what is reported of them? Writes the page anew, unless a report says what is not so.

python -m tests.adapters.states
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.adapters.states import table
from tests.adapters.states.states import NAMES, RUNTIMES, book, world
from tests.adapters.states.truth import lies


def main() -> int:
    """The command; 0 when the page was written."""
    lines: dict[tuple[str, str], str] = {}
    wrong = 0
    for runtime in RUNTIMES:
        with tempfile.TemporaryDirectory(prefix="states-") as folder, world(runtime, Path(folder)) as opened:
            for name in (one for one in NAMES if one in book(runtime).provoked):
                truth, told = opened.provoke(name)
                lines[runtime, name] = table.line(runtime, name, truth, told)
                for lie in lies(truth, told):
                    wrong += 1
                    print(f"{runtime}, {name}: {lie}", file=sys.stderr)
    before = table.committed()
    for key in sorted(key for key in lines if lines[key] != before.get(key)):
        print(f"{', '.join(key)}\n  {before.get(key, 'was not there')}\n  {lines[key]}")
    if wrong:
        return 1
    table.PATH.write_text(table.document(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
