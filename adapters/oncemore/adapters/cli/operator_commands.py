"""Which commands let an operator step in, and check? `stop`, `release`, `levels`, `verify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import HOUSE_POLICIES, format_option, home_option, policies_option
from oncemore.adapters.cli.completing import policy_names
from oncemore.adapters.cli.house import entered, home_argument, policies_of
from oncemore.adapters.cli.output import Exit

if TYPE_CHECKING:
    from oncemore.engine.intake import Saw
    from oncemore.rules.loading import PolicySet


def reasoned(_ctx: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """A reason as it was given; one without words is a usage error."""
    if text is not None and not text.strip():
        raise click.BadParameter("a reason has words")
    return text if text is None else output.utf8(text)


@click.command()
@click.argument("request")
@click.option("--why", required=True, callback=reasoned, metavar="TEXT", help="The reason; it is recorded.")
@home_option
def stop(request: str, why: str, home: Path | None) -> None:
    """Stop a REQUEST.

    What waits never starts, what runs is interrupted, only the stop itself is answered.

    Exit codes: 0 stopped; 1 it has already ended; 2 usage, configuration, no such Request.
    """
    from oncemore.engine import intake

    with entered(home) as house:
        intake.stop(house.journal, request, "operator", why)
    output.say(f"{request} stopped")


@click.command()
@click.argument("request")
@click.option("--why", required=True, callback=reasoned, metavar="TEXT", help="The reason; it is recorded.")
@click.option("--delivered", "saw", flag_value="delivered", help="You saw that the uncertain reply arrived.")
@click.option("--not-delivered", "saw", flag_value="not-delivered", help="You saw that it did not; it is sent again.")
@click.option("--ran", "saw", flag_value="ran", help="You saw that the uncertain start ran.")
@click.option("--did-not-run", "saw", flag_value="did-not-run", help="You saw that it did not run.")
@click.option("--close", is_flag=True, help="End the Request as answered by hand.")
@home_option
def release(request: str, why: str, saw: Saw | None, close: bool, home: Path | None) -> None:
    """Release a held REQUEST.

    It is due now, and every gate is judged afresh. No gate is overridden and no attempt given back. One that is not
    held is looked at again now.

    Exit codes: 0 released, or looked at again; 1 it has ended, a Turn of it runs, or nothing of it is uncertain in that
    way; 2 usage, configuration, no such Request.
    """
    from oncemore.engine import intake

    with entered(home) as house:
        held = _held(request, home) if saw is None else True
        intake.release(house.journal, request, why, saw=saw, close=close)
    if close:
        output.say(f"{request} closed")
    else:
        output.say(f"{request} released" if held else f"{request} was not held; looked at again now")


def _held(request: str, home: Path | None) -> bool:
    """Whether a Request is held.

    Raises:
        Conflict: it is not, and a Turn of it runs: there is nothing to release.
    """
    from oncemore.engine.errors import Conflict
    from oncemore.engine.facts import STARTED
    from oncemore.engine.tables import Request, Turn

    row = Request.get_or_none(Request.id == request)
    if row is None or row.held is not None:
        return True
    running = Turn.select().where(Turn.request == request, Turn.status.in_(STARTED), Turn.ended_at.is_null())
    if row.state == "open" and running.exists():
        stop = f"oncemore stop{home_argument(home)} {request} --why TEXT"
        raise Conflict(f"{request} is not held, a Turn of it runs; `{stop}` ends it")
    return False


@click.command()
@click.argument("policy", required=False, shell_complete=policy_names)
@click.argument("level", required=False, type=click.Choice(["off", "shadow", "advise", "enforce"]))
@click.option("--why", callback=reasoned, metavar="TEXT", help="The reason for a change; it is recorded.")
@click.option("--until", metavar="TIME", help="When it ends: a time, or a duration from now such as 8h.")
@policies_option(before=HOUSE_POLICIES)
@format_option("pretty", "json")
@home_option
def levels(
    policy: str | None,
    level: str | None,
    why: str | None,
    until: str | None,
    policies: Path | None,
    format_: str,
    home: Path | None,
) -> None:
    """Show or change at which level policies work.

    `off`: not evaluated; `shadow`: decided and recorded; `advise`: put before the operator; `enforce`: done.

    POLICY alone shows that one. Before the first start it is shown what the levels file says; to look changes nothing.

    Exit codes: 0 shown or changed; 2 usage, configuration, no such policy; 3 rules do not load.
    """
    from oncemore.adapters import given_levels
    from oncemore.adapters.configuration import find, load_configuration
    from oncemore.engine import levels as journal_levels
    from oncemore.engine.allowance_tables import LevelChange
    from oncemore.rules.levels import load_levels

    if level is None and (why is not None or until is not None):
        raise click.UsageError("--why and --until belong to a change; name POLICY and LEVEL")
    configuration = load_configuration(find(home))
    loaded = policies_of(configuration, policies)
    names = [one.name for one in loaded.policies]
    if policy is not None and policy not in names:
        raise click.UsageError(f"there is no policy {policy!r}{output.did_you_mean_or_list(policy, names)}")
    if level is not None and why is None:
        raise click.UsageError("a change needs --why TEXT")
    written = {} if configuration.levels is None else load_levels(configuration.levels)
    if level is None and _unbegun(configuration.journal):
        rows = _first_levels(names, written)
    else:
        with entered(home) as house, house.journal.transaction():
            now = house.journal.advance_clock().ms
            if policy is not None and level is not None and why is not None:
                # As the worker does at its first start: a change must not keep the file from filling a new journal.
                journal_levels.fill(written, now)
                ends = None if until is None else _ends(until, now)
                journal_levels.change(policy, level, who=operator(), why=why, at=now, until=ends)
            begun = LevelChange.select().exists()
            rows = [given_levels.told(name, now) for name in names] if begun else _first_levels(names, written)
    at = {str(row["policy"]): str(row["level"]) for row in rows}
    # What somebody has changed on purpose is no surprise.
    kept = {str(row["policy"]) for row in rows if row["who"] in (None, "levels file")}
    _tell_levels(at, {name: level for name, level in written.items() if name in kept}, loaded)
    if level is None and policy is not None:
        rows = [row for row in rows if row["policy"] == policy]
    if format_ == "json":
        output.document(rows)
        return
    head = ("POLICY", "LEVEL", "SINCE", "UNTIL", "WHO", "WHY")
    keys = ("policy", "level", "since", "until", "who", "why")
    output.say(output.columns([head, *(tuple(output.line(row[key] or "") for key in keys) for row in rows)]))


def _unbegun(journal: Path | str) -> bool:
    """Whether there is no journal yet and nothing keeps it from being made; never said of one on a server."""
    import os

    from oncemore.adapters.cli.journal_trouble import in_the_way

    if isinstance(journal, str):
        return False
    try:
        return not os.path.lexists(journal) and in_the_way(journal) is None
    except OSError:
        return False


def _first_levels(names: Sequence[str], written: Mapping[str, str]) -> list[dict[str, str | None]]:
    """The levels at which policies will be when a worker starts for the first time."""
    from oncemore.engine.levels import DEFAULT

    return [
        {
            "policy": name,
            "level": written.get(name, DEFAULT),
            "since": None,
            "until": None,
            "who": "levels file" if name in written else None,
            "why": "before the first start" if name in written else "nobody has set it",
        }
        for name in names
    ]


def _tell_levels(at: Mapping[str, str], written: Mapping[str, str], loaded: PolicySet) -> None:
    """What may surprise: a file that says otherwise than the record, and policies that keep each other from acting."""
    from oncemore.rules.cells import Undecided
    from oncemore.rules.rivals import Rivals

    for name, level in at.items():
        if written.get(name, level) != level:
            output.note(
                f"levels.yaml says {written[name]} for {name}; it was read at the first start, and the record counts: "
                f"oncemore levels {name} {written[name]} --why TEXT"
            )
    acting = [policy for policy in loaded.policies if at[policy.name] == "enforce"]
    rivals = Rivals(acting)
    for first, second in combinations(sorted(policy.name for policy in acting), 2):
        try:
            overlapping = rivals.both_fire(first, second) is not None
        except Undecided:
            overlapping = False
        if overlapping:
            output.note(f"{first} and {second} can both fire on one case, and then neither acts; see R408 of `check`")


@click.command()
@click.argument("request", required=False)
@home_option
@click.pass_context
def verify(ctx: click.Context, request: str | None, home: Path | None) -> None:
    """Check that the recorded history is whole.

    Nobody has changed, removed or inserted an event of any Request, or of the one named.

    Exit codes: 0 every chain is whole; 1 one is broken; 2 usage, configuration; 5 there is no Request.
    """
    with entered(home):
        from oncemore.engine.events import verify as broken
        from oncemore.engine.tables import Event, Request

        ids = {row.id for row in Request.select(Request.id)} | {
            row.request for row in Event.select(Event.request).distinct()
        }
        checked = sorted(ids if request is None else ids & {request})
        found = [sentence for one in checked if (sentence := broken(one)) is not None]
    for sentence in found:
        output.say(output.line(sentence))
    if not checked:
        output.note("there is no request to check" if request is None else f"there is no request {request}")
        ctx.exit(Exit.NOTHING_RAN if request is None else Exit.USAGE)
    output.note(f"{output.many(len(checked), 'chain')} checked, {len(found)} broken")
    ctx.exit(Exit.NO if found else Exit.YES)


def _ends(text: str, now: int) -> int:
    from oncemore.adapters import given_levels

    try:
        return given_levels.ends(text, now)
    except ValueError as error:
        raise click.UsageError(f"--until {error}") from None


def operator() -> str:
    """Who is at the terminal, by the system's word."""
    import getpass

    try:
        return f"operator {getpass.getuser()}"
    except (KeyError, OSError):
        return "operator"
