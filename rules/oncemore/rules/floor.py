"""What must hold before anything is done, whatever a policy says?

The floor is a rule file of the engine's own, `floor.yaml`, in the language of policies. A policy can only narrow: an
action needs the policy's gates and the floor's.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from oncemore.rules.actions import ACTIONS
from oncemore.rules.digests import digest_of
from oncemore.rules.errors import RulesInvalid
from oncemore.rules.files import FloorFile
from oncemore.rules.gates import Found, read_gates
from oncemore.rules.policy import Gate
from oncemore.rules.source import load_bytes
from oncemore.rules.structure import validate

FLOOR_FILE = "floor.yaml"
"""The file's name in the `at` of its gates."""

PREFIX = "floor/"
"""Before the id of every gate of the floor; no policy's gate can be called so."""

FLOOR_TEXT = Path(__file__).with_name(FLOOR_FILE).read_text(encoding="utf-8")

FLOOR_DIGEST = digest_of({FLOOR_FILE: FLOOR_TEXT})


def floor_gates(action: str, text: str = FLOOR_TEXT) -> tuple[Gate, ...]:
    """The floor's gates for an action, those of every model start first; none when it starts no model.

    Args:
        text: the floor's text; an earlier one when an old decision is shown again.

    Raises:
        KeyError: there is no such action.
        RulesInvalid: the text does not load.
    """
    if not ACTIONS[action].starts_model:
        return ()
    every, by_action = read_floor(text)
    return (*every, *by_action.get(action, ()))


@cache
def read_floor(text: str, file: str = FLOOR_FILE) -> tuple[tuple[Gate, ...], dict[str, tuple[Gate, ...]]]:
    """The gates for every model start, and those of each action, of a floor's text.

    Raises:
        RulesInvalid: it does not load.
    """
    document = load_bytes(text.encode(), file)
    root = document.root
    model = validate(FloorFile, document, root) if root is not None else None
    if root is None or model is None:
        raise RulesInvalid(document.diagnostics)
    every = root.get("every")
    found = list(read_gates(document, file, every.items() if every is not None else (), ("every",)))
    by_action: dict[str, list[Found]] = {}
    for action in model.actions:
        node = root.get("actions", action)
        if action not in ACTIONS:
            place = root.get("actions") or root
            document.report("R203", f"there is no action `{action}`", place.keys[action], path=("actions", action))
        by_action[action] = list(
            read_gates(document, file, node.items() if node is not None else (), ("actions", action))
        )
    if document.diagnostics:
        raise RulesInvalid(document.diagnostics)
    return _floor_gates(found), {action: _floor_gates(gates) for action, gates in by_action.items()}


def _floor_gates(found: list[Found]) -> tuple[Gate, ...]:
    return tuple(one.gate(prefix=PREFIX, floor=True) for one in found)
