"""How many turns does a thread really hold? Asked by a process that shares nothing with the one that ran them.

`python -m oncemore.adapters.codex.count HOME THREAD` prints them as JSON, oldest first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from oncemore.adapters.codex import binary, facts
from oncemore.adapters.codex.processes import Processes, Settings
from oncemore.adapters.codex.reading import read_history
from oncemore.engine.errors import PortError, Unreadable
from oncemore.engine.ports import Thread


def turns(home: Path, thread_id: str, program: Path | None = None) -> list[dict[str, Any]]:
    """Every turn of a thread: `id`, `status`, `client_ids`, `items` (their types) and `answers`.

    Raises:
        Unreadable: not all of it could be read.
    """
    with Processes(Settings(binary.find(program))).reader(home) as reader:
        history = read_history(reader, Thread("codex", str(home), thread_id))
    if history.problem is not None:
        raise Unreadable(history.problem)
    return [
        {
            "id": turn["id"],
            "status": turn["status"],
            "client_ids": list(facts.client_ids(turn)),
            "items": [item["type"] for item in turn["items"]],
            "answers": facts.final_answers(turn["items"]),
        }
        for turn in history.turns
    ]


def main(arguments: list[str]) -> int:
    """The command; 0 when the whole thread was read."""
    if len(arguments) != 2:
        print("usage: python -m oncemore.adapters.codex.count HOME THREAD", file=sys.stderr)
        return 2
    try:
        found = turns(Path(arguments[0]), arguments[1])
    except PortError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"turns": len(found), "listed": found}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
