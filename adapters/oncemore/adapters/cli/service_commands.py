"""Which commands run the service, and give out its keys? `serve`, `keys`."""

from __future__ import annotations

import json
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import HOUSE_POLICIES, format_option, home_option, policies_option
from oncemore.adapters.cli.house import entered, home_argument, note_what_lacks, reading_again_on_hangup, watched

if TYPE_CHECKING:
    from oncemore.adapters.api.keys import Keys, Scope
    from oncemore.adapters.wiring import House

SCOPES = ("read", "decide", "act", "admin")


@click.command()
@click.option("--host", metavar="ADDRESS", help="Where to listen; else `serve: host`, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; else `serve: port`, else 8711. 0: any.")
@click.option(
    "--demo", is_flag=True, help="Serve the demo: a real Codex before a scripted model, in a folder of its own."
)
@click.option("--codex", type=click.Path(path_type=Path), metavar="PATH", help="With --demo: the Codex program.")
@policies_option(before=HOUSE_POLICIES)
@home_option
def serve(
    host: str | None, port: int | None, demo: bool, codex: Path | None, policies: Path | None, home: Path | None
) -> None:
    """Serve the API and the page, and do what is due.

    The first start makes a key for everything and prints it, once. SIGINT or SIGTERM lets what runs end, then stops; a
    second one stops at once, and the next start settles what was left. The log is JSON, on standard error.

    With --demo, --home is the folder that the demo plays in (oncemore-demo), which it empties first.

    Exit codes: 0 stopped; 1 the demo cannot be played; 2 usage, configuration, the address is taken, or another worker
    has the journal; 3 rules do not load.
    """
    _installed()
    from oncemore.adapters.api.logs import logged
    from oncemore.adapters.api.metrics import Metrics
    from oncemore.adapters.api.service import Service
    from oncemore.adapters.api.serving import first_key, listen
    from oncemore.adapters.api.serving import serve as serve_until_told
    from oncemore.adapters.tracing import traced
    from oncemore.adapters.wiring import context
    from oncemore.engine.crashpoints import Checkpoint, unobserved

    if demo and policies is not None:
        raise click.UsageError("the demo has its own policies; leave --policies out")
    if codex is not None and not demo:
        raise click.UsageError("--codex belongs to --demo; otherwise oncemore.yaml names the program")
    with ExitStack() as stack:
        checkpoint: Checkpoint = unobserved
        if demo:
            from oncemore.adapters.demo.served import staged

            home, checkpoint = stack.enter_context(staged(home or Path("oncemore-demo"), codex))
        house = stack.enter_context(entered(home, worker=True))
        watch = watched(house, policies)
        configured = house.configuration.serve
        listening = listen(host or configured.host, configured.port if port is None else port)
        stack.callback(listening.close)
        _note_a_new_pepper(house)
        service = Service(house, watch.rules)
        stack.callback(service.close)
        watch.told.append(service.replace_rules)
        metrics = Metrics(house.gauges, lambda: watch.rules.trouble)
        service.metrics = metrics.told
        _tell(house, first_key(service), listening.getsockname(), home, demo=demo)
        if not demo:
            note_what_lacks(house, home)
        stack.enter_context(logged())
        stack.enter_context(reading_again_on_hangup(watch))
        working = context(house, watch.rules, checkpoint, stack.enter_context(traced(metrics)))
        serve_until_told(
            service,
            working,
            listening,
            watch=watch,
            stopping=lambda: output.note("stopping when what runs has ended; once more stops at once"),
        )


def _tell(house: House, token: str | None, address: tuple[str, int], home: Path | None, *, demo: bool) -> None:
    """Where the service is, and on the first start how it is called."""
    name = f"[{address[0]}]" if ":" in address[0] else address[0]
    url = f"http://{name}:{address[1]}"
    output.say(f"page: {url}/")
    if token is None:
        output.say(f"keys: oncemore keys{home_argument(home)} list")
        return
    output.say(f"key:  {token}")
    output.note("this key is for everything and is not shown again; `oncemore keys add` makes others")
    workspace = next(iter(house.configuration.workspaces), None)
    if workspace is not None:
        text = "Please say hello."
        if demo:
            from oncemore.adapters.demo.script import MESSAGE as text  # noqa: N811
        body = shlex.quote(json.dumps({"workspace": workspace, "text": text, "message": "first"}))
        output.say(
            f"curl: curl -sS {url}/v1/requests -H 'Authorization: Bearer {token}' "
            f"-H 'Content-Type: application/json' -d {body}"
        )


