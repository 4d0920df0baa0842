"""How do the parser's events become a document's tree, and what is refused on the way?

What lets a file mean something else than it shows does not pass: anchors, aliases, merge keys, tags, duplicate keys.
Everything found is reported; a part that could not be taken is marked broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf, isinf
from typing import Any

import yaml

from oncemore.rules.diagnostics import named
from oncemore.rules.source import HIDDEN_IN_VALUE, Document, Node, Place
from oncemore.rules.syntax import bang, report_syntax

MAX_DEPTH = 32
MAX_NODES = 50_000

_MAX_DIGITS = 32

_OTHER_FILE = "no file comes near that; is this the one that was meant?"
_KEY_HELP = "write a word, a colon and a blank, such as `policy: NAME`"

_TABS = re.compile(r"^[ \t]+", re.MULTILINE)

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")


class _TooMuch(Exception):
    """The document is deeper or larger than is read; nothing more can be said of it."""


class Composer:
    """Builds the tree of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0
        self.events = _events(document.text)
        self.quoted: Place | None = None

    def run(self) -> None:
        """Set the document's root, and report what was refused."""
        document = self.document
        try:
            event = self._first()
            if event is None:
                help = "write what it is to hold, or take it away"
                document.report("R108", "the file is empty", Place(0, 0), help=help)
                return
            root = self._node(event, (), 0)
            next(self.events)  # the document's end
            after = next(self.events)
            if not isinstance(after, yaml.StreamEndEvent):
                document.report(
                    "R108", "a file holds one document; this begins another", _place(after),
                    help="put each into a file of its own",
                )  # fmt: skip
            document.root = root
        except _TooMuch:
            return
        except yaml.MarkedYAMLError as error:
            report_syntax(document, error, self.quoted)
        except yaml.YAMLError as error:
            document.report("R101", f"not YAML: {error}", Place(0, 0))

    def _first(self) -> Any:
        next(self.events)
        start = next(self.events)
        if isinstance(start, yaml.StreamEndEvent):
            return None
        if start.tags or start.version not in (None, (1, 2)):
            self._refuse_directive(start)
        return next(self.events)

    def _node(self, event: Any, path: tuple[str | int, ...], depth: int) -> Node:
        self._spend(event, depth)
        place = _place(event)
        if isinstance(event, yaml.AliasEvent):
            self._refuse_sharing(f"the alias *{event.anchor}", place, path)
            return Node(None, place, broken=True)
        if event.anchor is not None:
            self._refuse_sharing(f"the anchor &{event.anchor}", Place(place.start, place.start + 1), path)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        broken = event.tag is not None and self._refuse_tag(event, path)
        if isinstance(event, yaml.MappingStartEvent):
            node = self._mapping(event, path, depth)
        else:
            node = self._sequence(event, path, depth)
        node.broken = broken
        return node

    def _scalar(self, event: yaml.ScalarEvent, path: tuple[str | int, ...]) -> Node:
        place = _place(event)
        if event.tag is not None:
            self._refuse_tag(event, path)
            return Node(event.value, place, broken=True)
        plain = bool(event.implicit[0])
        style = "" if plain else str(event.style or "")
        if self._hides(event.value, place, style, path):
            return Node(event.value, place, style, broken=True)
        value = core(event.value) if plain else event.value
        if isinstance(value, float) and isinf(value) and not _SPECIAL.match(event.value):
            self.document.report("R305", "this number is too large", place, path=path)
            return Node(0, place, broken=True)
        return Node(value, place, style)

    def _mapping(self, event: Any, path: tuple[str | int, ...], depth: int) -> Node:
        node = Node({}, _place(event), children={})
        children: dict[str, Node] = {}
        while not isinstance(key := next(self.events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent) or key.tag is not None or key.anchor is not None:
                self.document.report("R109", "a key is plain text", _place(key), path=path, help=_KEY_HELP)
                self._skip(key, path, depth)
                self._node(next(self.events), path, depth + 1)
                continue
            name, place = str(key.value), _place(key)
            self._spend(key, depth)
            if self._hides(name, place, str(key.style or ""), path):
                self._node(next(self.events), path, depth + 1)
                continue
            child = self._node(next(self.events), (*path, name), depth + 1)
            if name == "<<" and bool(key.implicit[0]):
                self._refuse_sharing("a merge key", place, path)
            elif name in children:
                line, column = self.document.position(node.keys[name].start)
                self.document.report(
                    "R102",
                    f"the key `{name}` stands here a second time",
                    place,
                    path=(*path, name),
                    help=f"the first one is in line {line}, column {column}; keep one",
                )
            else:
                node.keys[name], children[name], node.value[name] = place, child, child.value
        node.children = children
        node.place = _whole(event, key, list(children.values()))
        return node

    def _sequence(self, event: Any, path: tuple[str | int, ...], depth: int) -> Node:
        children: list[Node] = []
        while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
            children.append(self._node(item, (*path, len(children)), depth + 1))
        return Node([child.value for child in children], _whole(event, item, children), children=children)

    def _skip(self, key: Any, path: tuple[str | int, ...], depth: int) -> None:
        if isinstance(key, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            known = len(self.document.diagnostics)
            self._node(key, path, depth + 1)
            del self.document.diagnostics[known:]  # the key as a whole was reported

    def _spend(self, event: Any, depth: int) -> None:
        self.nodes += 1
        if isinstance(event, yaml.ScalarEvent) and event.style in ("'", '"'):
            self.quoted = _place(event)
        if self.document.full:
            raise _TooMuch
        if depth > MAX_DEPTH:
            message = f"this nests deeper than {MAX_DEPTH}"
            self.document.report("R107", message, Place(place := event.start_mark.index, place + 1), help=_OTHER_FILE)
            raise _TooMuch
        if self.nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES} values"
            self.document.report("R107", message, _place(event), help=_OTHER_FILE)
            raise _TooMuch

    def _hides(self, value: str, place: Place, style: str, path: tuple[str | int, ...]) -> bool:
        """Whether a text holds, by an escape, a character that nobody sees; each text is reported once."""
        found = HIDDEN_IN_VALUE.search(value)
        if found is None:
            return False
        node = Node(value, place, style)
        self.document.report(
            "R106",
            f"the character {named(found[0])} may not stand in a text",
            self.document.inside(node, found.start(), found.end()),
            path=path,
            help="texts are shown to people, and this would act on what they see; take it away",
        )
        return True

    def _refuse_directive(self, start: Any) -> None:
        text = self.document.text
        at = int(start.start_mark.index)
        stop = text.find("\n", at)
        self.document.report(
            "R110",
            "a directive is not allowed; files are YAML 1.2 without tags",
            Place(at, len(text) if stop < 0 else stop),
            help="take the line away, and the `---` below it",
        )

    def _refuse_sharing(self, what: str, place: Place, path: tuple[str | int, ...]) -> None:
        self.document.report(
            "R103",
            f"{what} is not allowed",
            place,
            path=path,
            help="repeat the lines; gates that several policies share stand in policies/groups/NAME.yaml",
        )

    def _refuse_tag(self, event: Any, path: tuple[str | int, ...]) -> bool:
        start = event.start_mark.index
        stop = self.document.text.find("\n", start)
        line = self.document.text[start : stop if stop >= 0 else len(self.document.text)]
        word = re.match(r"\S+", line)
        place = Place(start, start + len(word[0]) if word else start + 1)
        tag = str(event.tag)
        # The event leaves out where a tag after an anchor stands; its first line is near enough.
        if tag == "!" or (tag.startswith("!") and path and path[-1] in ("require", "when")):
            self._report_bang(place, path)
            return True
        self.document.report(
            "R104", f"the tag {word[0] if word else tag} is not allowed", place, path=path, help="take it away"
        )
        return True

    def _report_bang(self, place: Place, path: tuple[str | int, ...]) -> None:
        code, message, help = bang(self.document, place)
        self.document.report(code, message, place, path=path, help=help)


def core(value: str) -> Any:
    """A plain scalar's value by the core schema of YAML 1.2."""
    if value in _NULL:
        return None
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    if value[0] not in "+-.0123456789":
        return value
    if len(value) > _MAX_DIGITS and (_INT.match(value) or _BASED.match(value)):
        return inf  # nothing here is that large, and to read it would take long
    if len(value) <= _MAX_DIGITS:
        if _INT.match(value):
            return int(value)
        if _BASED.match(value):
            return int(value, 0)
    if _FLOAT.match(value) or _SPECIAL.match(value):
        return float(value.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return value


def _events(text: str) -> Iterator[Any]:
    if text.lstrip().startswith("{"):
        # JSON may be indented with tabs, which YAML refuses; a blank for each keeps every place.
        text = _TABS.sub(lambda found: " " * len(found[0]), text)
    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the types leave it out
    except ImportError:
        return iter(yaml.parse(text, Loader=yaml.SafeLoader))
    return _drain(CParser(text))


def _drain(parser: Any) -> Iterator[Any]:
    try:
        while (event := parser.get_event()) is not None:
            yield event
    finally:
        parser.dispose()


def _place(event: Any) -> Place:
    return Place(event.start_mark.index, event.end_mark.index)


def _whole(start: Any, end: Any, children: list[Node]) -> Place:
    if start.flow_style or not children:
        return Place(start.start_mark.index, end.end_mark.index)
    return Place(start.start_mark.index, children[-1].place.end)
