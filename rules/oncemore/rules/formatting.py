"""Which text is the one form of a rule file?

Meaning and comments stay as they are; that they did is looked at again each time, in what was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncemore.rules.cases import read_tests
from oncemore.rules.comments import Entry, with_comments
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.diagnostics import in_order as in_file_order
from oncemore.rules.errors import FactsInvalid, NoPolicies
from oncemore.rules.expectations import known_beside
from oncemore.rules.expression import Compare, Expression, Literal, Member, Not
from oncemore.rules.folder import GROUPS, policy_files
from oncemore.rules.layout import CONDITIONS, Kind, in_order, laid_out
from oncemore.rules.levels import read_levels
from oncemore.rules.loading import read_group, read_policies
from oncemore.rules.named_file import read_up_to
from oncemore.rules.parsing import parse
from oncemore.rules.source import MAX_BYTES, Document, Place, load, read


class Altered(AssertionError):
    """The one form would mean something else, or lose a comment: a bug of ours, and nothing to write."""


def formatted(document: Document, kind: Kind) -> str:
    """The one form of a document that loads.

    Raises:
        Altered: it would not be the same.
    """
    before = with_comments(document)
    text = laid_out(before, kind)
    written = load(text, document.file)
    if written.root is None or written.diagnostics:
        raise Altered(f"{document.file}: what would be written does not load")
    after = with_comments(written)
    if _meaning(before, kind) != _meaning(after, kind):
        raise Altered(f"{document.file}: what would be written means something else")
    if comments(before, kind) != comments(after, kind):
        raise Altered(f"{document.file}: a comment would be lost or belong to something else")
    if laid_out(after, kind) != text:
        raise Altered(f"{document.file}: what would be written is not in its one form")
    return text


@dataclass(frozen=True, slots=True)
class Formatting:
    """A file and its one form.

    Attributes:
        before: its bytes; empty when they could not be read.
        after: what they should be; the same when `errors` keep it from being said.
        errors: why the file does not load.
    """

    path: Path
    before: bytes
    after: bytes
    errors: tuple[Diagnostic, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the file is not in its one form yet."""
        return self.before != self.after


def format_paths(paths: Sequence[Path]) -> list[Formatting]:
    """The one form of rule files: of a folder its policies, groups, levels and tests, of a file that file.

    Nothing is written.

    Raises:
        NoPolicies: there is no rule file.
        Altered: see `formatted`.
    """
    files = dict(found for path in paths for found in _files(path))
    if not files:
        raise NoPolicies(f"no rule file was found; looked in {', '.join(str(path) for path in paths) or 'nowhere'}")
    policies = [path for path, kind in files.items() if kind == "policy"]
    documents: dict[str, Document] = {}
    for folder in dict.fromkeys(path.parent for path in policies):
        loaded = read_policies([path for path in policies if path.parent == folder])
        documents |= {document.file: document for document in loaded.documents}
    return [_formatting(path, kind, documents) for path, kind in files.items()]


def comments(root: Entry, kind: Kind) -> dict[tuple[str | int, ...], list[str]]:
    """The comments by the path of what they belong to; those behind the last entry under that of what it is in.

    What stands above the first key of a list's element stands above the element too, and at the head of the file above
    the file: these are one place.
    """
    found: dict[tuple[str | int, ...], list[str]] = {}

    def note(entry: Entry, path: tuple[str | int, ...]) -> None:
        found.setdefault(path, []).extend(line for line in [*entry.before, *entry.beside] if line)
        body = entry.body
        if body is None:
            return
        for index, part in enumerate(in_order(body, kind)):
            joined = index == 0 and body.mapping and entry.key is None
            note(part, path if joined and part.body is None else part.path)
        found.setdefault((*path, "after"), []).extend(line for line in body.after if line)

    note(root, ())
    return {path: lines for path, lines in found.items() if lines}


def _files(path: Path) -> Iterator[tuple[Path, Kind]]:
    if not path.is_dir():
        yield path, _kind(path)
        return
    if path.name == GROUPS:
        yield from ((file, "group") for file in _yaml(path, "[!.]*.yaml"))
        return
    yield from ((file, "policy") for file in policy_files(path))
    yield from ((file, "group") for file in _yaml(path / GROUPS, "[!.]*.yaml"))
    yield from ((file, "tests") for file in _yaml(path, "[!.]*_test.yaml"))
    yield from ((file, "levels") for file in _yaml(path, "levels*.yaml"))


def _yaml(folder: Path, pattern: str) -> list[Path]:
    return [file for file in sorted(folder.glob(pattern)) if not file.is_dir()]


def _kind(path: Path) -> Kind:
    if path.name.endswith("_test.yaml"):
        return "tests"
    if path.name.startswith("levels") and path.suffix == ".yaml":
        return "levels"
    return "group" if path.absolute().parent.name == GROUPS else "policy"


def _formatting(path: Path, kind: Kind, documents: Mapping[str, Document]) -> Formatting:
    document = documents[str(path)] if kind == "policy" else _read(path, kind)
    errors = tuple(in_file_order(one for one in document.diagnostics if one.severity == "error"))
    if errors or document.root is None:
        return Formatting(path, b"", b"", errors)
    try:
        raw = read_up_to(path, MAX_BYTES)
        read_again = raw.decode("utf-8-sig") == document.text
    except (OSError, UnicodeDecodeError):
        raw, read_again = b"", False
    if not read_again:
        changed = document.diagnostic("R108", "the file was changed while it was read", Place(0, 0))
        return Formatting(path, raw, raw, (changed,))
    return Formatting(path, raw, formatted(document, kind).encode())


def _read(path: Path, kind: Kind) -> Document:
    if kind == "group":
        return read_group(path)
    document = read(path)
    if kind == "levels":
        read_levels(document)
    else:
        with suppress(FactsInvalid):
            read_tests(document, known_beside(path))
    return document


def _meaning(entry: Entry, kind: Kind) -> Any:
    """What a part says, whatever the order of its keys."""
    body = entry.body
    if body is None:
        value = entry.node.value
        if kind in ("policy", "group") and entry.key in CONDITIONS and isinstance(value, str):
            return _unplaced(parse(value))
        return value
    if body.mapping:
        return {part.key: _meaning(part, kind) for part in body.entries}
    return [_meaning(part, kind) for part in body.entries]


def _unplaced(expression: Expression) -> object:
    """A condition's tree without its places."""
    if isinstance(expression, Compare):
        return expression.fact, expression.op, _typed(expression.value), expression.bare
    if isinstance(expression, Member):
        return expression.fact, tuple(_typed(value) for value in expression.values)
    if isinstance(expression, Not):
        return "!", _unplaced(expression.operand)
    return type(expression).__name__, tuple(_unplaced(operand) for operand in expression.operands)


def _typed(value: Literal) -> tuple[str, Literal]:
    """A value with its type: `true` and `1` are equal in Python."""
    return type(value).__name__, value
