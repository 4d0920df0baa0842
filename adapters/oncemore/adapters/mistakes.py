"""Where in the operator's file stands what pydantic found, and in which words is it said?"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from oncemore.rules import source
from oncemore.rules.diagnostics import Diagnostic

CODE = "A101"

Path = tuple[int | str, ...]

_WORDS = {
    "string_type": "text is wanted here; quote what would be read as something else",
    "int_type": "a whole number is wanted here",
    "bool_type": "true or false is wanted here",
    "greater_than_equal": "the number is 1 or more",
    "less_than": "the number does not fit 64 bits",
    "model_type": "keys with their values are wanted here",
    "dict_type": "keys with their values are wanted here; leave the key out when there are none",
    "list_type": "a list is wanted here",
    "too_short": "at least one is wanted here; leave the key out when there are none",
}


def framed(error: ValidationError, document: source.Document, model: type[BaseModel]) -> Iterator[Diagnostic]:
    """Pydantic's findings, each at its place; none on a part that reading the YAML refused already."""
    problems = error.errors(include_url=False)
    misspelled = {
        (*loc[:-1], near)
        for loc in (problem["loc"] for problem in problems if problem["type"] == "extra_forbidden")
        for near in difflib.get_close_matches(str(loc[-1]), _known(model, loc[:-1]), n=1)
    }
    for problem in problems:
        loc = problem["loc"]
        if problem["type"] == "missing" and loc in misspelled:
            continue
        on_key = problem["type"] == "extra_forbidden" or loc[-1:] == ("[key]",)
        path = loc[:-1] if loc[-1:] == ("[key]",) else loc
        parents = [document.root and document.root.get(*path[:depth]) for depth in range(len(path) + 1)]
        if document.diagnostics and (problem["type"] == "missing" or any(node and node.broken for node in parents)):
            continue
        if problem["type"] == "missing":
            path = path[:-1]
            on_key = bool(path)
        message, help = _described(problem, model)
        yield at(document, path, message, on_key=on_key, help=help)


def at(
    document: source.Document, path: Path, message: str, *, on_key: bool = False, help: str | None = None
) -> Diagnostic:
    """A mistake at a place of the file."""
    return document.diagnostic(CODE, message, _place(document, path, on_key), path=path, help=help)


def nearest(given: str, known: Sequence[str]) -> str:
    """The nearest of the known words, else all of them."""
    near = difflib.get_close_matches(given, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def _place(document: source.Document, path: Path, on_key: bool) -> source.Place:
    root = document.root
    if root is None:
        return source.Place(0, 0)
    node = root.get(*path)
    parent = root.get(*path[:-1])
    key = parent.keys.get(str(path[-1])) if parent is not None and path else None
    if key is not None and (on_key or node is None):
        return key
    return node.place if node is not None else root.place


def _described(problem: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """Message and help for one of pydantic's findings, in the words of this file."""
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "missing":
        return f'"{place[-1]}" is missing', None
    if kind == "extra_forbidden":
        return f'"{place[-1]}" is not known here', nearest(str(place[-1]), _known(model, place[:-1]))
    if kind == "literal_error":
        wanted = re.findall("'([^']*)'", problem["ctx"]["expected"])
        return f'"{given}" is not one of {", ".join(wanted)}', nearest(str(given), wanted)
    if kind == "value_error":
        return str(problem["ctx"]["error"]), None
    return _WORDS.get(kind, problem["msg"]), None


def _known(model: type[BaseModel], place: Path) -> list[str]:
    """The keys that are known at a place where a model stands."""
    found: Any = model
    for step in place:
        below = found.model_fields[str(step)].annotation if _is_model(found) else get_args(found)[-1]
        found = _bare(below)
    return list(found.model_fields)


def _bare(annotation: Any) -> Any:
    """A type without `| None` and without what is annotated beside it."""
    while get_origin(annotation) in (Annotated, Union, UnionType):
        annotation = next(one for one in get_args(annotation) if one is not type(None))
    return annotation


def _is_model(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel)
