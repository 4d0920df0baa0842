"""Which command shows what policies that only watch would have done? `shadow`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import HOUSE_POLICIES, format_option, home_option, policies_option
from oncemore.adapters.cli.completing import policy_names
from oncemore.adapters.cli.house import entered, policies_of

if TYPE_CHECKING:
    from oncemore.engine.hindsight import Would

ENDED = {
    "wrote_again": "the person wrote again",
    "other_policy": "{by} acted",
    "same_policy": "it acted itself later",
    "operator_acted": "an operator acted",
    "stopped": "stopped by the {by}",
    "closed": "closed by hand",
    "answered": "answered",
    "open": "open",
}
"""What became of a conversation, in words."""


@click.command()
@click.argument("policy", required=False, shell_complete=policy_names)
@click.option("--since", default="168h", show_default=True, metavar="TIME", help="A time, or so long before now.")
@click.option("--until", metavar="TIME", help="A time, or so long before now; left out: now.")
@policies_option(before=HOUSE_POLICIES)
@format_option("pretty", "json")
@home_option
def shadow(
    policy: str | None, since: str, until: str | None, policies: Path | None, format_: str, home: Path | None
) -> None:
    """Show what POLICY, or every one, would have done.

    Of policies at `shadow` or `advise`: each Request on which one fired, and what became of that conversation since.

    Exit codes: 0 shown; 2 usage, configuration, no such policy; 3 rules do not load.
    """
    from oncemore.engine.hindsight import would_have
    from oncemore.rules import times

    with entered(home) as house:
        loaded = policies_of(house.configuration, policies)
        names = [one.name for one in loaded.policies]
        if policy is not None and policy not in names:
            raise click.UsageError(f"there is no policy {policy!r}{output.did_you_mean(policy, names)}")
        now = house.journal.now().ms
        begins, ends = _moment("--since", since, now), now + 1 if until is None else _moment("--until", until, now)
        if begins >= ends:
            raise click.UsageError("--since lies behind --until")
        found = would_have(names if policy is None else [policy], begins, ends)
    if format_ == "json":
        output.document([_told(one) for one in found])
        return
    if not found:
        output.note("no policy that only watches fired in that time")
        return
    rows = [("POLICY", "LEVEL", "WOULD HAVE ACTED", "ON", "SINCE THEN", "AT")]
    for one in found:
        ended = ENDED[one.ended].format(by=one.by) + (", still fires" if one.still_fires else "")
        at = "" if one.ended_at is None else times.format_ms(one.ended_at)
        rows.append((one.policy, one.level, times.format_ms(one.at), one.request, output.line(ended), at))
    output.say(output.columns(rows))
    for name in sorted({one.policy for one in found}):
        output.note(_summed(name, [one for one in found if one.policy == name]))


def _summed(name: str, found: list[Would]) -> str:
    counts = Counter(one.ended for one in found)
    parts = [
        f"{count} {ENDED[ended].format(by='other policies' if ended == 'other_policy' else 'person')}"
        for ended, count in counts.most_common()
    ]
    return f"{name} would have acted on {output.many(len(found), 'request')}: {', '.join(parts)}"


def _told(one: Would) -> dict[str, object]:
    from oncemore.rules import times

    ended_at = None if one.ended_at is None else times.format_ms(one.ended_at)
    return asdict(one) | {"at": times.format_ms(one.at), "ended_at": ended_at}


def _moment(option: str, text: str, now: int) -> int:
    from oncemore.rules import durations, times

    try:
        return max(0, now - durations.parse(text))
    except ValueError:
        pass
    try:
        return times.parse(text)
    except ValueError:
        raise click.UsageError(
            f"{option}: {text!r} is neither a duration such as 24h nor a time such as 2026-11-30T12:00:00Z"
        ) from None
