"""Which commands are there for conversations and the work on them? `ask`, `work`, `requests`, `show`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import HOUSE_POLICIES, format_option, home_option, policies_option
from oncemore.adapters.cli.house import entered, home_argument, note_what_lacks, reading_again_on_hangup, watched

if TYPE_CHECKING:
    pass


@click.command()
@click.argument("workspace")
@click.argument("text")
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Of our own words to you."
)
@home_option
def ask(workspace: str, text: str, lang: str, home: Path | None) -> None:
    """Put a message to a workspace.

    It comes into the App conversation of the workspace; the Request that it makes is printed.

    TEXT may be `-`: it is then read from standard input. A worker (`oncemore work`) has to run for an answer.

    Exit codes: 0 taken in; 1 not taken in; 2 usage, configuration, no such workspace.
    """
    message = output.given(text)
    if not message.strip():
        raise click.UsageError("the message is empty")
    from oncemore.engine.errors import NotFound

    with entered(home) as house:
        known = house.configuration.workspaces
        if workspace not in known:
            raise NotFound(f"there is no workspace {workspace!r}{output.did_you_mean(workspace, known)}")
        output.say(house.ask(workspace, message, language=lang))
        note_what_lacks(house, home)


@click.command()
@click.option("--once", is_flag=True, help="Stop when nothing is due any more.")
@policies_option(before=HOUSE_POLICIES)
@click.option("--log", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How it is told.")
@home_option
def work(once: bool, policies: Path | None, log: str, home: Path | None) -> None:
    """Do what is due.

    Turns are run, answers delivered, and what ended unfinished is judged.

    The folder of policies is followed: what is edited there comes into force when it loads and has stood still, or at
    once on SIGHUP; else the last good set stays.

    Prints a line for each thing done, with `--log json` a JSON object, never what somebody wrote. SIGINT or SIGTERM
    lets what runs end, then stops; a second one stops at once, and the next worker settles what was left.

    Exit codes: 0 stopped; 2 usage, configuration, or another worker has the journal; 3 rules do not load.
    """
    from oncemore.adapters.api.logs import logged as logged_as_json
    from oncemore.adapters.cli.progress import Progress, logged
    from oncemore.adapters.tracing import traced
    from oncemore.adapters.wiring import context
    from oncemore.engine.worker import Worker

    stop = threading.Event()
    with entered(home, worker=True) as house:
        watch = watched(house, policies)
        note_what_lacks(house, home)
        progress = Progress(house.journal.now().ms, as_json=log == "json")
        poll, retention = house.configuration.worker.poll, house.retention()
        if not once:
            output.note(f"working on {house.configuration.journal}; Ctrl-C stops")
        with (
            logged_as_json() if log == "json" else logged(),
            traced() as observer,
            _stopping_on_signals(stop),
            reading_again_on_hangup(watch),
            watch.followed(),
            Worker(context(house, watch.rules, progress.checkpoint, observer), poll, watch, retention) as worker,
        ):
            if once:
                while worker.run_due(stop):
                    progress.tell()
            else:
                worker.run(stop, progress.tell)


@click.command()
@click.option(
    "--state",
    default="open",
    show_default=True,
    type=click.Choice(["open", "answered", "stopped", "superseded", "all"]),
)
@format_option("pretty", "json")
@home_option
def requests(state: str, format_: str, home: Path | None) -> None:
    """Say how each Request stands.

    What it does, since when, what stops it, until when, and the command that helps.

    Exit codes: 0 shown; 2 usage, configuration.
    """
    from oncemore.rules import times

    with entered(home) as house:
        from oncemore.adapters.standing import standings

        found = standings(state, home_argument(home), house.journal.now().ms, worked=house.journal.worked())
    if format_ == "json":
        output.document([one.as_json() for one in found])
        return
    if not found:
        output.note("no request" if state == "all" else f"no request is {state}")
        return
    rows = [("REQUEST", "WORKSPACE", "DOES", "SINCE", "STOPPED BY", "UNTIL", "HELPS")]
    for one in found:
        until = "" if one.until is None else times.format_ms(one.until)
        gate = one.gate or ""
        doing = one.doing if one.running_for is None else f"{one.doing} {one.running_for}"
        row = (one.request, one.workspace, doing, times.format_ms(one.since), gate, until, one.helps)
        rows.append(output.lined(row))
    output.say(output.columns(rows))


@click.command()
@click.argument("request")
@format_option("pretty", "json")
@home_option
def show(request: str, format_: str, home: Path | None) -> None:
    """Show a REQUEST as a timeline.

    Exit codes: 0 shown; 2 usage, configuration, no such Request.
    """
    with entered(home):
        from oncemore.adapters.cli.timeline import render
        from oncemore.adapters.timeline import timeline

        told = timeline(request)
        if format_ == "json":
            output.document(told)
        else:
            output.say(render(told))


@contextmanager
def _stopping_on_signals(stop: threading.Event) -> Iterator[None]:
    """The first signal asks to stop, the second one has the effect that it had before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def asked(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        restore()
        output.note("stopping when what runs has ended; once more stops at once")

    for number in before:
        signal.signal(number, asked)
    try:
        yield
    finally:
        restore()
