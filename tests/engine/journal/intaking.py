"""A service that takes messages in: a program, so that it can be killed in the middle of them.

python intaking.py JOURNAL MESSAGES THREADS: says each message's name once it is taken in, and at last how many commits
there were.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from oncemore.engine import intake
from oncemore.engine.group_commit import GroupCommit
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Workspace

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
IN_ONE = 10
"""How many messages a conversation has."""


def take_in(journal: Journal, number: int) -> str:
    session = intake.open_session(
        journal, GRANT, runtime="codex", home="/h", source="inbox", conversation=f"c{number // IN_ONE}"
    )
    return intake.accept(journal, session, intake.Arrival(message=f"m{number}", sender="ann", text=f"write {number}"))


def main(place: str, messages: int, threads: int) -> None:
    journal = Journal(place if "://" in place else Path(place))
    group = GroupCommit(journal)

    def one(number: int) -> None:
        group.submit(lambda: take_in(journal, number)).result()
        os.write(1, f"m{number}\n".encode())

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(messages)))
    group.close()
    journal.close()
    os.write(1, f"commits {group.commits}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
