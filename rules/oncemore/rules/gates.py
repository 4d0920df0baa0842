"""Which gates stand in a file, and is each one good by itself?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from pydantic import ValidationError

from oncemore.rules.errors import ExpressionError, TooComplex
from oncemore.rules.expression import Expression, leaves
from oncemore.rules.files import GateEntry
from oncemore.rules.normal_form import MAX_LEAVES, terms
from oncemore.rules.outcome import Outcome
from oncemore.rules.parsing import parse
from oncemore.rules.policy import Gate
from oncemore.rules.source import Document, Node, Place
from oncemore.rules.typecheck import check

FRESH = ("attempts.", "session.", "request.", "source.", "grant.")
"""Facts that a person or another try may change at any moment: a gate on them is always judged again."""

MOST_GATES = 2 * MAX_LEAVES
"""Gates of a file that are read: each has a comparison, so that even half of them are too many."""

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Found:
    """A gate as it stands in a file, good or not: what can be read of it is judged all the same.

    Attributes:
        entry: None when a key or a value of it has a mistake.
        condition: None when it cannot be read.
        name: the file's name in `at`.
        path: where in the document.
    """

    entry: GateEntry | None
    condition: Expression | None
    document: Document
    name: str
    node: Node
    path: tuple[str | int, ...]
    group: str | None = None

    @property
    def id(self) -> str | None:
        """Its name, when it has one."""
        value = text_of(self.node, "id")
        return value or None

    @property
    def called(self) -> str:
        """How messages name it."""
        return f"gate `{self.id}`" if self.id else "this gate"

    def gate(self, *, prefix: str = "", floor: bool = False) -> Gate:
        """The gate for evaluation; only of one without a mistake."""
        entry = self.entry
        assert entry is not None
        assert self.condition is not None
        return Gate(
            id=prefix + entry.id,
            condition=self.condition,
            text=folded(entry.require),
            otherwise=Outcome(entry.otherwise),
            why=entry.why.by_language(),
            at=position(self.document, self.name, self.node.get("require")),
            unknown=Outcome(entry.unknown),
            recheck=entry.recheck,
            group=self.group,
            floor=floor,
        )

    def place(self, key: str) -> Place:
        """Where a key of the gate has its value; the gate's first key when it has none."""
        part = self.node.get(key)
        return part.place if part is not None else next(iter(self.node.keys.values()))


def read_gates(
    document: Document, name: str, nodes: Iterable[Node], path: tuple[str | int, ...], group: str | None = None
) -> Iterator[Found]:
    """The gates among nodes.

    What is wrong with conditions is reported, and what does not fit together; what is wrong with single keys and values
    must have been.
    """
    for index, node in enumerate(islice(nodes, MOST_GATES)):
        if isinstance(node.children, dict) and not node.broken and not document.full:
            yield read_gate(document, name, node, (*path, index), group)


def read_gate(
    document: Document, name: str, node: Node, path: tuple[str | int, ...], group: str | None = None
) -> Found:
    """One gate; see `read_gates`."""
    condition = read_condition(document, node.get("require"), (*path, "require"))
    entry = None
    with suppress(ValidationError):
        entry = GateEntry.model_validate(node.value)
    found = Found(entry, condition, document, name, node, path, group)
    _check_recheck(found)
    _check_terms(found)
    warn_missing_zh(document, node.get("why"), (*path, "why"))
    return found


def read_condition(document: Document, node: Node | None, path: tuple[str | int, ...]) -> Expression | None:
    """The tree of a condition; None after reporting what is wrong with it, or when it is no text at all."""
    if node is None or node.broken or not isinstance(node.value, str) or not node.value:
        return None
    try:
        condition = parse(node.value)
    except ExpressionError as error:
        place = document.inside(node, error.span.start, error.span.end)
        document.report("R301", error.message, place, path=path, help=_help(error))
        return None
    problems = check(condition)
    for problem in problems:
        place = document.inside(node, problem.span.start, problem.span.end)
        document.report(problem.code, problem.message, place, path=path, help=problem.suggestion)
    return None if problems else condition


def position(document: Document, name: str, node: Node | None) -> str:
    """`NAME:LINE:COLUMN` of the first character of a condition."""
    assert node is not None
    text = str(node.value)
    first = len(text) - len(text.lstrip())
    line, column = document.position(document.inside(node, first, first + 1).start)
    return f"{name}:{line}:{column}"


def folded(text: str) -> str:
    """A condition on one line."""
    return " ".join(text.split())


def text_of(node: Node | None, key: str) -> str | None:
    """The text under a key of a mapping; None when there is none, or something else."""
    part = node.get(key) if node is not None else None
    return part.value if part is not None and not part.broken and isinstance(part.value, str) else None


def warn_missing_zh(document: Document, node: Node | None, path: tuple[str | int, ...]) -> None:
    """A finding when a sentence has no Chinese."""
    if node is None or not node.keys or node.broken:
        return
    chinese = node.get("zh")
    if chinese is None or (chinese.value is None and not chinese.broken):
        place = next(iter(node.keys.values()))
        document.note(
            document.diagnostic(
                "R401",
                "the Chinese sentence is missing",
                place,
                path=path,
                help="add `zh:`; who reads Chinese is otherwise shown the English one",
                severity="warning",
            )
        )


def names(condition: Expression) -> Mapping[str, None]:
    """The facts that a condition names, in order, each once."""
    return dict.fromkeys(leaf.fact for leaf in leaves(condition))


def _check_recheck(found: Found) -> None:
    path = (*found.path, "recheck")
    stated, because = found.node.get("recheck"), found.node.get("because")
    if stated is not None and not isinstance(stated.value, bool):
        return
    reason = because is not None and because.value is not None
    if stated is None or stated.value:
        if reason:
            found.document.report(
                "R210",
                "`because` explains `recheck: false`, which does not stand here",
                found.place("because"),
                path=path,
            )
        return
    if not reason:
        found.document.report(
            "R210",
            f"{found.called} is not judged again before the action, and does not say why",
            found.place("recheck"),
            path=path,
            help="add `because:` with the reason, or take `recheck: false` away",
        )
    condition = found.condition
    fresh = [name for name in names(condition) if name.startswith(FRESH)] if condition is not None else []
    if fresh:
        found.document.report(
            "R210",
            f"{found.called} names `{fresh[0]}`, which may change at any moment, so it is always judged again",
            found.place("recheck"),
            path=path,
            help="take `recheck: false` away",
        )


def _check_terms(found: Found) -> None:
    if found.condition is None:
        return
    try:
        terms(found.condition, True)
        terms(found.condition, False)
    except TooComplex as error:
        found.document.report(
            "R212",
            f"{found.called}: {error}",
            found.place("require"),
            path=(*found.path, "require"),
            help="split it into several gates: all of them must pass",
        )


def _help(error: ExpressionError) -> str | None:
    if error.help or not error.expected:
        return error.help
    shown = list(error.expected[:_SHOWN])
    return f"here could stand: {', '.join(shown)}" + (" ..." if len(error.expected) > _SHOWN else "")
