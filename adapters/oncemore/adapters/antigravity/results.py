"""What did a tool give back, as far as its step still holds it?

The language server names a step's fields, the harness's store numbers them; otherwise they are the same. A result is
there only where its text is: a text that is absent may have been empty or may have been cleared away, and nobody can
tell which. What a tool wrote is not given back by it, and what the runtime kept in part only is no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from oncemore.adapters.antigravity.protobuf import Message


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back.

    Attributes:
        about: what it was asked about, by our own words: a file, a folder, a command.
        text: as the model got it.
    """

    about: tuple[tuple[str, str | int], ...]
    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a step: by its name in JSON and by its number in the store; zero where that is not known."""

    name: str
    number: int = 0


class Payload(Protocol):
    """The fields of a step, or of a part of it, in either way of reading. Each raises ValueError for another type."""

    def text(self, field: Field) -> str:
        """A text; empty where it is absent."""

    def whole(self, field: Field) -> int:
        """A whole number; zero where it is absent."""

    def inner(self, field: Field) -> Payload:
        """A part; an empty one where it is absent."""

    def rows(self, field: Field) -> Sequence[Payload]:
        """The parts of a list."""


@dataclass(frozen=True, slots=True)
class _Form:
    """Where a kind of step keeps what its tool was asked and gave back.

    Attributes:
        texts, numbers: what it was asked about, by our word.
        gave: the way to the text; to a list of names where it has `rows`.
    """

    payload: Field
    gave: tuple[Field, ...]
    texts: Mapping[str, Field]
    numbers: Mapping[str, Field]
    rows: bool = False


_FORMS: Mapping[str, _Form] = {
    "VIEW_FILE": _Form(
        Field("viewFile", 14),
        (Field("content", 4),),
        {"file": Field("absolutePathUri", 1)},
        {"from_line": Field("startLine", 2), "to_line": Field("endLine", 3)},
    ),
    "LIST_DIRECTORY": _Form(
        Field("listDirectory", 15), (Field("results", 3),), {"folder": Field("directoryPathUri", 1)}, {}, rows=True
    ),
    "GREP_SEARCH": _Form(
        Field("grepSearch", 13),
        (Field("rawOutput", 3),),
        {"words": Field("query", 1), "folder": Field("searchPathUri", 11)},
        {},
    ),
    "FIND": _Form(
        Field("find", 34),
        (Field("rawOutput", 11),),
        {"pattern": Field("pattern", 1), "folder": Field("searchDirectory", 10)},
        {},
    ),
    "RUN_COMMAND": _Form(
        Field("runCommand", 28),
        (Field("combinedOutput", 21), Field("full", 1)),
        {"command": Field("commandLine", 23), "folder": Field("cwd", 2)},
        {"exit_code": Field("exitCode", 6)},
    ),
    "COMMAND_STATUS": _Form(Field("commandStatus"), (Field("combined"),), {}, {"exit_code": Field("exitCode")}),
    "MCP_TOOL": _Form(Field("mcpTool"), (Field("resultString"),), {"server": Field("serverName")}, {}),
    "SEARCH_WEB": _Form(Field("searchWeb"), (Field("summary"),), {"words": Field("query")}, {}),
}
"""The numbers were read off the store of version 0.1.22; the names are those that public clients read."""

_NAME, _IS_FOLDER = Field("name", 1), Field("isDir", 2)


def of_message(kind: str, raw: Mapping[str, Any]) -> Result | None:
    """The result in a step as the language server gives it. Raises ValueError for a field of another form."""
    return _result(kind, _Named(raw))


def of_store(kind: str, payload: Message) -> Result | None:
    """The result in a step as the store holds it; None too for a kind whose numbers are not known.

    Raises:
        ValueError: a field is of another form.
    """
    form = _FORMS.get(kind)
    return _result(kind, _Numbered(payload)) if form is not None and form.payload.number else None


def _result(kind: str, step: Payload) -> Result | None:
    form = _FORMS.get(kind)
    if form is None:
        return None
    told = step.inner(form.payload)
    text = _listed(told.rows(form.gave[0])) if form.rows else _at(told, form.gave)
    if not text:
        return None
    texts = [(word, told.text(field)) for word, field in form.texts.items()]
    numbers = [(word, told.whole(field)) for word, field in form.numbers.items()]
    return Result((*((word, said) for word, said in texts if said), *numbers), text)


def _at(told: Payload, way: Sequence[Field]) -> str:
    *inner, last = way
    for field in inner:
        told = told.inner(field)
    return told.text(last)


def _listed(rows: Sequence[Payload]) -> str:
    return "\n".join(name + ("/" if row.whole(_IS_FOLDER) else "") for row in rows if (name := row.text(_NAME)))


class _Named:
    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw

    def text(self, field: Field) -> str:
        value = self._raw.get(field.name, "")
        if not isinstance(value, str):
            raise ValueError(f"a {field.name} that is no text")
        return value

    def whole(self, field: Field) -> int:
        value = self._raw.get(field.name, 0)
        try:
            return int(value) if isinstance(value, (int, str)) else int("")
        except ValueError:
            raise ValueError(f"a {field.name} that is no number") from None

    def inner(self, field: Field) -> _Named:
        value = self._raw.get(field.name, {})
        if not isinstance(value, Mapping):
            raise ValueError(f"a {field.name} of another form")
        return _Named(value)

    def rows(self, field: Field) -> Sequence[_Named]:
        value = self._raw.get(field.name, [])
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            raise ValueError(f"a {field.name} of another form")
        return [_Named(row) for row in value]


class _Numbered:
    def __init__(self, message: Message) -> None:
        self._message = message

    def text(self, field: Field) -> str:
        return self._message.text(field.number)

    def whole(self, field: Field) -> int:
        return self._message.number(field.number)

    def inner(self, field: Field) -> _Numbered:
        return _Numbered(self._message.message(field.number))

    def rows(self, field: Field) -> Sequence[_Numbered]:
        return [_Numbered(row) for row in self._message.messages(field.number)]
