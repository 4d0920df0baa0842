"""Every command line in the README, the guide and the folder that `init` makes is one that the program takes."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from oncemore.adapters.cli.commands import cli
from oncemore.adapters.cli.founding import CONFIGURATION, README, WORKFLOW

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
WITHIN = re.compile(r"`(oncemore(?:[ \n][^`]*)?)`")
COMMAND = re.compile(r"(?:^|[$;&|] )(oncemore [^;|]*?)(?=$| *&&| *;| *\|)")
SHELL = re.compile(r"\d?>|&|\|")
PLACEHOLDERS = ("COMMAND",)


def in_scripts(text: str) -> Iterator[str]:
    """The command lines of a page's scripts and transcripts."""
    for language, body in FENCE.findall(text):
        for line in body.splitlines():
            if language == "sh" or line.startswith("$ "):
                yield from COMMAND.findall(line)
    yield from (
        line for line in FENCE.sub("", text).splitlines() if re.match("    oncemore |      - run: oncemore ", line)
    )


def in_sentences(text: str) -> Iterator[str]:
    """What a page says of commands within its sentences, such as only a name, or one with an option."""
    for found in WITHIN.finditer(FENCE.sub("", text)):
        yield " ".join(found[1].split())


def everywhere(within: Callable[[str], Iterator[str]]) -> list[tuple[str, str]]:
    """With the page that each stands in, each once."""
    pages = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    pages |= {"the README of init": README, "the workflow of init": WORKFLOW}
    return list(dict.fromkeys((page, line.strip()) for page, text in pages.items() for line in within(text)))


def words(line: str) -> list[str]:
    """The arguments of a command line, without comments and what the shell takes for itself."""
    after = line[line.index("oncemore") :]
    found = shlex.split(after, comments=True)[1:]
    return found[: next((place for place, word in enumerate(found) if SHELL.match(word)), len(found))]


def command_of(arguments: list[str]) -> tuple[click.Command, list[str]]:
    """A copy of the command that takes any path: what a page names need not be on this machine."""
    _, command, rest = cli.resolve_command(click.Context(cli), arguments)
    assert command is not None
    if isinstance(command, click.Group) and rest:
        _, within, rest = command.resolve_command(click.Context(command), rest)
        command = within or command
    command = copy.copy(command)
    command.params = [copy.copy(one) for one in command.params]
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            parameter.type = click.Path()
    return command, rest


@pytest.mark.parametrize(("page", "line"), everywhere(in_scripts))
def test_a_command_line_of_a_script_is_taken(page: str, line: str) -> None:
    command, rest = command_of(words(line))
    with command.make_context(str(command.name), rest):
        pass


@pytest.mark.parametrize(("page", "line"), everywhere(in_sentences))
def test_a_command_named_in_a_sentence_exists_with_its_options(page: str, line: str) -> None:
    arguments = words(line)
    if not arguments or arguments[0] in PLACEHOLDERS:
        return
    command: click.Command = cli
    if not arguments[0].startswith("-"):
        command, arguments = command_of(arguments)
    known = {name for one in command.get_params(click.Context(command)) for name in (*one.opts, *one.secondary_opts)}
    known |= {"-h", "--help"}
    assert {word for word in arguments if word.startswith("-")} <= known


def test_the_pages_name_every_command() -> None:
    named = {words(line)[0] for _, line in everywhere(in_scripts)}
    assert set(cli.list_commands(click.Context(cli))) <= named


def test_the_workspace_of_the_examples_is_the_one_that_init_makes() -> None:
    # The guide for authors asks in the demo's folder; it is followed as a whole by a test of its own.
    pages = [one for one in everywhere(in_scripts) if one[0] != "docs/writing-policies.md"]
    asked = [words(line)[1] for _, line in pages if words(line)[0] == "ask"]
    assert asked
    made = re.search(r"workspaces:\n  ([a-z]+):", CONFIGURATION)
    assert made is not None
    assert set(asked) == {made[1]}
