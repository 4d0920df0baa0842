"""How is the demo's story of unfinished work played for somebody who asks over HTTP?

The stage is the same: a real Codex before the scripted model, with the same policies. Who asks for both parts gets the
first one and sees the second taken up; every message begins with the workspace as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oncemore.adapters.demo import script
from oncemore.adapters.demo.model import ScriptedModel
from oncemore.adapters.demo.place import Place, furnish, taken
from oncemore.adapters.demo.stage import key, try_program
from oncemore.engine.crashpoints import Checkpoint, CrashPoint
from oncemore.engine.tables import Turn

FIRST, SECOND = script.PARTS


@contextmanager
def staged(folder: Path, codex: Path | None) -> Iterator[tuple[Path, Checkpoint]]:
    """The home of the demo, furnished, and what moves its scenery while a worker works there.

    Args:
        folder: new, empty, or an earlier demo's, which is emptied.
        codex: the program; None for the one that comes with the extra.

    Raises:
        FolderTaken: the folder cannot be used.
        Unreadable: there is no Codex.
    """
    program = None if codex is None else codex.absolute()
    try_program(program)
    with taken(folder) as place, key(), ScriptedModel(script.answer) as model:
        furnish(place, model.base_url, program)
        yield place.folder, _scenery(place)


def _scenery(place: Place) -> Checkpoint:
    """The second source is away while a person's Turn runs, and back once it has ended."""
    second = place.part(script.PARTS[SECOND])

    def moved(point: CrashPoint, subject: str) -> None:
        if point is CrashPoint.AFTER_CLAIM and _asked_by_a_person(subject):
            for file in (second, place.part(FIRST), place.part(SECOND)):
                file.unlink(missing_ok=True)
        elif point is CrashPoint.AFTER_SETTLE and _asked_by_a_person(subject) and not second.exists():
            place.bring_source(SECOND)

    return moved


def _asked_by_a_person(turn: str) -> bool:
    return Turn.select().where(Turn.id == turn, Turn.phase == "business").exists()
