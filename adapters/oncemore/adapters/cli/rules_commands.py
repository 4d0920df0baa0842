"""Which commands are there for those who write rules? `check`, `test`, `cases`, `facts`, `schema`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose, format_option, policies_option, written_too
from oncemore.adapters.cli.completing import fact_names, policy_names, schema_names
from oncemore.adapters.cli.output import Exit

if TYPE_CHECKING:
    from oncemore.rules.fact import Fact

PATHS = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("paths", nargs=-1, type=PATHS, metavar="[PATH]...")
@format_option("pretty", "compact", "json", "github", "sarif", "junit", "markdown")
@written_too("junit", "sarif")
@click.pass_context
def check(ctx: click.Context, paths: tuple[Path, ...], format_: str, junit: Path | None, sarif: Path | None) -> None:
    """Say what is wrong or doubtful in rule files.

    PATHs are folders or files; left out: ONCEMORE_POLICIES, else ./policies if it holds a policy, else the shipped
    ones.

    Exit codes: 0 clean; 1 warnings only; 2 usage; 3 errors that keep rules from loading; 5 no rule file there.
    """
    from oncemore.adapters.cli.checking import check_files, rendered, report
    from oncemore.rules.errors import NoPolicies

    looked = list(paths)
    if not looked:
        choice = choose(None)
        choice.announce()
        looked = [choice.folder]
    for left in _passed_over(looked):
        output.note(f"{output.line(str(left))} is passed over: the names of rule files end in .yaml")
    try:
        checked = check_files(looked)
    except NoPolicies as error:
        output.note(f"error[{error.code}] {error}")
        ctx.exit(Exit.NOTHING_RAN)
    # Before anything is printed: whoever reads our output may close it early.
    for form, file in (("junit", junit), ("sarif", sarif)):
        if file is not None:
            output.write_file(file, rendered(checked, form))
    report(checked, format_)
    for folder in _left_beside(looked):
        output.note(f"compared with no other policy of {folder}; `oncemore check {folder}` does that")
    ctx.exit(checked.exit)


def _passed_over(looked: Sequence[Path]) -> list[Path]:
    """Files of the folders that are YAML by their names, and no rule files."""
    folders = [folder for path in looked if path.is_dir() for folder in (path, path / "groups")]
    return [file for folder in folders for file in sorted(folder.glob("[!.]*.yml"))]


def _left_beside(looked: Sequence[Path]) -> list[Path]:
    """Folders of which a policy was looked at, and others that could fire on the same cases were not."""
    from oncemore.rules.folder import policy_files

    files = {path.resolve() for path in looked if path.is_file()}
    folders = dict.fromkeys(path.parent for path in looked if path.is_file())
    given = {path.resolve() for path in looked if path.is_dir()}
    return [
        folder
        for folder in folders
        if folder.resolve() not in given
        and files & {path.resolve() for path in policy_files(folder)}
        and not files >= {path.resolve() for path in policy_files(folder)}
    ]


@click.command()
@click.argument("paths", nargs=-1, type=PATHS, metavar="[PATH]...")
@policies_option(before="those beside the test file")
@click.option("-k", "word", metavar="WORD", help="Only cases whose name or policy holds this word.")
@format_option("pretty", "json", "github", "sarif", "junit", "markdown")
@written_too("junit", "sarif")
@click.option("--coverage", is_flag=True, help="Say which results of gates and which outcomes no test has seen.")
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Fail when tests have seen less of a policy.",
)
@click.option("--mutate", is_flag=True, help="Change the policies in every small way, and say what no test notices.")
@click.option("--watch", is_flag=True, help="Run again whenever a file changes.")
@click.pass_context
def test(
    ctx: click.Context,
    paths: tuple[Path, ...],
    policies: Path | None,
    word: str | None,
    format_: str,
    junit: Path | None,
    sarif: Path | None,
    coverage: bool,
    min_coverage: float | None,
    mutate: bool,
    watch: bool,
) -> None:
    """Run rule tests through the real engine.

    Rule tests stand in `*_test.yaml`.

    PATHs are test files or folders of them; left out: the tests in --policies, else in ONCEMORE_POLICIES, else in
    ./policies if it holds a policy, else those shipped.

    Exit codes: 0 all passed; 1 a case failed or could not be judged, tests saw too little, or a mutant survives;
    2 usage; 3 policies or a test file do not load; 5 no case ran.
    """
    from oncemore.adapters.cli.measuring import measure
    from oncemore.adapters.cli.testing import refuse_others, rendered, report, run_tests

    refuse_others(paths)
    if word is not None and (mutate or coverage or min_coverage is not None):
        raise click.UsageError("what tests hold is measured with all of them: name test files instead of -k")
    if format_ not in ("pretty", "json") and (mutate or coverage or min_coverage is not None):
        raise click.UsageError("what tests hold is told as pretty and json alone; --junit and --sarif can go beside")
    if watch and (format_ != "pretty" or junit is not None or sarif is not None):
        raise click.UsageError("--watch is for a person: leave --format, --junit and --sarif out")

    def once() -> Exit:
        run = run_tests(paths, policies, word)
        measured = measure(run, coverage=coverage or min_coverage is not None, least=min_coverage or 0, mutate=mutate)
        run.measured = measured.exit
        # Before anything is printed: whoever reads our output may close it early.
        for form, file in (("junit", junit), ("sarif", sarif)):
            if file is not None:
                output.write_file(file, rendered(run, form))
        report(run, format_, measured)
        return run.exit

    if not watch:
        ctx.exit(once())
    from oncemore.adapters.cli.watching import watch as watched

    looked = [*paths, *((policies,) if policies is not None else ())] or [choose(policies).folder]
    ctx.exit(watched(_forgiving(once), lambda: [*looked, *(path.parent for path in looked if path.is_file())]))


def _forgiving(once: Callable[[], Exit]) -> Callable[[], Exit]:
    """A run that tells what keeps rules from loading, instead of ending with it."""
    from oncemore.engine.errors import OncemoreError
    from oncemore.rules.errors import RulesError

    def run() -> Exit:
        try:
            return once()
        except (RulesError, OncemoreError) as error:
            output.failure(error)
            return Exit.NOT_LOADED

    return run


@click.command()
@click.argument("name", metavar="POLICY", shell_complete=policy_names)
@policies_option()
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a file instead.")
@click.pass_context
def cases(ctx: click.Context, name: str, policies: Path | None, write: Path | None) -> None:
    """Write tests for the boundaries of a policy.

    From a case on which it fires, each fact takes every value that could matter: all values of an enum, each number of
    a condition with those beside it, missing and stale. What is expected is what the policy says now: read it before
    you keep it. A test file beside the policy gives the case to begin with; it is not changed.

    Exit codes: 0 written; 1 the policy can never fire; 2 usage, or a file that is there already; 3 rules do not load.
    """
    from oncemore.adapters.cli.replacing import create
    from oncemore.adapters.cli.testing import SUFFIX
    from oncemore.adapters.cli.writing_cases import written

    if write is not None and not write.name.endswith(SUFFIX):
        raise click.UsageError(f"tests are named *{SUFFIX}: write {write.with_name(f'{write.stem}{SUFFIX}')}")
    text = written(name, policies, write)
    if text is None:
        output.note(f"{name} can never fire: `oncemore check` says why")
        ctx.exit(Exit.NO)
    if write is None:
        output.say(text.rstrip("\n"))
        return
    try:
        create(write, f"{text}\n".encode())
    except FileExistsError:
        raise click.UsageError(f"{write} is there already; nothing was written") from None
    output.say(str(write))


@click.command()
@click.argument("name", required=False, shell_complete=fact_names)
@format_option("pretty", "json")
@click.pass_context
def facts(ctx: click.Context, name: str | None, format_: str) -> None:
    """Say which facts conditions may name.

    NAME is one of them, of which everything is said, the first part of names, such as `native`, or a value or a word of
    what facts say.

    Exit codes: 0 shown; 2 there is no such fact.
    """
    from oncemore.rules import durations
    from oncemore.rules.examples import EXAMPLES
    from oncemore.rules.vocabulary import FACTS

    chosen = [fact for fact in FACTS.values() if name in (None, fact.name) or fact.name.startswith(f"{name}.")]
    chosen = chosen or [fact for fact in FACTS.values() if name in fact.values or f" {name} " in f" {fact.meaning} "]
    if not chosen:
        near = output.did_you_mean(str(name), FACTS) or "; `oncemore facts` lists all of them"
        output.note(f"error[R302] there is no fact {name!r}{near}")
        ctx.exit(Exit.USAGE)
    if format_ == "json":
        shown = [fact.model_dump(mode="json") | {"example": EXAMPLES[fact.name]} for fact in chosen]
        output.document(shown[0] if name in FACTS else shown)
        return
    if name not in FACTS:
        output.say("\n".join(_listed(chosen)))
        return
    fact = FACTS[str(name)]
    rows = [
        ("for example", EXAMPLES[fact.name]),
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


@click.command()
@click.argument("name", required=False, metavar="[NAME]", shell_complete=schema_names)
@click.option("--write", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write files instead.")
@click.pass_context
def schema(ctx: click.Context, name: str | None, write: Path | None) -> None:
    """Give the JSON Schemas by which editors complete and check rule files.

    NAME is policy, group, test, facts or levels; left out: all of them are listed, or written. Written files replace
    earlier ones.

    Exit codes: 0 given; 2 there is no such schema, or a file cannot be written.
    """
    from oncemore.adapters.cli.replacing import put
    from oncemore.rules.shipped import shipped_schemas

    ending = ".schema.json"
    known = {file.name.removesuffix(ending): file for file in sorted(shipped_schemas().glob(f"*{ending}"))}
    if name is not None and name not in known:
        near = output.did_you_mean(name, known)
        raise click.UsageError(f"there is no schema {name!r}{near}; there are {', '.join(known)}")
    chosen = [known[name]] if name is not None else list(known.values())
    if write is not None:
        try:
            write.mkdir(parents=True, exist_ok=True)
            for file in chosen:
                put(write / file.name, file.read_bytes())
                output.say(str(write / file.name))
        except OSError as error:
            output.note(f"error: {error.filename or write} cannot be written: {error.strerror}")
            ctx.exit(Exit.USAGE)
    elif name is not None:
        output.say(chosen[0].read_text("utf-8").rstrip("\n"))
    else:
        output.say("\n".join(known))


def _listed(chosen: Sequence[Fact]) -> Iterator[str]:
    """Each fact with its values, its meaning and an example beside it, as wide as the terminal."""
    import shutil

    from oncemore.rules.examples import EXAMPLES

    margin = max(len(fact.name) for fact in chosen) + 2
    room = shutil.get_terminal_size((80, 24)).columns - margin
    for fact in chosen:
        values = output.wrapped(", ".join(fact.values) or fact.type, room)
        lines = [*values, *output.wrapped(fact.meaning, room), *output.wrapped(EXAMPLES[fact.name], room)]
        yield f"{fact.name:<{margin}}{lines[0]}"
        yield from (" " * margin + line for line in lines[1:])
