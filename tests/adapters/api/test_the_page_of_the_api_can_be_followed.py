"""docs/api.md, followed from its first line to its last against a real socket, prints what it says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.adapters.api.conftest import opened, served
from tests.adapters.cli.page import Session, Step, agrees, steps

PAGE = Path(__file__).parents[3] / "docs" / "api.md"
URL = "http://127.0.0.1:8711"


@contextmanager
def follower(folder: Path) -> Iterator[Callable[[Step], str]]:
    """Does the steps of the page in a folder, with a service and its key."""
    (folder / "house").mkdir()
    (folder / "here").mkdir()
    with opened(folder / "house") as world, served(world.service) as url:
        session = Session(folder / "here")

        def follow(step: Step) -> str:
            step.text = step.text.replace(URL, url)
            if step.kind == "command":
                step.text = f"export KEY={world.tokens['all']}; {step.text}"
            return session.follow(step).replace(url, URL)

        yield follow


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    followed = 0
    with follower(tmp_path) as follow:
        for step in steps(PAGE.read_text("utf-8")):
            said = step.text
            printed = follow(step)
            if step.kind == "command":
                assert agrees(step.expected, printed), f"$ {said}\n{printed}"
                followed += 1
    assert followed > 15


def write(folder: Path) -> None:
    """Put what the commands print into the page: `python -m tests.adapters.api.test_the_page_…`."""
    page, at = PAGE.read_text("utf-8"), 0
    with follower(folder) as follow:
        for step in steps(page):
            said, expected = step.text, "".join(f"{line}\n" for line in step.expected)
            printed = follow(step)
            if step.kind == "command":
                shown = expected if agrees(step.expected, printed) else printed
                before = f"$ {said}\n{expected}"
                at = page.index(before, at)
                page = page[:at] + f"$ {said}\n{shown}" + page[at + len(before) :]
                at += len(said) + len(shown)
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    import tempfile

    os.umask(0o077)
    write(Path(tempfile.mkdtemp()).resolve())
