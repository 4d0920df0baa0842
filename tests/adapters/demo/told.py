"""What did a story of the demo say, and what stands in its folder afterwards?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncemore.adapters.demo.story import run


@dataclass
class Told:
    folder: Path
    result: int = -1
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Straight from the journal's file."""
        with closing(sqlite3.connect(f"file:{self.folder}/data/oncemore.db?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(query)]

    def replies(self) -> list[str]:
        """What stands under the person's messages, in order."""
        found = self.rows(
            "SELECT body FROM inbox_reply JOIN text USING (digest) ORDER BY inbox_reply.at, inbox_reply.id"
        )
        return [row["body"] for row in found]


def told(folder: Path, story: str = "unfinished") -> Told:
    """Play a story to its end."""
    made = Told(folder)
    made.result = run(folder, made.lines.append, story=story)
    return made
