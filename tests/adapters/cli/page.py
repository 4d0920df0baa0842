"""A page of the documentation as what it is: files, edits and commands with what they print, in order.

python -m tests.adapters.cli.page docs/PAGE.md    run it in an empty folder and print what every command printed

A fence `yaml file=PATH` is written to that file, `sh edit` is run, and in `text` every line that begins with `$ ` is a
command whose output follows. `[...]` stands for any lines, and what differs from run to run is compared by its kind.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LEFT_OUT = "[...]"
VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\boperator \w+ *"), "OPERATOR"),
    (re.compile(r"\b(?:sha256:)?[0-9a-f]{12,64}\b"), "HEX"),
    (re.compile(r"\br-[0-9a-f]+\b"), "REQUEST"),
    (re.compile(r"\b(?:\d+(?:h|ms|m|s))+\b"), "SPAN"),
    (re.compile(r"(?:/[\w.+-]+)+(?=/mine|/oncemore-demo)"), "FOLDER"),
    (re.compile(r"\b\d{2}:\d{2}:\d{2}\.\d{3}\b"), "CLOCK"),
]


@dataclass
class Step:
    """Something to do, with what it is said to print."""

    kind: str
    text: str
    target: str = ""
    expected: list[str] = field(default_factory=list)


def steps(page: str) -> Iterator[Step]:
    """The steps of a page, in order."""
    for language, info, body in FENCE.findall(page):
        if named := re.search(r"file=(\S+)", info):
            yield Step("file", body, named[1])
        elif language == "sh" and "edit" in info:
            yield Step("edit", body)
        elif language == "text":
            yield from _commands(body)


def _commands(body: str) -> Iterator[Step]:
    step = None
    for line in body.splitlines():
        if line.startswith("$ "):
            if step is not None:
                yield step
            step = Step("command", line.removeprefix("$ "))
        else:
            assert step is not None, f"output without a command: {line}"
            step.expected.append(line)
    if step is not None:
        yield step


class Session:
    """A folder in which a page is followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = Path(sys.executable).parent
        self._environment = {
            # A plugin that our own tests need, and that takes seconds to be imported.
            "PYTEST_ADDOPTS": "-p no:schemathesis",
            "PATH": f"{program}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
        }

    def follow(self, step: Step) -> str:
        """Do a step; what it printed, with the exit code where it is not nought."""
        if step.kind == "file":
            (self.folder / step.target).write_text(step.text, encoding="utf-8")
            return ""
        if step.text.startswith("cd "):
            self.folder = self.folder / step.text.removeprefix("cd ")
            return ""
        done = subprocess.run(
            ["bash", "-c", step.text],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout + (f"exit {done.returncode}\n" if done.returncode else "")


def agrees(expected: list[str], printed: str) -> bool:
    """Whether a command printed what the page says."""
    parts = [re.escape(_plain(line)) + r"\n" if line != LEFT_OUT else r"(?:.*\n)*?" for line in expected]
    return re.fullmatch("".join(parts), "".join(f"{_plain(line)}\n" for line in printed.splitlines())) is not None


def _plain(line: str) -> str:
    for pattern, kind in VOLATILE:
        line = pattern.sub(kind, line)
    return line.rstrip()


def main(page: str) -> None:
    """Follow a page, and print what every command printed."""
    with tempfile.TemporaryDirectory() as name:
        session = Session(Path(name))
        for step in steps(Path(page).read_text("utf-8")):
            printed = session.follow(step)
            print(f"==== {step.kind} {step.target or step.text.strip()}")
            print(printed, end="")
            if step.kind == "command" and not agrees(step.expected, printed):
                print("---- otherwise than the page says")


if __name__ == "__main__":
    main(sys.argv[1])
