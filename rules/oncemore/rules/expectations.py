"""Does a test file speak of policies and gates that are there?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oncemore.rules.actions import ACTIONS
from oncemore.rules.files import NAME
from oncemore.rules.floor import floor_gates
from oncemore.rules.folder import policy_files
from oncemore.rules.loading import PolicySet, read_policies
from oncemore.rules.reading import Loaded
from oncemore.rules.source import Document, Node
from oncemore.rules.typecheck import nearest


@dataclass(frozen=True, slots=True)
class Known:
    """The policies that a test file may be about.

    Attributes:
        gates: by policy the ids of its gates, the floor's included; None when not all of them could be read, or when
            one stands there twice: the second is to be called something that is not known.
        whole: these are all policies that there are.
    """

    gates: Mapping[str, frozenset[str] | None]
    whole: bool = True

    @property
    def names(self) -> list[str]:
        """The policies' names that may be offered: one that is no name itself is offered to nobody."""
        return sorted(name for name in self.gates if re.fullmatch(NAME, name))


def known_of(policies: PolicySet) -> Known:
    """What can be named of policies that load."""
    return Known({one.name: frozenset(gate.id for gate in one.gates) | _floor(one.action) for one in policies.policies})


def known_from(loaded: Loaded) -> Known:
    """What can be named of rule files, those with mistakes included."""
    gates = {
        one.name: one.gate_ids | _floor(one.action) if one.ids_known and len(one.gate_ids) == len(one.uses) else None
        for one in loaded.readings
        if one.name is not None
    }
    groups = {group.document.file for group in loaded.groups}
    policies = [document for document in loaded.documents if document.file not in groups]
    return Known(gates, whole=len(policies) == sum(one.name is not None for one in loaded.readings))


def known_beside(path: Path) -> Known | None:
    """What can be named of the policies in the folder of a test file; None when none stands there."""
    return known_from(read_policies([path.parent])) if policy_files(path.parent) else None


def check_expectations(document: Document, known: Known) -> None:
    """Report what a test file names that is not there."""
    node = document.root.get("policy") if document.root is not None else None
    if document.root is None or node is None or node.broken or not isinstance(node.value, str):
        return
    if node.value not in known.gates:
        if known.whole:
            help = _near(node.value, known.names)
            document.report("R506", f"there is no policy `{node.value}`", node.place, path=("policy",), help=help)
        return
    gates = known.gates[node.value]
    cases = document.root.get("cases")
    for index, case in enumerate(cases.items() if cases is not None and gates is not None else ()):
        for key in ("blocked_by", "unknown"):
            _check_gates(
                document, node.value, gates or frozenset(), case.get("expect", key), ("cases", index, "expect", key)
            )


def _check_gates(
    document: Document, policy: str, gates: frozenset[str], listed: Node | None, path: tuple[str | int, ...]
) -> None:
    for index, item in enumerate(listed.items() if listed is not None else ()):
        if isinstance(item.value, str) and not item.broken and item.value not in gates:
            message = f"the policy `{policy}` has no gate `{item.value}`"
            document.report("R507", message, item.place, path=(*path, index), help=_near(item.value, gates))


def _floor(action: str | None) -> frozenset[str]:
    """The ids of the floor under an action; under all of them when it is none that there is."""
    actions = (action,) if action in ACTIONS else tuple(ACTIONS)
    return frozenset(gate.id for one in actions if one is not None for gate in floor_gates(one))


def _near(name: str, known: Iterable[str]) -> str | None:
    names = sorted(known)
    close = nearest(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    # The floor's gates are many, and seldom meant.
    own = [one for one in names if not one.startswith("floor/")]
    more = " and those of the floor, floor/..." if len(own) < len(names) else ""
    return f"there are {', '.join(own)}{more}" if own else None
