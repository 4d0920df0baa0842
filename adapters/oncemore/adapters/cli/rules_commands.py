"""Which commands are there for those who write rules? `check`, `test`, `facts`."""

from __future__ import annotations

from pathlib import Path

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose, format_option, policies_option
from oncemore.adapters.cli.output import Exit

PATHS = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("paths", nargs=-1, type=PATHS, metavar="[PATH]...")
@format_option("pretty", "compact", "json", "github")
@click.pass_context
def check(ctx: click.Context, paths: tuple[Path, ...], format_: str) -> None:
    """Say what is wrong or doubtful in rule files.

    PATHs are folders or files; without one the usual policies are checked.

    Exit codes: 0 clean; 1 warnings only; 2 usage; 3 errors that keep rules from loading; 5 no rule file there.
    """
    from oncemore.rules.check import check_paths
    from oncemore.rules.diagnostics import render
    from oncemore.rules.errors import NoPolicies

    looked = list(paths)
    if not looked:
        choice = choose(None)
        choice.announce()
        looked = [choice.folder]
    try:
        found = check_paths(looked)
    except NoPolicies as error:
        output.note(f"error[{error.code}] {error}")
        ctx.exit(Exit.NOTHING_RAN)
    if format_ == "json":
        output.say(render(found, "json"))
    elif not found:
        output.note(f"{', '.join(map(str, looked))}: nothing wrong")
    elif format_ == "pretty":
        output.diagnostics(found)
    else:
        output.say(render(found, "compact" if format_ == "compact" else "github"))
        output.note(output.counted(found))
    if any(one.severity == "error" for one in found):
        ctx.exit(Exit.NOT_LOADED)
    ctx.exit(Exit.NO if found else Exit.YES)


@click.command()
@click.argument("paths", nargs=-1, type=PATHS, metavar="[PATH]...")
@policies_option
@click.option("-k", "word", metavar="WORD", help="Only cases whose name or policy holds this word.")
@format_option("pretty", "json")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write JUnit XML.")
@click.pass_context
def test(
    ctx: click.Context,
    paths: tuple[Path, ...],
    policies: Path | None,
    word: str | None,
    format_: str,
    junit: Path | None,
) -> None:
    """Run rule tests through the real engine.

    Rule tests stand in `*_test.yaml`.

    PATHs are test files or folders of them; without one the tests beside the usual policies. A file's policies are
    those of --policies, else those beside it, else the usual ones.

    Exit codes: 0 all passed; 1 a case failed or could not be judged; 2 usage; 3 policies or a test file do not load;
    5 no case ran.
    """
    from oncemore.adapters.cli.testing import report, run_tests, write_junit

    run = run_tests(paths, policies, word)
    # Before anything is printed: whoever reads our output may close it early.
    if junit is not None:
        write_junit(run, junit)
    report(run, format_)
    ctx.exit(run.exit)


@click.command()
@click.argument("name", required=False)
@format_option("pretty", "json")
@click.pass_context
def facts(ctx: click.Context, name: str | None, format_: str) -> None:
    """Say which facts conditions may name.

    NAME is one of them, of which everything is said, or the first part of names, such as `native`.

    Exit codes: 0 shown; 2 there is no such fact.
    """
    from oncemore.rules import durations
    from oncemore.rules.vocabulary import FACTS

    chosen = [fact for fact in FACTS.values() if name in (None, fact.name) or fact.name.startswith(f"{name}.")]
    if not chosen:
        near = output.did_you_mean(str(name), FACTS)
        output.note(f"error[R302] there is no fact {name!r}{near}")
        ctx.exit(Exit.USAGE)
    if format_ == "json":
        shown = [fact.model_dump(mode="json") for fact in chosen]
        output.document(shown[0] if name in FACTS else shown)
        return
    if name not in FACTS:
        output.say(output.columns([(fact.name, ", ".join(fact.values) or fact.type, fact.meaning) for fact in chosen]))
        return
    fact = FACTS[str(name)]
    rows = [
        ("type", fact.type + (f", {fact.unit}" if fact.unit else "")),
        ("values", ", ".join(fact.values)),
        ("no proof", ", ".join(fact.no_proof)),
        ("supplied by", fact.supplied_by),
        ("runtimes", ", ".join(fact.runtimes)),
        ("counts for", "ever" if fact.max_age is None else durations.format_ms(fact.max_age)),
        ("changes", "rises with the clock" if fact.grows else "a person can change it" if fact.changeable else ""),
    ]
    output.say(output.tone(fact.name, "cyan"))
    output.say(f"  {fact.meaning}")
    output.say()
    output.say("\n".join(f"  {line}" for line in output.columns([row for row in rows if row[1]]).splitlines()))
