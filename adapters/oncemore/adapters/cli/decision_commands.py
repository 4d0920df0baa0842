"""Which commands decide a case, or say why it was decided so? `decide`, `explain`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose, home_option, policies_option
from oncemore.adapters.cli.completing import policy_names
from oncemore.adapters.cli.output import Exit
from oncemore.adapters.cli.telling import Telling, concerned, without_gates

if TYPE_CHECKING:
    from oncemore.adapters.supposing import Supposing
    from oncemore.engine.decision import Pass

UNDECIDED = ("evidence_missing", "evidence_stale", "evidence_conflict", "when_unknown", "rival_undecided")
"""Reasons that say that evidence, not the case itself, kept a policy from an answer."""

Record = Mapping[str, Any]


def _facts_option(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--facts",
        "facts_file",
        required=required,
        type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
        metavar="FILE",
        help="The case, YAML or JSON: now, facts, missing, stale, conflict, waiting_since. `-` is standard input.",
    )


@click.command()
@_facts_option(required=True)
@click.option(
    "--policy", metavar="NAME", shell_complete=policy_names, help="Ask this policy alone, without competition."
)
@policies_option()
@click.option("--levels", is_flag=True, help="Let policies compete by the levels.yaml of their folder.")
@click.option(
    "--format", "format_", type=click.Choice(["json", "pretty"]), help="Default: pretty on a terminal, else json."
)
@click.pass_context
def decide(
    ctx: click.Context, facts_file: Path, policy: str | None, policies: Path | None, levels: bool, format_: str | None
) -> None:
    """Decide one case from a file. Nothing is stored and nothing is done.

    Exit codes: 0 fire; 1 wait, hold, deny or not concerned; 2 usage or a bad facts file; 3 rules do not load;
    4 undecided, the deciding reason is unknown evidence; 70 a bug in Oncemore.
    """
    decided = _decided(facts_file, policy, policies, levels)
    if (format_ or ("pretty" if output.on_terminal() else "json")) == "json":
        output.say(decided.json().decode())
    else:
        _say_explained(decided.records, Telling(), narrowed=False)
    ctx.exit(_exit(decided))


@click.command()
@click.argument("decision", required=False)
@click.option("--request", metavar="ID", help="The newest decisions on a Request.")
@_facts_option(required=False)
@click.option("--policy", metavar="NAME", shell_complete=policy_names, help="Only this policy's decision.")
@click.option("--nearest", is_flag=True, help="Also the least that would have to change for it to fire.")
@click.option(
    "--since",
    metavar="T",
    help="With --request: what changed since then. A time such as 2026-01-31T12:00:00Z, or how long ago, such as 2h.",
)
@click.option("--evidence", is_flag=True, help="Also what was read, and from where, for gates that pass.")
@click.option("--all-gates", is_flag=True, help="The gates of policies that are not concerned as well.")
@policies_option()
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option("--audience", type=click.Choice(["operator", "user", "agent"]), default="operator", show_default=True)
@click.option(
    "--format", "format_", type=click.Choice(["pretty", "json", "markdown"]), default="pretty", show_default=True
)
@home_option
def explain(
    decision: str | None,
    request: str | None,
    facts_file: Path | None,
    policy: str | None,
    nearest: bool,
    since: str | None,
    evidence: bool,
    all_gates: bool,
    policies: Path | None,
    lang: str,
    audience: str,
    format_: str,
    home: Path | None,
) -> None:
    """Say why something was done, or was not.

    DECISION is a decision's id or the beginning of one. Stored decisions are shown from what was stored: nothing is
    evaluated again. --nearest supposes that a person changes something, or that time passes, and asks the engine
    whether the policy fires then. --policies is for --facts.

    Exit codes: 0 shown; 1 the stored decision can no longer be shown or asked about; 2 usage, no such decision, a bad
    facts file; 3 rules do not load.
    """
    if sum(given is not None for given in (decision, request, facts_file)) != 1:
        raise click.UsageError("name one of DECISION, --request ID and --facts FILE")
    if not (decision or request or facts_file):
        raise click.UsageError(f"{'DECISION' if decision is not None else '--request'} is empty: name one")
    if since is not None and (request is None or nearest or audience == "user"):
        raise click.UsageError("--since is for --request, for operators and agents, and without --nearest")
    if nearest and audience == "user":
        raise click.UsageError("--nearest names facts and gates, which are not for the person who asked")
    from oncemore.adapters.supposing import of_pass, of_stored

    supposing: Supposing | None = None
    if facts_file is not None:
        # Beside the others, as it was asked for a stored decision: `decide --policy` asks one alone.
        decided = _decided(facts_file, None, policies, levels=False, known=policy)
        records: Iterable[Record] = decided.records
        if nearest:
            supposing = of_pass(decided.stored, decided.plans.values())
    else:
        from oncemore.adapters.cli.comparing_commands import moment, say_changes
        from oncemore.adapters.cli.house import entered
        from oncemore.engine import journal_records

        with entered(home):
            if since is not None:
                say_changes(str(request), moment(since), policy, lang, format_)
                return
            if decision is not None:
                kept, whole = journal_records.pass_of(decision)
            else:
                kept, whole = journal_records.newest_pass(str(request)), ""
            every = journal_records.of_pass(kept)
            records = [record for record in every if whole in ("", record["decision_id"])]
            if nearest:
                supposing = of_stored(journal_records.stored_of(kept), journal_records.texts_of)
    chosen = [record for record in records if policy in (None, record["policy"]["name"])]
    if not chosen:
        asked = sorted({record["policy"]["name"] for record in records})
        raise click.UsageError(
            f"no decision of policy {policy!r} is there{output.did_you_mean_or_list(str(policy), asked)}"
        )
    told = Telling(lang, audience, format_, evidence=evidence, supposing=supposing)
    _say_explained(chosen, told, narrowed=bool(policy), all_gates=all_gates)


def _say_explained(records: Iterable[Record], telling: Telling, *, narrowed: bool, all_gates: bool = False) -> None:
    """Tell decisions: all of those named by a policy, else those of the policies that the case concerns."""
    shown = list(records) if narrowed else concerned(records)
    if not shown:
        output.note("no policy was asked: every one is off")
    elif all_gates or telling.format == "json":
        telling.tell(shown)
    else:
        telling.tell([without_gates(record) for record in shown])


def _decided(file: Path, policy: str | None, policies: Path | None, levels: bool, *, known: str | None = None) -> Pass:
    """The decision on a facts file.

    Args:
        policy: this one alone.
        known: a policy that has to be there.
    """
    from oncemore.engine.decision import decide
    from oncemore.engine.evaluation import Evaluator
    from oncemore.rules.cases import facts_from_bytes, load_facts
    from oncemore.rules.levels import load_levels
    from oncemore.rules.loading import load_policies
    from oncemore.rules.source import MAX_BYTES

    choice = choose(policies)
    choice.announce()
    loaded = load_policies([choice.folder])
    if policy is not None and loaded.get(policy) is None:
        names = [one.name for one in loaded.policies]
        raise click.UsageError(f"there is no policy {policy!r}{output.did_you_mean_or_list(policy, names)}")
    at = load_levels(Path(loaded.directory) / "levels.yaml") if levels else None
    now = time.time_ns() // 1_000_000
    stdin = str(file) == "-"
    case = facts_from_bytes(output.from_stdin(MAX_BYTES), "<stdin>", now) if stdin else load_facts(file, now)
    # The shipped policies were tried with the engine when they were released; others are tried in another process now.
    if choice.shipped:
        evaluator = Evaluator(loaded.policies)
    else:
        from oncemore.engine.smoke import publish

        evaluator = publish(loaded)
    return decide(evaluator, case, stage="asked", origin="posted", levels=at, only=policy)


def _exit(decided: Pass) -> Exit:
    if decided.fired is not None:
        return Exit.YES
    deciding = [record["reason"]["kind"] for record in decided.records if record["outcome"] == decided.outcome.value]
    if "fault" in deciding:
        return Exit.BUG
    return Exit.UNDECIDED if any(kind in UNDECIDED for kind in deciding) else Exit.NO
