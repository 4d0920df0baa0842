"""Where in the file does each character of a YAML scalar's value stand?

A value is what is left after quotes, escapes, folding and indentation are taken away. An error inside it must point
at the file, so the scalar is decoded once more here, keeping for every character the offset it came from. Whether
the decoding is right needs no trust: its value must equal the one that the YAML parser gave.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TypeAlias

_Chars: TypeAlias = list[tuple[str, int]]

_SIMPLE = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "\\": "\\",
    "/": "/",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_CODED = {"x": 2, "u": 4, "U": 8}
_WHITE = re.compile(r"[ \t\r\n]+")
_BREAK = re.compile(r"\r\n|\n|\r")
_HEADER = re.compile(r"[|>]([-+]?[1-9]?[-+]?)[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r|$)")
_MAX_INDENT = 64


def offsets(text: str, start: int, end: int, style: str, value: str) -> list[int] | None:
    """For each character of a scalar's value, and for its end, the offset in the text of the file.

    Args:
        start, end: what the parser says that the scalar takes up, quotes and block header included.
        style: `'`, `"`, `|`, `>`, or empty for a plain one.

    Returns:
        None when the value cannot be followed; the scalar as a whole is then the place.
    """
    if style in ("'", '"'):
        decoded = [_flow(text, start + 1, end - 1, style)]
    elif style in ("|", ">"):
        decoded = _block(text, start, end, style)
    else:
        decoded = [_flow(text, start, end, "")]
    for chars in decoded:
        if "".join(char for char, _ in chars) == value:
            places = [place for _, place in chars]
            return [*places, places[-1] + 1 if places else start]
    return None


def _flow(text: str, at: int, end: int, style: str) -> _Chars:
    chars: _Chars = []
    while at < end:
        char = text[at]
        if white := _WHITE.match(text, at, end):
            chars += _folded_white(white[0], at)
            at = white.end()
        elif style == '"' and char == "\\":
            found, at = _escape(text, at, end)
            chars += found
        elif style == "'" and text.startswith("''", at):
            chars.append(("'", at))
            at += 2
        else:
            chars.append((char, at))
            at += 1
    return chars


def _folded_white(white: str, at: int) -> _Chars:
    breaks = [at + found.start() for found in _BREAK.finditer(white)]
    if not breaks:
        return [(char, at + index) for index, char in enumerate(white)]
    if len(breaks) == 1:
        return [(" ", at)]
    return [("\n", place) for place in breaks[1:]]


def _escape(text: str, at: int, end: int) -> tuple[_Chars, int]:
    letter = text[at + 1]
    if letter in _CODED:
        stop = at + 2 + _CODED[letter]
        return [(chr(int(text[at + 2 : stop], 16)), at)], stop
    if letter in "\r\n":
        white = _WHITE.match(text, at + 1, end)
        assert white is not None
        places = [at + 1 + found.start() for found in _BREAK.finditer(white[0])]
        return [("\n", place) for place in places[1:]], white.end()
    return [(_SIMPLE[letter], at)], at + 2


def _block(text: str, start: int, end: int, style: str) -> list[_Chars]:
    """One decoding per indentation that the scalar may have; a header with a digit leaves it to its parent."""
    header = _HEADER.match(text, start)
    if header is None:
        return []
    lines = _lines(text, header.end(), end)
    explicit = any(sign.isdigit() for sign in header[1])
    indents = range(_MAX_INDENT) if explicit else [_detected(text, lines)]
    return [_block_lines(text, lines, indent, style, header[1]) for indent in indents]


def _lines(text: str, at: int, end: int) -> list[tuple[int, int]]:
    """Start and end of each line, the break left out."""
    found = []
    while at < end:
        stop = _BREAK.search(text, at, end)
        found.append((at, stop.start() if stop else end))
        at = stop.end() if stop else end
    return found


def _detected(text: str, lines: list[tuple[int, int]]) -> int:
    indent = 0
    for start, stop in lines:
        line = text[start:stop]
        indent = max(indent, len(line) - len(line.lstrip(" ")))
        if line.strip(" "):
            break
    return indent


def _block_lines(text: str, lines: list[tuple[int, int]], indent: int, style: str, header: str) -> _Chars:
    chars: _Chars = []
    blank: _Chars = []  # breaks of blank lines, kept back until it is known whether content follows
    last_break: _Chars = []
    folding = False
    for start, stop in lines:
        spaces = len(text[start:stop]) - len(text[start:stop].lstrip(" "))
        if spaces < indent or start + indent >= stop:
            if start + spaces < stop:
                break  # a comment or the end of the block, outdented
            blank.append(("\n", stop))
            continue
        flush = text[start + indent] not in " \t"
        if last_break and folding and flush and style == ">":
            chars += blank or [(" ", last_break[0][1])]
        else:
            chars += chain(last_break, blank)
        blank = []
        chars += ((text[place], place) for place in range(start + indent, stop))
        last_break, folding = [("\n", stop)], flush
    if "-" in header:
        return chars
    return [*chars, *last_break, *(blank if "+" in header else [])]
