"""What does one rule file say, whether it loads or not?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from oncemore.rules import semantics
from oncemore.rules.diagnostics import Diagnostic, in_order
from oncemore.rules.digests import digest_of
from oncemore.rules.expression import Expression
from oncemore.rules.files import GroupFile, PolicyFile
from oncemore.rules.folder import GROUPS
from oncemore.rules.gates import (
    MOST_GATES,
    Found,
    folded,
    position,
    read_condition,
    read_gate,
    read_gates,
    text_of,
    warn_missing_zh,
)
from oncemore.rules.normal_form import MAX_LEAVES
from oncemore.rules.policy import Policy
from oncemore.rules.source import Document, Node
from oncemore.rules.structure import validate
from oncemore.rules.typecheck import nearest

_OTHER_KINDS = {
    "group": ("a group", "groups stand in groups/NAME.yaml beside the policies"),
    "cases": ("tests", "tests are named NAME_test.yaml"),
    "facts": ("facts of a case", "keep it outside of the folder of policies"),
}
"""By a key that only they have, other kinds of files and where they belong."""


@dataclass
class Group:
    """A group's file and its gates, good or not.

    Attributes:
        name: the file's name in `at`.
        used: some policy takes it.
    """

    document: Document
    name: str
    gates: list[Found] = field(default_factory=list)
    used: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read of one policy file, whether it loads or not.

    Attributes:
        name: the policy's; None when the file has none that can be read.
        when: None when it could not be read, or names what it may not.
        whole: `when` and every gate could be read and are not too many, so that what they allow together can be known.
        ids_known: the ids of all its gates could be read.
    """

    document: Document
    name: str | None
    action: str | None
    when: Expression | None
    uses: tuple[semantics.Use, ...]
    whole: bool
    ids_known: bool

    @property
    def gate_ids(self) -> frozenset[str]:
        """The ids of its gates, as far as they could be read."""
        return frozenset(use.found.id for use in self.uses if use.found.id is not None)


@dataclass
class Loaded:
    """What reading gave, good or not.

    Attributes:
        readings: one for each policy file of which something could be read.
    """

    policies: list[Policy] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Everything reported, in order."""
        return in_order(one for document in self.documents for one in document.diagnostics)

    @property
    def errors(self) -> list[Diagnostic]:
        """What keeps the files from loading."""
        return [one for one in self.diagnostics if one.severity == "error"]


def add_group(loaded: Loaded, stem: str, document: Document, name: str) -> Group:
    """A group's file and what is wrong with it, put with what is loaded."""
    group = Group(document, name)
    loaded.documents.append(document)
    loaded.groups.append(group)
    root = document.root
    if root is None:
        return group
    validate(GroupFile, document, root)
    declared, called = root.get("group"), text_of(root, "group")
    if called and declared is not None and called != stem:
        document.report(
            "R206", f"the group of {Path(name).name} is called `{called}`", declared.place, path=("group",),
            help=f"a group has the name of its file: `group: {stem}`",
        )  # fmt: skip
    gates = root.get("gates")
    if gates is not None:
        group.gates += read_gates(document, name, gates.items(), ("gates",), stem)
    return group


def add_policy(loaded: Loaded, document: Document, name: str, groups: Mapping[str, Group]) -> None:
    """A policy's file and what is wrong with it, put with what is loaded."""
    loaded.documents.append(document)
    root = document.root
    if root is None or _is_of_another_kind(document, root):
        return
    model = validate(PolicyFile, document, root)
    when_node = root.get("when")
    when = read_condition(document, when_node, ("when",))
    stored = True
    if when is not None and when_node is not None:
        stored = semantics.check_when(document, when_node, when)
    used = _used_groups(document, root, groups)
    uses = tuple(_uses(document, name, root, used))
    semantics.check_gates(document, uses, when)
    semantics.check_then(document, root)
    patience = semantics.read_patience(document, root, uses)
    warn_missing_zh(document, root.get("summary"), ("summary",))
    called = text_of(root, "policy")
    twin = next((other for other in loaded.readings if called and other.name == called), None)
    if twin is not None:
        place = (root.get("policy") or root).place
        help = f"the other is {twin.document.file}"
        document.report("R208", f"there are two policies `{called}`", place, path=("policy",), help=help)
    loaded.readings.append(_reading(document, root, when if stored else None, uses, used))
    if model is None:
        return
    documents = [document, *(group.document for group in used.values())]
    if when is None or any(one.severity == "error" for each in documents for one in each.diagnostics):
        return
    texts = {name: document.text, **{group.name: group.document.text for group in used.values()}}
    policy = Policy(
        name=model.policy,
        revision=model.revision,
        summary=model.summary.by_language(),
        when=when,
        when_text=folded(model.when),
        when_at=position(document, name, when_node),
        gates=tuple(use.found.gate() for use in uses),
        action=model.then.action,
        attempt=model.then.attempt,
        patience=patience,
        digest=digest_of(texts),
        file=name,
        texts=texts,
        parameters={"material": model.then.material} if model.then.material is not None else {},
    )
    loaded.policies.append(policy)


