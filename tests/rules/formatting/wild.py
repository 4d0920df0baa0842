"""Rule files written in every way that YAML has, with comments whose places are known.

What is written is right by construction: the writer knows nothing of how files are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import yaml
from hypothesis import strategies as st

from oncemore.rules.diagnostics import acts
from oncemore.rules.vocabulary import FACTS

Draw = Callable[[st.SearchStrategy[Any]], Any]

Path = tuple[str | int, ...]

FIRST = ("id", "use", "name", "policy", "group")
"""Keys that stand first in what they are part of: what is said of them is said of the whole."""

WORDS = ["a", "turn", "ended", "it's", '"so"', "#1", "x:", "no", "中文", "句。", "-", "{b}", "1", "\\", "*y"]

SENTENCES = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join),
    st.text(min_size=1, max_size=60),
    st.sampled_from(["a\nb", "a\n\n b\n", "\n", " a", "a\t"]),
)

_SHOWN = re.compile(r"[\t\n -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010fffd]*")


def sentence(draw: Draw) -> str:
    """A text that may stand in a file."""
    return str(draw(SENTENCES.filter(lambda text: _SHOWN.fullmatch(text) and not any(map(_unseen, text)))))


def _unseen(char: str) -> bool:
    return char not in "\t\n" and acts(char)


def condition(chance: Random, depth: int = 2) -> str:
    """A condition, with white space, quotes and parentheses in any way that is allowed."""

    def gap() -> str:
        return chance.choice(["", " ", "  ", "\n", " \n  "])

    def text(value: str) -> str:
        quote = chance.choice("\"'")
        return f"{quote}{value}{quote}"

    kind = chance.choice(["leaf", "leaf", "and", "or", "not"]) if depth else "leaf"
    if kind == "not":
        return f"!{gap()}({gap()}{condition(chance, depth - 1)}{gap()})"
    if kind in ("and", "or"):
        sign = "&&" if kind == "and" else "||"
        parts = [condition(chance, depth - 1) for _ in range(chance.randint(2, 3))]
        inner = f"{gap()}{sign}{gap()}".join(parts)
        return f"({gap()}{inner}{gap()})" if chance.random() < 0.5 else inner
    fact = chance.choice([one for one in FACTS.values() if one.name.startswith(("native.", "turn."))])
    if fact.type == "bool":
        return chance.choice([fact.name, f"!{gap()}{fact.name}", f"{fact.name}{gap()}=={gap()}false"])
    op = chance.choice(["==", "!="] if fact.type == "enum" else ["<", "<=", ">", ">=", "==", "!="])
    if fact.type == "enum":
        if chance.random() < 0.5:
            values = chance.sample(fact.values, chance.randint(1, min(4, len(fact.values))))
            return f"{fact.name} in{gap()}[{gap()}" + f"{gap()},{gap()}".join(map(text, values)) + f"{gap()}]"
        value = text(chance.choice(fact.values))
    elif fact.type == "duration":
        value = f"duration{gap()}({gap()}{text(chance.choice(['60s', '1h30m', '5ms']))}{gap()})"
    else:
        value = str(chance.randint(0, 5))
    sides = [fact.name, value]
    if chance.random() < 0.5:
        sides.reverse()
    return f"{sides[0]}{gap()}{op}{gap()}{sides[1]}"


@dataclass
class Wild:
    """A file that is being written.

    Attributes:
        ordered: its keys have an order, so that its first one may become another.
        placed: by comment the path of what it belongs to.
        first: the key that was written first.
        flush: what was written last is a list no further in than its key, behind which a comment could be of both.
    """

    chance: Random
    ordered: bool = True
    placed: dict[str, Path] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    first: str | None = None
    flush: bool = False

    def text(self, data: Mapping[str, Any]) -> str:
        """The whole file."""
        if self.chance.random() < 0.5:
            self.lines.append("# yaml-language-server: $schema=../docs/policy.schema.json")
            self.placed[self.lines[0]] = ()
        if self.chance.choice([False] * 9 + [True]):
            self.lines.append("---")
        if self.chance.choice([False] * 9 + [True]):
            self.lines.append(self.flow(data, (), 0))
        else:
            self.mapping(data, (), 0)
        text = "\n".join(self.lines)
        if self.chance.random() < 0.5:
            text += self.chance.choice(["", "\n", "\n\n", "\n \n", "\n...\n"])
        else:
            text += "\n"
        if self.chance.choice([False] * 4 + [True]):
            text = text.replace("\n", "\r\n")
        return text

    def mapping(self, data: Mapping[str, Any], path: Path, indent: int, lead: str | None = None) -> None:
        """A mapping in lines; `lead` is what the first one begins with."""
        for index, name in enumerate(self.chance.sample(list(data), len(data))):
            here = (*path, name)
            self.first = self.first or name
            start = " " * indent
            if index == 0 and lead is not None:
                start = lead
            else:
                self.above(here, indent)
            self.value(f"{start}{self.key(name)}:", data[name], here, indent)
        if not self.flush:
            self.behind(path, indent)

    def value(self, head: str, value: Any, path: Path, indent: int) -> None:
        """What stands behind a key."""
        self.flush = False
        if isinstance(value, (dict, list)) and value and self.chance.random() < 0.5:
            self.lines.append(head + self.beside(path))
            if isinstance(value, dict):
                self.mapping(value, path, indent + self.chance.randint(1, 4))
            else:
                self.sequence(value, path, indent, self.chance.randint(0, 4))
        elif isinstance(value, (dict, list)):
            self.lines.append(f"{head} {self.flow(value, path, indent + 1)}{self.beside(path)}")
        else:
            self.scalar(head, value, path, indent)

    def sequence(self, items: list[Any], path: Path, outer: int, step: int) -> None:
        """A list in lines, so many columns further in than its key."""
        indent = outer + step
        for index, item in enumerate(items):
            here = (*path, index)
            self.above(here, indent)
            lead = " " * indent + "-" + " " * self.chance.randint(1, 3)
            if isinstance(item, dict) and self.chance.random() < 0.5:
                self.mapping(item, here, len(lead), lead)
            elif isinstance(item, (dict, list)):
                self.lines.append(lead + self.flow(item, here, indent + 1) + self.beside(here))
            else:
                self.scalar(lead[:-1], item, here, indent)
        self.flush = not step
        if step:
            self.behind(path, indent)

    def flow(self, value: Any, path: Path, indent: int) -> str:
        """A value in braces or brackets, on one line or several."""
        if not isinstance(value, (dict, list)):
            return self.inline(value, flow=True)
        wrap = self.chance.random() < 0.5
        pad = "\n" + " " * indent if wrap else self.chance.choice(["", " "])
        parts = []
        keys = self.chance.sample(list(value), len(value)) if isinstance(value, dict) else range(len(value))
        for at, name in enumerate(keys):
            here = (*path, name)
            self.first = self.first or str(name)
            said = f"{self.key(name)}: " if isinstance(value, dict) else ""
            part = said + self.flow(value[name], here, indent + 1)
            comma = "" if at == len(keys) - 1 else ","
            if wrap:
                above = [f"{' ' * indent}{line}\n" for line in self.remark(here)]
                part = "\n" + "".join(above) + " " * indent + part + comma + self.beside(here)
            else:
                part = pad + part + comma + (" " if comma else "")
            parts.append(part)
        opened, closed = "{}" if isinstance(value, dict) else "[]"
        return opened + "".join(parts) + (pad if parts else "") + closed

    def scalar(self, head: str, value: Any, path: Path, indent: int) -> None:
        """A scalar behind its key, on one line or several."""
        text = value if isinstance(value, str) else None
        styles = ["inline"]
        if text is not None and text.strip() == text and "\t" not in text and text and "  " not in text:
            if "\n" not in text:
                styles += ["folded"]
            elif "\n\n" not in text and "\n " not in text:
                styles += ["literal"]
        style = self.chance.choice(styles)
        if style == "inline":
            self.lines.append(f"{head} {self.inline(value)}{self.beside(path)}")
            return
        assert text is not None
        pad = " " * (indent + self.chance.randint(1, 4))
        self.lines.append(f"{head} {'>' if style == 'folded' else '|'}-{self.beside(path)}")
        if style == "folded":
            words = text.split(" ")
            line = words[0]
            for word in words[1:]:
                if self.chance.random() < 0.5:
                    self.lines.append(pad + line)
                    line = word
                else:
                    line += f" {word}"
            self.lines.append(pad + line)
        else:
            self.lines += [pad + line for line in text.split("\n")]

    def inline(self, value: Any, *, flow: bool = False) -> str:
        """A scalar on one line."""
        if value is None:
            return str(self.chance.choice(["null", "~"]))
        if isinstance(value, bool):
            return str(self.chance.choice(["true", "True", "TRUE"] if value else ["false", "False"]))
        if isinstance(value, int):
            return str(value)
        styles = ["double"]
        if "\n" not in value and "\t" not in value:
            styles.append("single")
            if plain(value, flow):
                styles += ["plain", "plain"]
        style = self.chance.choice(styles)
        if style == "plain":
            return str(value)
        if style == "single":
            return "'" + value.replace("'", "''") + "'"
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{escaped}"'

    def key(self, name: str) -> str:
        """A key, in quotes or not."""
        bare = [name] * 3 if plain(name, flow=True) or re.fullmatch(r"[\w.]+", name) else []
        return str(self.chance.choice([*bare, f'"{name}"', f"'{name}'"]))

    def remark(self, path: Path) -> list[str]:
        """A comment, or none."""
        if not self.chance.choice([False, False, False, True]):
            return []
        comment = f"# {len(self.placed)}" + self.chance.choice(["", " 'x", ' "y: {z', " a # b"])
        self.placed[comment] = () if not self.ordered and path == (self.first,) else owner(path)
        return [comment + self.chance.choice(["", "", "  ", "\t"])]

    def beside(self, path: Path) -> str:
        """A comment behind something, or none."""
        return "".join(f" {comment}" for comment in self.remark(path))

    def above(self, path: Path, indent: int) -> None:
        """Blank lines and a comment above something, or none."""
        if self.lines:
            self.lines += [""] * self.chance.choice([0, 0, 0, 1, 2])
        self.lines += [" " * indent + line for line in self.remark(path)]

    def behind(self, path: Path, indent: int) -> None:
        """A comment behind the last part of something that is indented, or none."""
        if indent > 0:
            self.lines += [" " * indent + line for line in self.remark((*path, "after"))]


def owner(path: Path) -> Path:
    """Where a comment is found that was written for a path: what is said of the first key is said of the whole."""
    return path[:-1] if path and path[-1] in FIRST else path


def found(text: str, comments: Iterable[str]) -> dict[str, Path]:
    """Where comments stand in a file in its one form, which has but few ways to be written; read line by line."""
    known = set(comments)
    bodies: list[tuple[int, Path, list[int]]] = []
    places: dict[str, Path] = {}
    pending: list[tuple[int, str]] = []
    last: Path = ()
    block: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if not line or (block is not None and indent > block):
            continue
        block = None
        if line.strip() in known:
            pending.append((indent, line.strip()))
            continue
        said = re.fullmatch(r"( *)(- )?(?:([^\s\"'#:-][^:#]*|'[^']+'|\"[^\"]+\"):(?: |$))?(.*)", line)
        assert said is not None, line
        places |= {one: (*_open(bodies, at), "after") for at, one in pending if at > indent}
        top = not bodies
        bodies = [one for one in bodies if one[0] <= indent]
        if not bodies or bodies[-1][0] < indent:
            bodies.append((indent, last, [0]))
        own = here = bodies[-1][1]
        if said[2]:
            own = here = (*here, bodies[-1][2][0])
            bodies[-1][2][0] += 1
            if said[3]:
                bodies.append((indent + 2, here, [0]))
        if said[3]:
            here = (*here, said[3].strip("'\""))
        above = () if top else own if said[2] else here
        places |= {one: above for at, one in pending if at <= indent}
        pending = []
        beside = next((one for one in known if line.endswith(f"  {one}")), None)
        if beside is not None:
            places[beside] = () if top else owner(here)
        if re.match(r"(?:>-|\|-?)(?:  #.*)?$", said[4]):
            block = indent + (2 if said[2] else 0)
        last = here
    places |= {one: (*_open(bodies, at), "after") for at, one in pending}
    return places


def _open(bodies: list[tuple[int, Path, list[int]]], indent: int) -> Path:
    return next(path for at, path, _ in bodies if at == indent)


def plain(text: str, flow: bool) -> bool:
    """Whether a text may stand without quotes, also as the last on its line: a dash alone would begin a list there."""
    try:
        read = yaml.safe_load(f"[{text}\n]" if flow else f"a: {text}\n")
    except yaml.YAMLError:
        return False
    return read == ([text] if flow else {"a": text}) and not text.startswith(("#", "!"))
