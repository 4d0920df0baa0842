"""Which keys and values of a file are not what they should be, and where do they stand?

Pydantic checks the values; this turns its findings into diagnostics at the key or value that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from oncemore.rules import durations
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.files import EXAMPLES, NAME, PARTS
from oncemore.rules.source import Document, Node, Place
from oncemore.rules.typecheck import nearest

Model = TypeVar("Model", bound=BaseModel)

_LABELS = ("str", "int")
"""How the types are called that a value may have one of."""

_SPANS = ("patience", "until")
"""Keys whose texts are spans of time: a bare number has no unit."""

_BY_FACT = ("facts", "base", "stale")
"""Keys below which facts stand by name."""

_FACT_AND_VALUE = re.compile(r"[a-z_]+\.[a-z_]+:[ \t]+[A-Za-z0-9_]+")
_LONGEST_AGAIN = 80
"""Characters of what is said again as it should have been written."""

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "mapping_type": "a mapping",
}


def validate(model: type[Model], document: Document, node: Node, path: Sequence[str | int] = ()) -> Model | None:
    """The part as the model, or None after reporting in the document everything that is wrong with it."""
    try:
        return model.model_validate(node.value)
    except ValidationError as failure:
        errors = _one_for_each_place(failure)
        for error in _missing_together(model, errors):
            if document.full:
                break
            if found := _diagnostic(model, document, node, path, error):
                document.note(found)
    return None


def _missing_together(model: type[BaseModel], errors: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The errors; those of keys that are missing at one place as one, and without what a key beside it says already."""
    misspelt = _misspelt(model, errors)
    taking = [error["loc"] for error in errors if error["type"] == "extra_forbidden"]
    using = {loc[:-1] for loc in taking if loc[-1] in ("use", "group")}
    missing: dict[tuple[str | int, ...], list[str]] = {}
    for error in errors:
        within = error["loc"][:-1]
        if error["type"] == "missing" and error["loc"] not in misspelt and within not in using:
            missing.setdefault(within, []).append(str(error["loc"][-1]))
    for error in errors:
        if error["type"] != "missing":
            yield error
        elif names := missing.pop(error["loc"][:-1], None):
            yield {**error, "missing": names}


def _misspelt(model: type[BaseModel], errors: Sequence[Mapping[str, Any]]) -> set[tuple[str | int, ...]]:
    """The places of missing keys for which a key of nearly that name stands beside."""
    places: set[tuple[str | int, ...]] = set()
    for error in errors:
        if error["type"] == "extra_forbidden":
            within = error["loc"][:-1]
            close = nearest(str(error["loc"][-1]), _allowed(model, within))
            if close is not None:
                places.add((*within, close))
    return places


def _one_for_each_place(failure: ValidationError) -> list[dict[str, Any]]:
    """The errors; where a value could have several types and has none of them, one that names them all."""
    errors: list[dict[str, Any]] = []
    for raw in failure.errors(include_url=False):
        error: dict[str, Any] = {**raw, "wanted": [_WANTED.get(raw["type"])]}
        loc = error["loc"]
        last = errors[-1]["loc"] if errors else ()
        if loc and last and loc[-1] in _LABELS and last[-1] in _LABELS and loc[:-1] == last[:-1]:
            errors[-1]["wanted"] += error["wanted"]
        else:
            errors.append(error)
    return errors


def _diagnostic(
    model: type[BaseModel], document: Document, node: Node, path: Sequence[str | int], error: Mapping[str, Any]
) -> Diagnostic | None:
    kind, context = str(error["type"]), error.get("ctx", {})
    key_place, target, used, broken = _follow(node, error["loc"])
    if broken:
        return None
    where = (*path, *used)
    last = str(error["loc"][-1]) if error["loc"] else ""
    if kind == "extra_forbidden":
        assert key_place is not None
        allowed = _allowed(model, error["loc"][:-1])
        hint = _other_key(last, allowed)
        return document.diagnostic("R201", f"there is no key `{last}` here", key_place, path=where, help=hint)
    if kind == "missing":
        names = error["missing"]
        listed = ", ".join(f"`{name}`" for name in names)
        message = f"the key {listed} is missing" if len(names) == 1 else f"the keys {listed} are missing"
        return document.diagnostic("R202", message, _head(target), path=where, help=_how(*names))
    place = target.place if target.place.end > target.place.start else key_place or target.place
    if target.value is None and target.children is None:
        wanted = _wanted(kind, context)
        message = f"there is no value here; {wanted} is needed"
        return document.diagnostic("R203", message, place, path=where, help=_how(last))
    if kind == "string_pattern_mismatch" and context.get("pattern") == NAME:
        return document.diagnostic(
            "R204", f"`{target.value}` is no name", place, path=where, help="a name has a-z, 0-9 and -, at most 64"
        )
    if kind == "literal_error":
        return _choice(document, target, place, where, str(context["expected"]))
    number = isinstance(target.value, int) and not isinstance(target.value, bool) and target.value >= 0
    begins = () if error["loc"] else ("facts" if "facts" in model.model_fields else next(iter(model.model_fields)),)
    spans = kind == "string_type" and number and last in _SPANS
    written = f"write {durations.with_units(target.value)}" if spans else None
    if written is None and "policy" in model.model_fields and len(where) == 2 and where[0] == "gates":
        name = target.value if isinstance(target.value, str) and re.fullmatch(NAME, target.value) else "NAME"
        written = f"a group is taken by `- use: {name}`"
    if written is None and last in _BY_FACT:
        written = _facts_again(document, target, last)
    if written is None and kind not in ("string_too_long", "too_long"):
        written = _how(last, *begins)
    wanted = " or ".join(error["wanted"]) if all(error["wanted"]) else ""
    return document.diagnostic("R203", _message(kind, wanted, context, target.value), place, path=where, help=written)