def _is_of_another_kind(document: Document, root: Node) -> bool:
    """Whether a file that stands where policies do is by its keys something else, which is then reported."""
    if "policy" in root.keys and "cases" not in root.keys:
        return False
    for key, (kind, where) in _OTHER_KINDS.items():
        if key in root.keys:
            document.report("R201", f"this file holds {kind}, and no policy", root.keys[key], path=(key,), help=where)
            return True
    return False


def _reading(
    document: Document,
    root: Node,
    when: Expression | None,
    uses: tuple[semantics.Use, ...],
    used: Mapping[str, Group],
) -> Reading:
    readable = _all_readable(root, used)
    few = semantics.comparisons(uses, when) <= MAX_LEAVES
    return Reading(
        document=document,
        name=text_of(root, "policy"),
        action=text_of(root.get("then"), "action"),
        when=when,
        uses=uses,
        whole=readable and few and when is not None and all(use.found.condition is not None for use in uses),
        ids_known=readable and all(use.found.id is not None for use in uses),
    )


def _all_readable(root: Node, used: Mapping[str, Group]) -> bool:
    """Whether every entry of the policy and of its groups is one, and every group that it takes is there."""
    roots = [root, *(group.document.root for group in used.values())]
    lists = [each.get("gates") if each is not None else None for each in roots]
    for gates in lists:
        if gates is None or not isinstance(gates.children, list):
            return False
        for entry in gates.items():
            if not isinstance(entry.children, dict) or entry.broken:
                return False
            if "use" in entry.children and text_of(entry, "use") not in used:
                return False
    return True


def _used_groups(document: Document, root: Node, groups: Mapping[str, Group]) -> dict[str, Group]:
    used: dict[str, Group] = {}
    gates = root.get("gates")
    for index, entry in enumerate(gates.items() if gates is not None else ()):
        node = entry.get("use")
        if node is None or node.broken or not isinstance(node.value, str):
            continue
        path = ("gates", index, "use")
        group = groups.get(node.value)
        if group is None:
            close = nearest(node.value, groups)
            hint = f"did you mean `{close}`?" if close else f"groups stand in {GROUPS}/NAME.yaml beside the policy"
            document.report("R206", f"there is no group `{node.value}`", node.place, path=path, help=hint)
        elif node.value in used:
            document.report(
                "R205", f"the group `{node.value}` is taken already", node.place, path=path, help="take it once"
            )
        else:
            used[node.value] = group
            group.used = True
    return used


def _uses(document: Document, name: str, root: Node, used: Mapping[str, Group]) -> Iterator[semantics.Use]:
    gates = root.get("gates")
    taken: set[str] = set()
    for index, entry in enumerate(islice(gates.items() if gates is not None else (), MOST_GATES)):
        if document.full:
            break
        path = ("gates", index)
        wanted = entry.get("use")
        if wanted is None:
            if isinstance(entry.children, dict) and not entry.broken:
                yield semantics.Use(read_gate(document, name, entry, path), entry, path)
        elif isinstance(wanted.value, str) and wanted.value in used and wanted.value not in taken:
            taken.add(wanted.value)
            yield from (semantics.Use(gate, entry, path) for gate in used[wanted.value].gates)
