"""Which command brings rule files into their one form? `fmt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose
from oncemore.adapters.cli.output import Exit

if TYPE_CHECKING:
    from oncemore.rules.formatting import Formatting


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[PATH]...")
@click.option("--check", is_flag=True, help="Only name the files that are not in their one form.")
@click.option("--diff", is_flag=True, help="Only show what would change.")
@click.pass_context
def fmt(ctx: click.Context, paths: tuple[Path, ...], check: bool, diff: bool) -> None:
    """Bring rule files into their one form. Meaning and comments stay as they are.

    PATHs are folders or files; left out: ONCEMORE_POLICIES, else ./policies if it holds a policy. The shipped policies
    are left alone.

    Exit codes: 0 done, or nothing to do; 1 --check or --diff: a file is not in its one form; 2 usage, or a file cannot
    be written; 3 a file does not load, and is left as it is; 5 no rule file there.
    """
    from oncemore.rules.errors import NoPolicies
    from oncemore.rules.formatting import format_paths

    if check and diff:
        raise click.UsageError("name one of --check and --diff")
    looked = list(paths)
    if not looked:
        choice = choose(None)
        if choice.shipped:
            output.note("error[R003] there is no policy here; name a folder or a file")
            ctx.exit(Exit.NOTHING_RAN)
        choice.announce()
        looked = [choice.folder]
    try:
        found = format_paths(looked)
    except NoPolicies as error:
        output.note(output.plain(f"error[{error.code}] {error}"))
        ctx.exit(Exit.NOTHING_RAN)
    changing = [one for one in found if one.changes]
    for one in changing:
        if diff:
            output.say("\n".join(_difference(one)))
        else:
            if not check:
                _replace(one)
            output.say(output.plain(str(one.path)))
    errors = [error for one in found for error in one.errors]
    if errors:
        output.diagnostics(errors, err=True)
    output.note(_summary(found, changed=not (check or diff)))
    if errors:
        ctx.exit(Exit.NOT_LOADED)
    ctx.exit(Exit.NO if changing and (check or diff) else Exit.YES)


def _replace(one: Formatting) -> None:
    from oncemore.adapters.cli.replacing import replace

    try:
        replace(one.path, one.before, one.after)
    except OSError as error:
        raise output.Unwritten(str(one.path), error) from error


def _summary(found: list[Formatting], *, changed: bool) -> str:
    """Such as `1 file formatted, 3 as they should be`."""
    broken = sum(bool(one.errors) for one in found)
    changing = sum(one.changes for one in found)
    fine = len(found) - broken - changing
    told = [f"{output.many(changing, 'file')} {'formatted' if changed else 'to format'}", f"{fine} left as they are"]
    return ", ".join(told) + (f", {broken} that {'does' if broken == 1 else 'do'} not load" if broken else "")


def _difference(one: Formatting) -> Iterator[str]:
    """The lines of a unified diff; for a person without what would act on a terminal, for `patch` exactly."""
    import difflib

    before, after = (raw.decode().split("\n") for raw in (one.before, one.after))
    name = str(one.path)
    shown = output.plain if output.on_terminal() else str
    for line in difflib.unified_diff(_ended(before), _ended(after), name, name):
        yield shown(line.removesuffix("\n")) + ("" if line.endswith("\n") else "\n\\ No newline at end of file")


def _ended(lines: list[str]) -> list[str]:
    """The lines with their breaks; the last one may have none."""
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
