"""At which level does each policy start in a new journal?"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import RulesInvalid
from oncemore.rules.source import Document, read
from oncemore.rules.typecheck import nearest

Level = Literal["off", "shadow", "advise", "enforce"]

LEVELS: tuple[Level, ...] = get_args(Level)
"""Not evaluated; decided and recorded; put before the operator; done."""


def load_levels(path: Path) -> dict[str, str]:
    """The level by policy name.

    Raises:
        RulesInvalid: with everything wrong in the file.
    """
    levels, diagnostics = read_levels(read(path))
    if diagnostics:
        raise RulesInvalid(diagnostics)
    return levels


def read_levels(document: Document) -> tuple[dict[str, str], list[Diagnostic]]:
    """The levels that are good, and what is wrong."""
    root, levels = document.root, {}
    if root is None:
        return {}, document.diagnostics
    if not isinstance(root.children, dict):
        help = "write each policy on a line, such as `continue-unfinished-work: shadow`"
        document.report("R203", "a mapping of policy names to levels is needed here", root.place, help=help)
        return {}, document.diagnostics
    for policy, node in root.children.items():
        if node.broken:
            continue
        if node.value in LEVELS:
            levels[policy] = str(node.value)
            continue
        if document.full:
            break
        written = document.text[node.place.start : node.place.end] if isinstance(node.value, bool) else str(node.value)
        close = nearest(written, LEVELS)
        choices = f"it is one of {', '.join(LEVELS)}"
        place = node.place if node.place.end > node.place.start else root.keys[policy]
        document.report(
            "R203",
            f"there is no level `{written}`" if node.value is not None else "the level is missing",
            place,
            path=(policy,),
            help=f"did you mean `{close}`? {choices}" if close else choices,
        )
    return levels, document.diagnostics
