"""Which command says what is kept no longer, and drops it? `retention`."""

from __future__ import annotations

from pathlib import Path

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import format_option, home_option
from oncemore.adapters.cli.house import entered


@click.command()
@click.option("--older-than", metavar="AGE", help="Such as 90d. Left out: `retention:` of oncemore.yaml.")
@click.option("--drop", is_flag=True, help="Drop it now; else it is only counted.")
@format_option("pretty", "json")
@home_option
def retention(older_than: str | None, drop: bool, format_: str, home: Path | None) -> None:
    """Count what is kept no longer, or drop it.

    Messages, answers, prompts and notices of Requests that ended so long ago lose their bodies; digests and lengths
    stay, and the history verifies as before. A worker does this by itself every hour where `retention:` stands in
    oncemore.yaml. A text's last use is known to a day, so it goes up to a day later. Nothing of an open Request is
    dropped. Decisions on cases that were last posted so long ago go whole.

    Exit codes: 0 counted or dropped; 2 usage, configuration.
    """
    from oncemore.adapters import native_log
    from oncemore.adapters.written_values import age
    from oncemore.engine import retention as engine_retention

    with entered(home) as house:
        keep, keep_posted = house.configuration.keep_texts, house.configuration.keep_posted
        if older_than is not None:
            try:
                keep = keep_posted = age(older_than)
            except ValueError as error:
                raise click.UsageError(f"--older-than: {error}") from None
        if keep is None and keep_posted is None:
            raise click.UsageError("everything is kept; say --older-than AGE, or `retention: {texts: 90d}`")
        now = house.journal.now().ms
        found, posted = engine_retention.Dropped(0, 0), 0
        if keep is not None:
            found = engine_retention.drop(house.journal, now - keep, only_count=not drop)
            if drop:
                native_log.drop_in([entry.home for entry in house.configuration.runtimes.values()], now - keep)
        if keep_posted is not None:
            posted = engine_retention.drop_posted(house.journal, now - keep_posted, only_count=not drop)
    if format_ == "json":
        output.document({"dropped": drop, "texts": found.texts, "characters": found.characters, "posted": posted})
        return
    said = (
        f"{output.many(found.texts, 'text')} of {output.many(found.characters, 'character')} "
        f"and the decisions on {output.many(posted, 'posted case')}"
    )
    output.say(f"{said} dropped" if drop else f"{said} would be dropped; --drop does it")
