"""Which commands let an operator say how much is done? `act` on what is only advised, and the `breaker`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import format_option, home_option
from oncemore.adapters.cli.completing import policy_names
from oncemore.adapters.cli.house import entered, home_argument
from oncemore.adapters.cli.operator_commands import operator, reasoned


@click.command()
@click.argument("request")
@click.option("--why", required=True, callback=reasoned, metavar="TEXT", help="The reason; it is recorded.")
@click.option("--policy", shell_complete=policy_names, metavar="NAME", help="Which, where more than one advises.")
@home_option
def act(request: str, why: str, policy: str | None, home: Path | None) -> None:
    """Act on what a policy at `advise` would do for a REQUEST.

    Everything is judged afresh, now and again before a model is started. No gate is overridden: when the policy no
    longer fires, nothing is done, and `requests` says why.

    Exit codes: 0 a worker judges it now; 1 nothing is advised on it; 2 usage, configuration, no such Request.
    """
    from oncemore.engine import advice
    from oncemore.engine.errors import Conflict

    with entered(home) as house:
        offers = [offer.policy for offer in advice.waiting(request)]
        if policy is None and len(offers) > 1:
            raise Conflict(f"more than one policy advises on {request}; name one with --policy: {', '.join(offers)}")
        advice.act(house.journal, request, policy or next(iter(offers), "no policy"), operator(), why)
    output.say(f"{request} is judged again, for {policy or offers[0]} to act")


@click.command()
@click.argument("change", required=False, type=click.Choice(["open", "close"]))
@click.option("--why", callback=reasoned, metavar="TEXT", help="The reason for a change; it is recorded.")
@format_option("pretty", "json")
@home_option
def breaker(change: str | None, why: str | None, format_: str, home: Path | None) -> None:
    """Show the breaker and the budgets, or open or close the breaker.

    While it is open no recovery begins: what would act waits, and spends nothing. People's own messages run as always.
    It opens by itself when recoveries fail as often as `budgets:` of oncemore.yaml says, and is closed by a person.

    Exit codes: 0 shown or changed; 1 it is open, or closed, already; 2 usage, configuration.
    """
    from oncemore.engine import breaker as engine_breaker

    if (change is None) != (why is None):
        raise click.UsageError("a change needs --why TEXT" if why is None else "--why belongs to `open` or `close`")
    with entered(home) as house:
        if change == "open":
            engine_breaker.open_by_hand(house.journal, who=operator(), why=str(why))
        elif change == "close":
            waited = engine_breaker.close(house.journal, who=operator(), why=str(why))
            output.note(f"{output.many(waited, 'request')} waited for it and {'is' if waited == 1 else 'are'} due now")
        from oncemore.adapters import allowances

        told = allowances.told(house.configuration, house.journal.now().ms)
    if format_ == "json":
        output.document(told)
        return
    output.say(_sentence(told["breaker"], home))
    if told["budgets"]:
        rows = [("BUDGET", "USED", "OF", "WAITING"), *(_row(one) for one in told["budgets"])]
        output.say()
        output.say(output.columns([output.lined(row) for row in rows]))


def _sentence(told: dict[str, str | None], home: Path | None) -> str:
    if told["since"] is None:
        return "the breaker is closed; it never opened"
    said = output.line(f"the breaker is {told['state']} since {told['since']}, {told['who']}: {told['why']}")
    if told["state"] == "closed":
        return said
    return f"{said}\nno recovery begins; when its cause is gone: oncemore breaker{home_argument(home)} close --why TEXT"


def _row(one: dict[str, Any]) -> tuple[str, str, str, str]:
    return one["budget"], str(one["used"]), str(one["limit"]), str(one["waiting"])
