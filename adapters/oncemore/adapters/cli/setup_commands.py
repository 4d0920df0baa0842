"""Which commands get Oncemore going on a machine? `init`, `doctor`, `demo`."""

from __future__ import annotations

from pathlib import Path

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import format_option, home_option
from oncemore.adapters.cli.output import Exit

TONES = {"ok": "green", "missing": "red", "skipped": "yellow"}


@click.command()
@click.argument("folder", default=Path(), type=click.Path(path_type=Path, file_okay=False), metavar="[DIR]")
@click.pass_context
def init(ctx: click.Context, folder: Path) -> None:
    """Make a folder of your own.

    It holds a configuration, policies with their tests and schemas, levels and lines for CI.

    Nothing that exists is overwritten: then nothing at all is written.

    Exit codes: 0 made; 1 a file is there already; 2 usage, or the system does not let it be made.
    """
    from importlib.metadata import version

    from oncemore.adapters.cli import DISTRIBUTION
    from oncemore.adapters.cli.founding import Occupied, found
    from oncemore.rules.shipped import shipped_policies, shipped_schemas

    places = {"shipped": shipped_policies(), "schemas": shipped_schemas()}
    try:
        files = found(folder, owner=_owner(), version=version(DISTRIBUTION), **places)
    except Occupied as error:
        for file in error.files:
            output.note(f"{file} is there already")
        output.note("nothing was written; move these away, or choose another folder")
        ctx.exit(Exit.NO)
    except OSError as error:
        output.note(f"{error.filename or folder} cannot be made: {error.strerror}; nothing was left behind")
        ctx.exit(Exit.USAGE)
    for file in files:
        output.say(str(file))
    home = "" if folder == Path() else f" --home {folder}"
    output.note(f"next: oncemore doctor{home}")


@click.command()
@home_option
@format_option("pretty", "json")
@click.pass_context
def doctor(ctx: click.Context, home: Path | None, format_: str) -> None:
    """Say what is missing on this machine.

    Each with the command that mends it. Nothing is changed.

    Exit codes: 0 nothing is missing; 1 something is.
    """
    from oncemore.adapters.cli.checkup import Finding, look

    found: list[Finding] = []
    for one in look(home):
        found.append(one)
        if format_ == "pretty":
            says = output.plain(one.says).replace("\n", "\n         ")
            output.say(f"{output.tone(f'{one.verdict:8}', TONES[one.verdict])} {one.what}: {says}")
            if one.mends and one.mends not in one.says:
                mends = output.plain(one.mends).replace("\n", "\n                  ")
                output.say(f"         mend it: {mends}")
    if format_ == "json":
        output.document([one.as_json() for one in found])
    missing = sum(one.verdict == "missing" for one in found)
    output.note(f"{output.many(missing, 'thing')} missing" if missing else "nothing is missing")
    ctx.exit(Exit.NO if missing else Exit.YES)


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("oncemore-demo"),
    show_default=True,
    help="Where it happens; kept for looking further.",
)
@click.option("--codex", type=click.Path(path_type=Path), metavar="PATH", help="The Codex program; else the extra's.")
@click.option(
    "--story",
    type=click.Choice(["unfinished", "exhausted", "cancelled", "interrupted"]),
    default="unfinished",
    show_default=True,
    help="Which recovery is played.",
)
@click.pass_context
def demo(ctx: click.Context, folder: Path, codex: Path | None, story: str) -> None:
    """Play one recovery whole, on this machine.

    A real Codex talks to a scripted model, and a small language server stands in for Antigravity's: no account and no
    network is needed.

    Exit codes: 0 everything went as told; 1 something did not.
    """
    from oncemore.adapters.demo.story import run

    ctx.exit(run(folder, output.say, codex=codex, story=story))


def _owner() -> str:
    """The system's word for who is at the terminal, as an owner is written."""
    import getpass

    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return "owner"
    return name if name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum() else "owner"