@click.group()
def keys() -> None:
    """Make, list and revoke keys to the service.

    A key has one or more scopes: `read` what is kept; `decide` posted cases; `act`: post messages, stop, release, keep
    posted decisions, act on advice; `admin`: change levels, on the page the breaker too.

    Exit codes: 0 done; 1 it cannot be; 2 usage, configuration, no such key.
    """


@keys.command("add")
@click.argument("name")
@click.option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES), help="What it is for; several times."
)
@click.option("--until", metavar="TIME", help="When it ends: a time, or a duration from now such as 720h.")
@home_option
def add_key(name: str, scopes: tuple[Scope, ...], until: str | None, home: Path | None) -> None:
    """Make a key; it is printed once, and kept nowhere.

    NAME says what it is for.

    Exit codes: 0 made; 1 not a name; 2 usage, configuration.
    """
    from oncemore.adapters import given_levels
    from oncemore.adapters.api.keys import Keys, pepper, pepper_file

    with entered(home) as house:
        ends = None
        if until is not None:
            try:
                ends = given_levels.ends(until, house.journal.now().ms)
            except ValueError as error:
                raise click.UsageError(f"--until {error}") from None
        _note_a_new_pepper(house)
        with_pepper = Keys(house.journal, pepper(pepper_file(house.configuration)), house.journal.clock)
        key, token = with_pepper.add(name, scopes, expires_at=ends)
    output.note(f"key {key.id}; it is not shown again")
    output.say(token)


@keys.command("list")
@format_option("pretty", "json")
@home_option
def list_keys(format_: str, home: Path | None) -> None:
    """List every key that was ever made, never their secrets.

    Exit codes: 0 shown; 2 usage, configuration.
    """
    from oncemore.rules import times

    with entered(home) as house:
        now = house.journal.now().ms
        rows = [
            {
                "key": one.id,
                "name": one.name,
                "scopes": [scope for scope in SCOPES if scope in one.scopes],
                "state": "in force" if one.opens(now) else "revoked" if one.revoked_at is not None else "expired",
                "created": times.format_ms(one.created_at),
                "expires": None if one.expires_at is None else times.format_ms(one.expires_at),
                "used": None if one.used_at is None else times.format_ms(one.used_at),
            }
            for one in _keys(house).listed()
        ]
    if format_ == "json":
        output.document(rows)
        return
    if not rows:
        output.note("no key was ever made; the first `oncemore serve` makes one")
        return
    table = [("KEY", "NAME", "SCOPES", "STATE", "CREATED", "EXPIRES", "USED")]
    for row in rows:
        scopes = " ".join(row["scopes"] or ())
        cells = (row["key"], row["name"], scopes, row["state"], row["created"], row["expires"], row["used"])
        table.append(tuple(output.line(str(cell or "")) for cell in cells))  # type: ignore[arg-type]
    output.say(output.columns(table))


@keys.command("revoke")
@click.argument("key")
@home_option
def revoke_key(key: str, home: Path | None) -> None:
    """End a KEY for good; a running service takes it no more after a second.

    Exit codes: 0 ended; 2 usage, configuration, no such key.
    """
    with entered(home) as house:
        ended = _keys(house).revoke(key)
    output.say(f"{ended.id} {ended.name} is revoked")


def _keys(house: House) -> Keys:
    """The keys, to be listed and revoked; no pepper is made for that."""
    from oncemore.adapters.api.keys import Keys

    return Keys(house.journal, b"", house.journal.clock)


def _note_a_new_pepper(house: House) -> None:
    """Say before it is made that keys of the journal open nothing here without the pepper that they were made under."""
    from oncemore.adapters.api.keys import pepper_file

    file, now = pepper_file(house.configuration), house.journal.now().ms
    if not file.exists() and any(one.opens(now) for one in _keys(house).listed()):
        output.note(
            f"{file} was not here and is made anew: the keys that the journal has open nothing here; bring the file "
            "back from where they were made, or make others: `oncemore keys add`"
        )


def _installed() -> None:
    """Say what is missing before anything is opened."""
    from importlib.util import find_spec

    lacking = [name for name in ("fastapi", "uvicorn", "jinja2") if find_spec(name) is None]
    if lacking:
        raise click.UsageError(f"{' and '.join(lacking)} is not installed: pip install 'oncemore[serve]'")
