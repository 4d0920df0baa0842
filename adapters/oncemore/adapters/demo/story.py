"""Does it really work? A recovery from the person's message to its end, run and checked here.

Everything is real but what stands outside: the Codex app-server, its threads and its sandbox, the journal, the rules,
the clock. The model follows a script on the loopback, and so does Antigravity's language server, so that no account
and no network is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from oncemore.adapters.demo import cancelled, exhausted, interrupted, unfinished
from oncemore.adapters.demo.place import Place, taken
from oncemore.adapters.demo.stage import key, try_program
from oncemore.adapters.demo.telling import Say
from oncemore.engine.errors import OncemoreError
from oncemore.rules.errors import RulesError

Play: TypeAlias = Callable[[Place, Say, Path | None], int]

STORIES: Final[Mapping[str, Play]] = {
    "unfinished": unfinished.play,
    "exhausted": exhausted.play,
    "cancelled": cancelled.play,
    "interrupted": interrupted.play,
}
"""By name, the usual one first. Each plays in a folder that is taken, with a key for Codex in the environment."""

WITHOUT_CODEX: Final = frozenset({"cancelled"})


def run(folder: Path, say: Say, *, codex: Path | None = None, story: str = "unfinished") -> int:
    """Play a story in a folder and say what happened; the folder stays for looking further.

    Args:
        folder: new, empty, or an earlier demo's, which is emptied.
        say: is given the lines, one or several at a time.
        codex: the Codex program; None for the one that comes with the extra.
        story: one of `STORIES`.

    Returns:
        0 when everything was as told, 1 when something was not; then the last lines say what.
    """
    try:
        program = None if codex is None else codex.absolute()
        if story not in WITHOUT_CODEX:
            try_program(program)
        with taken(folder) as place, key():
            return STORIES[story](place, say, program)
    except (OncemoreError, RulesError) as error:
        say(f"The demo could not be played: {error}")
        return 1