def _follow(node: Node, loc: Sequence[str | int]) -> tuple[Place | None, Node, tuple[str | int, ...], bool]:
    """The key's place, the node, the path to it and whether it was refused already.

    Labels of unions are no parts of the file and are left out.
    """
    key_place: Place | None = None
    used: list[str | int] = []
    broken = node.broken
    for part in loc:
        child = node.get(part)
        if child is None:
            continue
        if isinstance(part, str):
            key_place = node.keys[part]
        node = child
        used.append(part)
        broken = broken or node.broken
    return key_place, node, tuple(used), broken


def _allowed(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The keys that may stand where a loc leads to."""
    labels = [part for part in loc if isinstance(part, str)]
    part = PARTS.get(labels[-1], model) if labels else model
    return list(part.model_fields)


def _other_key(name: str, allowed: Sequence[str]) -> str:
    """What to write instead of a key that does not exist."""
    if allowed == ["use"]:
        return "a group is taken as it is: an entry with `use` has no other key"
    if name == "use":
        return "a group takes no other group: only a policy does, beside its gates"
    if name == "group" and "require" in allowed:
        return "a group is taken by `use: NAME`"
    close = nearest(name, allowed)
    return f"did you mean `{close}`?" if close else f"known here: {', '.join(allowed)}"


def _how(*names: str) -> str | None:
    """How keys are written, such as may be copied."""
    known = [EXAMPLES[name] for name in names if name in EXAMPLES]
    return "write " + ("\n      ".join(known)) if known else None


def _facts_again(document: Document, node: Node, key: str) -> str | None:
    """Facts of a list, or of a text in quotes, as the mapping that they should be; None when they are none."""
    said = document.text[node.place.start : node.place.end]
    if len(said) > _LONGEST_AGAIN:
        return None
    parts = [part.strip().removeprefix("- ").strip("'\" ") for part in re.split(r"[,\n]", said.strip().strip("[]"))]
    facts = [part for part in parts if part]
    if not facts or not all(_FACT_AND_VALUE.fullmatch(part) for part in facts):
        return None
    return f"write {key}: {{{', '.join(facts)}}}"


def _head(node: Node) -> Place:
    """The beginning of a mapping: its first key, so that the frame stays on one line."""
    first = next(iter(node.keys.values()), None)
    return first or Place(node.place.start, node.place.start + 1)


def _wanted(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        return f"one of {context['expected']}"
    return _WANTED.get(kind, "one")


def _choice(document: Document, node: Node, place: Place, path: Sequence[str | int], expected: str) -> Diagnostic:
    choices = expected.replace("' or '", "', '").replace("'", "").split(", ")
    written = document.text[node.place.start : node.place.end] if isinstance(node.value, bool) else str(node.value)
    close = nearest(written, choices)
    listed = f"it is one of {', '.join(choices)}"
    hint = f"did you mean `{close}`? {listed}" if close else listed
    return document.diagnostic("R203", f"`{written}` is not known here", place, path=path, help=hint)


def _message(kind: str, wanted: str, context: Mapping[str, Any], value: Any) -> str:
    if wanted:
        return f"{wanted} is needed here, not {_shown(value)}"
    if kind in ("string_too_short", "too_short"):
        return "this may not be empty"
    if kind in ("string_too_long", "too_long"):
        return f"this is longer than {context.get('max_length')}"
    bounds = {"greater_than_equal": ("at least", "ge"), "less_than": ("less than", "lt")}
    if kind in bounds:
        word, bound = bounds[kind]
        return f"this must be {word} {context[bound]}"
    return f"{_shown(value)} cannot stand here"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f'the text "{value}"' if isinstance(value, str) else f"the number {value}"
