"""How is a text put into Markdown so that nothing in it is markup?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oncemore.rules.diagnostics import visible

_CODE = re.compile(r"(`[^`\n]+`)")


def fenced(text: str) -> Iterator[str]:
    """A block in which nothing is markup, whatever it holds."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    yield from (f"{fence}text", visible(text).rstrip("\n"), fence)


def code(text: str) -> str:
    """A stretch in which nothing is markup, on one line."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{visible(text, '')}{space}{ticks}"


def prose(text: str) -> str:
    """A sentence whose only markup is its stretches of code."""
    parts = _CODE.split(visible(text, "\n"))
    return "".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>&~])", lambda found: f"\\{found[1]}", text)


def cell(text: str) -> str:
    """Markdown as the cell of a table, on one line."""
    return text.replace("|", "\\|").replace("\n", "<br>")
