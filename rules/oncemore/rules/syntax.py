"""What does it mean for an author that a file is not YAML, and where is it to be mended?

The parser says what it met, and where. Often the mistake is further up: a quote that was never closed, a colon without
a blank. This looks for it, and says it in an author's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import yaml

from oncemore.rules.source import Document, Place

_CONDITION_LINE = re.compile(r"\s*(?:- +)?(?P<key>require|when):[ \t]+(?P<value>!.*?)(?:[ \t]+#.*)?\s*\Z")
_NO_BLANK = re.compile(r"[ \t]*(?:- +)?(?P<key>[\w.-]+):(?P<value>[^ \t\r\n:/].*)")
_KEY = re.compile(r"[ \t]*(?:- +)?[^\s#][^:#]*:[ \t]+\S")

_FACT_IN_LINE = re.compile(
    r"[ \t]*(?:- +)?(?P<key>facts|base|stale):[ \t]+(?P<fact>[a-z_]+\.[a-z_]+:[ \t]+[A-Za-z0-9_]{1,60})"
    r"(?:[ \t]+#.*)?\s*\Z"
)

_JSON_HELP = "every { and [ is closed, commas stand between, and texts in double quotes; is the file cut off?"
_QUOTE_HELP = "close it on its line; a quote that belongs to the text stands in quotes of the other kind"
_ALIGNED_HELP = "keys of one thing begin in the same column, and so do the dashes of one list"


class _Said(NamedTuple):
    message: str
    place: Place
    help: str
    code: str = "R101"


class _Met(NamedTuple):
    """What the parser met.

    Attributes:
        at, since: where, and where that began which it was reading.
        quoted: the text in quotes that it read last.
    """

    document: Document
    problem: str
    at: int
    since: int
    quoted: Place | None

    def line_of(self, offset: int) -> int:
        return self.document.position(offset)[0]


def report_syntax(document: Document, error: yaml.MarkedYAMLError, quoted: Place | None) -> None:
    """Report in the document what a parser's error means.

    Args:
        quoted: the last text in quotes before it.
    """
    mark = error.problem_mark or error.context_mark
    at = min(mark.index if mark else 0, len(document.text))
    since = min(error.context_mark.index, at) if error.context_mark else at
    met = _Met(document, error.problem or error.context or "cannot be read", at, since, quoted)
    for look in _LOOKED_FOR:
        if said := look(met):
            document.report(said.code, said.message, said.place, help=said.help)
            return
    document.report("R101", f"not YAML: {met.problem}", Place(at, at + 1), help=_ALIGNED_HELP)


def bang(document: Document, place: Place) -> tuple[str, str, str]:
    """Code, message and help for a `!` that YAML takes for a tag."""
    number, _ = document.position(place.start)
    message = "YAML takes an unquoted ! for a tag: without it the condition would be the opposite"
    return "R105", message, _bang_help(document.line(number))


def _bang(met: _Met) -> _Said | None:
    # `!a && !b` is a tag and then an anchor without a name: what the author has to mend is the first "!".
    number, column = met.document.position(met.at)
    found = _CONDITION_LINE.match(met.document.line(number))
    if found is None:
        return None
    start = met.at - column + 1 + found.start("value")
    place = Place(start, start + 1)
    code, message, help = bang(met.document, place)
    return _Said(message, place, help, code)


def _tab(met: _Met) -> _Said | None:
    number, column = met.document.position(met.at)
    line = met.document.line(number)
    indented = line[: len(line) - len(line.lstrip())]
    if "\t" in indented:
        start = met.at - column + 1 + line.index("\t")
    elif met.document.text.startswith("\t", met.at):
        start = met.at
    else:
        return None
    return _Said("a tab stands where the line is indented", Place(start, start + 1), "indent with spaces", "R106")


def _depth(met: _Met) -> _Said | None:
    if "nesting depth" not in met.problem:
        return None
    return _Said("this nests far too deep", _one(met.at), "is this the file that was meant?", "R107")


def _json(met: _Met) -> _Said | None:
    if not met.document.text.lstrip().startswith("{"):
        return None
    problem = "something stands behind its end" if "document start" in met.problem else met.problem
    return _Said(f"not JSON: {problem}", _one(met.at), _JSON_HELP)


def _open_quote(met: _Met) -> _Said | None:
    if "unexpected end of stream" in met.problem:
        return _Said("not YAML: the quote that is opened here is never closed", _one(met.since), _QUOTE_HELP)
    if met.quoted is None or not _is_of_structure(met):
        return None
    opened, closed = met.line_of(met.quoted.start), met.line_of(met.quoted.end)
    if opened < closed and met.line_of(met.at) == closed:
        message = f"not YAML: the quote that is opened here is closed in line {closed} only"
        return _Said(message, _one(met.quoted.start), _QUOTE_HELP)
    if closed == met.line_of(met.at) and not met.document.text[met.quoted.end : met.at].strip():
        return _Said(
            "not YAML: something stands behind the text in quotes",
            _one(met.at),
            "a condition that begins with a quote stands in quotes as a whole, of the other kind",
        )
    return None


def _open_bracket(met: _Met) -> _Said | None:
    found = re.search(r"expected ',' or '([\]}])'", met.problem)
    if found is None:
        return None
    opened = met.document.text[met.since]
    if met.line_of(met.since) == met.line_of(met.at):
        return _Said(f"not YAML: a comma or the `{found[1]}` is missing here", _one(met.at), _help_of(opened, found[1]))
    return _Said(f"not YAML: the `{opened}` is not closed", _one(met.since), _help_of(opened, found[1]))


def _help_of(opened: str, closed: str) -> str:
    return f"commas stand between what is in {opened} {closed}, and a text that holds one of these stands in quotes"


def _first_sign(met: _Met) -> _Said | None:
    if "cannot start any token" not in met.problem:
        return None
    sign = met.document.text[met.at]
    return _Said(f"not YAML: a text cannot begin with `{sign}`", _one(met.at), "put the whole text in quotes")


def _escape(met: _Met) -> _Said | None:
    if "escape character" not in met.problem:
        return None
    help = "in double quotes a backslash begins an escape; write two, or use single quotes"
    return _Said("not YAML: there is no such escape", _one(met.at), help)


def _colon(met: _Met) -> _Said | None:
    """A colon too much, or one without its blank, in the line itself or in one above that ran on into it."""
    if "mapping values" not in met.problem and "expected ':'" not in met.problem:
        return None
    document, number = met.document, met.line_of(met.at)
    above = max(number - 1, 1)
    while above > 1 and not document.line(above).strip():
        above -= 1
    for line in (number, above):
        if found := _NO_BLANK.fullmatch(document.line(line)):
            start = _offset(document, line) + found.start("value")
            help = f"write `{found['key']}: {found['value'].strip()}`"
            return _Said("not YAML: no blank stands behind the colon", _one(start), help)
    _, column = document.position(met.at)
    if _KEY.match(document.line(number)[:column]) and "mapping values" in met.problem:
        help = "put the whole text in quotes"
        if found := _FACT_IN_LINE.fullmatch(document.line(number)):
            help = f"write {found['key']}: {{{found['fact']}}}, or the facts below it, a line each"
        return _Said("not YAML: a text without quotes holds a colon and a blank", _one(met.at), help)
    if "mapping values" in met.problem:
        start = _offset(document, number) + len(document.line(number)) - len(document.line(number).lstrip())
        help = "indent it as the line that it stands beside; a line with a value has nothing below it"
        return _Said("not YAML: this line is indented further than those it goes with", _one(start), help)
    return _Said(
        "not YAML: this line is no `key: value`", _one(met.since), "each line holds a key, a colon and a blank"
    )


def _aligned(met: _Met) -> _Said | None:
    if not _is_of_structure(met):
        return None
    return _Said("not YAML: this stands in line with nothing above it", _one(met.at), _ALIGNED_HELP)


def _is_of_structure(met: _Met) -> bool:
    return "expected key" in met.problem or "'-' indicator" in met.problem or "block end" in met.problem


def _one(offset: int) -> Place:
    return Place(offset, offset + 1)


def _offset(document: Document, line: int) -> int:
    """Where a line begins."""
    found = 0
    for _ in range(line - 1):
        found = document.text.index("\n", found) + 1
    return found


def _bang_help(line: str) -> str:
    found = _CONDITION_LINE.match(line)
    general = "quote the whole condition; the opposite of a fact can also be written `a.b == false`"
    if found is None:
        return general
    key, value = found["key"], found["value"]
    quoted = f"'{value}'" if "'" not in value else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    simple = re.fullmatch(r"!\s*([a-z_]+(?:\.[a-z_]+)+)", value)
    other = f"{key}: {simple[1]} == false" if simple else "a.b == false, where it is the opposite of a fact"
    return f"quote it:       {key}: {quoted}\nor without the !: {other}"


_LOOKED_FOR: tuple[Callable[[_Met], _Said | None], ...] = (
    _bang, _tab, _depth, _json, _open_quote, _open_bracket, _first_sign, _escape, _colon, _aligned,
)  # fmt: skip
