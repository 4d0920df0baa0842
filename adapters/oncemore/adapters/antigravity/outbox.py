"""Which inputs of a conversation in the harness are ours? The harness keeps no client id, so the home keeps a list.

A line is written before each send: the client id, how many steps there were, and the text's digest. The first input
from there on with that text, and not claimed by an earlier line, came under it. One that no line claims is not ours.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from oncemore.adapters.antigravity.steps import Step
from oncemore.engine import canonical
from oncemore.engine.errors import Unreadable


@dataclass(frozen=True, slots=True)
class Line:
    """One send.

    Attributes:
        after: how many steps the conversation had before it.
        digest: of the text.
    """

    client_id: str
    after: int
    digest: str


class Outbox:
    """The list of one conversation."""

    def __init__(self, home: Path, cascade_id: str) -> None:
        self._path = home / "sent" / f"{cascade_id}.jsonl"

    def write(self, client_id: str, after: int, text: str) -> None:
        """Add a line; it is on the disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        line = json.dumps(asdict(Line(client_id, after, digest(text))), sort_keys=True) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self) -> list[Line]:
        """Every line. Raises `Unreadable`."""
        try:
            written = self._path.read_text().splitlines()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(f"the list of what was sent cannot be read: {error}") from None
        try:
            return [Line(**json.loads(line)) for line in written]
        except (ValueError, TypeError):
            raise Unreadable("the list of what was sent holds a line that is none") from None

    def claimed(self, steps: Sequence[Step]) -> dict[int, str]:
        """By the index of an input, the client id that it came under. Raises `Unreadable`."""
        found: dict[int, str] = {}
        for line in self.lines():
            for step in steps[line.after :]:
                mine = step.kind == "USER_INPUT" and step.index not in found and step.text is not None
                if mine and digest(str(step.text)) == line.digest:
                    found[step.index] = line.client_id
                    break
        return found


def digest(text: str) -> str:
    """The digest of a text, as the engine writes it."""
    return canonical.digest(text.encode("utf-8", "surrogatepass"))
