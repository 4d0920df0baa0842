"""Do the parts of one policy fit together?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oncemore.rules import durations
from oncemore.rules.actions import ACTIONS, MATERIALS, Action
from oncemore.rules.errors import TooComplex
from oncemore.rules.expression import Compare, Duration, Expression, leaves
from oncemore.rules.gates import MOST_GATES, Found, text_of
from oncemore.rules.normal_form import MAX_LEAVES, terms
from oncemore.rules.source import Document, Node, Place
from oncemore.rules.vocabulary import FACTS

_ATTEMPTS = frozenset(attempt for action in ACTIONS.values() for attempt in action.attempts)


@dataclass(frozen=True, slots=True)
class Use:
    """A gate of a policy, with the entry of the policy's file that brings it in: itself, or a `use`."""

    found: Found
    entry: Node
    path: tuple[str | int, ...]


def check_when(document: Document, node: Node, when: Expression) -> bool:
    """Whether `when` names only what our own records supply, since the service always knows those."""
    stored = True
    for leaf in leaves(when):
        if not FACTS[leaf.fact].stored:
            stored = False
            place = document.inside(node, leaf.fact_span.start, leaf.fact_span.end)
            document.report(
                "R213",
                f"`{leaf.fact}` may not stand in `when`: it is read from outside and may be unknown",
                place,
                path=("when",),
                help="make it a gate",
            )
    try:
        terms(when, True)
        terms(when, False)
    except TooComplex as error:
        document.report("R212", f"`when`: {error}", node.place, path=("when",))
    return stored


def check_gates(document: Document, uses: Sequence[Use], when: Expression | None) -> None:
    """Ids occur once over the policy and its groups, and there are not too many comparisons."""
    seen: dict[str, Use] = {}
    for use in uses:
        gate = use.found.id
        if gate is None:
            continue
        first = seen.setdefault(gate, use)
        if first is not use:
            document.report(
                "R205", f"gate `{gate}` stands here a second time", _id_place(use), path=use.path, help=_first(first)
            )
    count = comparisons(uses, when)
    if count > MAX_LEAVES and uses:
        told = count if len(uses) < MOST_GATES else f"more than {MOST_GATES}"
        document.report(
            "R212",
            f"the policy has {told} comparisons; at most {MAX_LEAVES} are evaluated",
            _id_place(uses[-1]),
            path=uses[-1].path,
            help="split it into two policies",
        )


def comparisons(uses: Sequence[Use], when: Expression | None) -> int:
    """How many comparisons a policy has, as far as its conditions can be read."""
    conditions = [when, *(use.found.condition for use in uses)]
    return sum(1 for condition in conditions if condition is not None for _ in leaves(condition))


def check_then(document: Document, root: Node) -> None:
    """The action has the kind of try and the further words that it takes; single values must have been checked."""
    node = root.get("then")
    action = ACTIONS.get(text_of(node, "action") or "")
    if node is None or action is None:
        return
    given = {key: part.value for key in ("attempt", "material") if (part := node.get(key)) is not None}
    if given.get("attempt") in (None, *_ATTEMPTS):
        _check_attempt(document, node, action, given.get("attempt"))
    if given.get("material") in (None, *MATERIALS):
        _check_material(document, node, action, given.get("material"))


def _check_attempt(document: Document, node: Node, action: Action, attempt: str | None) -> None:
    if action.attempts and attempt not in action.attempts:
        choices = " or ".join(action.attempts)
        message = f"`{action.name}` spends a try: `attempt: {choices}`"
        document.report("R209", message, _part(node, "attempt"), path=("then", "attempt"))
    if not action.attempts and attempt is not None:
        document.report(
            "R209",
            f"`{action.name}` spends no try",
            _part(node, "attempt"),
            path=("then", "attempt"),
            help="take it away",
        )


def _check_material(document: Document, node: Node, action: Action, material: str | None) -> None:
    if "material" in action.parameters and material is None:
        choices = ", ".join(action.parameters["material"])
        message = f"`{action.name}` must say what it may be shown: `material`"
        document.report("R209", message, _part(node, "action"), path=("then",), help=f"it is one of {choices}")
    if "material" not in action.parameters and material is not None:
        message = f"`{action.name}` takes no material"
        document.report("R209", message, _part(node, "material"), path=("then", "material"), help="take it away")


def read_patience(document: Document, root: Node, uses: Sequence[Use]) -> int | None:
    """The policy's patience in milliseconds; None when it has none, or a bad one, which is reported."""
    node = root.get("patience")
    written = text_of(root, "patience")
    if written is None or node is None:
        return None
    try:
        patience = durations.parse(written)
    except ValueError as error:
        document.report("R303", str(error), node.place, path=("patience",))
        return None
    for use in uses:
        waited = max(_waited(use.found), default=0)
        if waited > patience:
            document.report(
                "R211",
                f"{use.found.called} waits {durations.format_ms(waited)}, longer than the policy's patience",
                node.place,
                path=("patience",),
                help=f"a patience of at least {durations.format_ms(waited)}, or a shorter wait",
            )
    return patience


def _waited(found: Found) -> Iterator[int]:
    """For how long each comparison of a waiting gate has to be waited for."""
    if text_of(found.node, "otherwise") != "wait" or found.condition is None:
        return
    try:
        passing = terms(found.condition, True)
    except TooComplex:
        return
    for term in passing:
        for leaf, truth in term:
            if not isinstance(leaf, Compare) or not FACTS[leaf.fact].grows or not isinstance(leaf.value, Duration):
                continue
            if (leaf.op in (">", ">=", "==")) if truth else (leaf.op in ("<", "<=", "!=")):
                yield leaf.value.ms


def _part(node: Node, key: str) -> Place:
    part = node.get(key)
    return part.place if part is not None else next(iter(node.keys.values()))


def _id_place(use: Use) -> Place:
    if use.found.node is use.entry:
        return use.found.place("id")
    part = use.entry.get("use")
    assert part is not None
    return part.place


def _first(use: Use) -> str:
    line, _ = use.found.document.position(use.found.place("id").start)
    return f"the first one is in {use.found.document.file}, line {line}"
