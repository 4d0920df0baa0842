"""Which command makes pages of rules? `docs`."""

from __future__ import annotations

from pathlib import Path

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose, policies_option
from oncemore.adapters.cli.completing import policy_names
from oncemore.adapters.cli.output import Exit


@click.command()
@click.argument("name", required=False, metavar="[POLICY]", shell_complete=policy_names)
@policies_option()
@click.option(
    "--write", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Bring the pages there up to date."
)
@click.option("--check", is_flag=True, help="Only compare the pages in the folder of --write with the rules.")
@click.pass_context
def docs(ctx: click.Context, name: str | None, policies: Path | None, write: Path | None, check: bool) -> None:
    """Make pages of policies, in Markdown.

    Each says in full whom a policy concerns, what must hold and what happens otherwise, and what its tests say. Without
    --write the page of POLICY, or all of them, are printed.

    Exit codes: 0 made, or up to date; 1 pages are stale, or a file stands in the way; 2 usage; 3 rules or tests do not
    load.
    """
    from oncemore.adapters.cli import written_pages
    from oncemore.rules.errors import FactsInvalid
    from oncemore.rules.pages import INDEX

    if check and write is None:
        raise click.UsageError("--check compares the pages in a folder; name it with --write DIR")
    choice = choose(policies)
    choice.announce()
    try:
        pages = written_pages.pages_of(choice.folder)
    except FactsInvalid as error:
        output.diagnostics(error.diagnostics, err=True)
        ctx.exit(Exit.NOT_LOADED)
    if name is not None:
        if write is not None:
            raise click.UsageError("pages are written and compared all together; leave POLICY out")
        if f"{name}.md" not in pages:
            known = [page.removesuffix(".md") for page in pages if page != INDEX]
            raise click.UsageError(f"there is no policy {name!r}{output.did_you_mean_or_list(name, known)}")
        pages = {name: pages[f"{name}.md"]}
    if write is None:
        output.say("\n".join(pages.values()).rstrip("\n"))
    elif check:
        stale = written_pages.stale(pages, write)
        for file, state in stale.items():
            output.say(f"{file}: {state}")
        output.note(f"{output.many(len(stale), 'page')} stale" if stale else f"{write}: up to date")
        ctx.exit(Exit.NO if stale else Exit.YES)
    else:
        try:
            written = written_pages.write(pages, write)
        except written_pages.Foreign as error:
            for file in error.files:
                output.note(f"{file} is not a page that `oncemore docs` wrote")
            output.note("nothing was written; move these away, or choose another folder")
            ctx.exit(Exit.NO)
        for file in written:
            output.say(str(file))
        output.note(f"{output.many(len(written), 'page')} changed" if written else f"{write}: up to date")
