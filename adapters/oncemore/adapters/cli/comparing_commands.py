"""Which command asks an edited policy about a case that really was? `try`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import format_option, home_option, policies_option
from oncemore.adapters.cli.completing import policy_names
from oncemore.adapters.cli.output import Exit

Record = Mapping[str, Any]


@click.command("try")
@click.argument("policy", metavar="POLICY", shell_complete=policy_names)
@click.option("--request", required=True, metavar="ID", help="The Request whose newest case is asked about.")
@policies_option(before="`policies:` of oncemore.yaml")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@format_option("pretty", "json")
@home_option
@click.pass_context
def try_(
    ctx: click.Context,
    policy: str,
    request: str,
    policies: Path | None,
    lang: str,
    format_: str,
    home: Path | None,
) -> None:
    """Ask an edited policy about a case that really was.

    POLICY is a policy's name, or its file. It is asked alone about the facts of the newest decision on a Request, and
    what is different from what was decided then is told. Nothing is stored and nothing is done. A fact that was not
    read then is unknown now.

    Exit codes: 0 it fires; 1 it does not; 2 usage, no such Request or policy; 3 rules do not load; 4 undecided, the
    deciding reason is unknown evidence.
    """
    from oncemore.adapters.cli.decision_commands import UNDECIDED
    from oncemore.adapters.cli.house import entered, policies_of
    from oncemore.engine import journal_records
    from oncemore.engine.decision import decide
    from oncemore.engine.difference import difference, told
    from oncemore.engine.smoke import publish
    from oncemore.engine.stored_case import case_of
    from oncemore.rules.loading import load_policies

    with entered(home) as house:
        kept = journal_records.newest_pass(request)
        before = journal_records.of_pass(kept)
        case = case_of(journal_records.stored_of(kept))
        if policy.endswith(".yaml"):
            file = Path(policy)
            if not file.is_file():
                there = "is a folder; name a file in it" if file.is_dir() else "is not there"
                raise click.UsageError(f"{policy} {there}")
            loaded = load_policies([file])
            name = loaded.policies[0].name
        else:
            loaded = policies_of(house.configuration, policies)
            name = policy
            if loaded.get(name) is None:
                known = [one.name for one in loaded.policies]
                raise click.UsageError(f"there is no policy {name!r}{output.did_you_mean_or_list(name, known)}")
    [after] = decide(publish(loaded), case, only=name).records
    old = next((record for record in before if record["policy"]["name"] == name), None)
    found = difference(old, after)
    if format_ == "json":
        output.document({"difference": found, "record": after})
    else:
        output.say(output.plain(told(found, after, lang)).rstrip("\n"))  # type: ignore[arg-type]
    if after["outcome"] == "fire":
        ctx.exit(Exit.YES)
    ctx.exit(Exit.UNDECIDED if after["reason"]["kind"] in UNDECIDED else Exit.NO)


def say_changes(request: str, since: int, policy: str | None, lang: str, format_: str) -> None:
    """What is otherwise in the newest decisions on a Request than in those at a time, or in its first ones after it.

    Raises:
        NotFound: nothing was decided on it yet.
    """
    from oncemore.engine import journal_records
    from oncemore.engine.difference import difference, told

    earlier = journal_records.of_pass(journal_records.pass_at(request, since))
    before = {record["policy"]["name"]: record for record in earlier}
    after = journal_records.of_pass(journal_records.newest_pass(request))
    pairs = [(before.get(name), record) for record in after for name in (record["policy"]["name"],)]
    pairs = [
        (old, new)
        for old, new in pairs
        if new["policy"]["name"] == policy
        or (policy is None and any(one is not None and one["outcome"] != "not_concerned" for one in (old, new)))
    ]
    if not pairs:
        if policy is None:
            raise click.UsageError("no policy was concerned")
        asked = sorted({record["policy"]["name"] for record in after})
        raise click.UsageError(f"no decision of policy {policy!r} is there{output.did_you_mean_or_list(policy, asked)}")
    found = [difference(old, new) for old, new in pairs]
    if format_ == "json":
        output.document(found)
        return
    texts = [told(one, new, lang) for one, (_, new) in zip(found, pairs, strict=True)]  # type: ignore[arg-type]
    output.say(output.plain("\n".join(texts)).rstrip("\n"))


def moment(text: str) -> int:
    """A time, or how long ago, as milliseconds since the epoch.

    Raises:
        UsageError: it is neither.
    """
    from oncemore.rules import durations, times

    now = time.time_ns() // 1_000_000
    try:
        return now - durations.parse(text) if text[:1].isdigit() and "T" not in text else times.parse(text)
    except ValueError as error:
        raise click.UsageError(f'--since: {error}, or how long ago, such as "2h"') from None
