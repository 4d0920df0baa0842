"""Which commands are there, and what becomes of what goes wrong in one of them?

A command's module is imported when the command is named; what is slow to import is imported inside the command.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

import click

from oncemore.adapters.cli import output, version
from oncemore.adapters.cli.output import Exit
from oncemore.engine.errors import OncemoreError
from oncemore.rules.errors import RulesError

WHERE: Mapping[str, str] = {
    "check": "rules_commands",
    "test": "rules_commands",
    "cases": "rules_commands",
    "fmt": "format_command",
    "facts": "rules_commands",
    "schema": "rules_commands",
    "docs": "page_commands",
    "completion": "completion_commands",
    "decide": "decision_commands",
    "explain": "decision_commands",
    "try": "comparing_commands",
    "init": "setup_commands",
    "doctor": "setup_commands",
    "demo": "setup_commands",
    "ask": "conversation_commands",
    "work": "conversation_commands",
    "serve": "service_commands",
    "keys": "service_commands",
    "requests": "conversation_commands",
    "show": "conversation_commands",
    "stop": "operator_commands",
    "release": "operator_commands",
    "act": "allowance_commands",
    "breaker": "allowance_commands",
    "levels": "operator_commands",
    "shadow": "hindsight_commands",
    "verify": "operator_commands",
    "retention": "retention_commands",
}
"""The module of each command, in the order in which help lists them."""

CODES: Mapping[str, Exit] = {
    "R001": Exit.NOT_LOADED,
    "R002": Exit.USAGE,
    "R003": Exit.NOT_LOADED,
    "E101": Exit.NOT_LOADED,
    "E102": Exit.BUG,
    "E103": Exit.NOT_LOADED,
    "E201": Exit.USAGE,
    "E204": Exit.USAGE,
    "E206": Exit.USAGE,
    "A101": Exit.USAGE,
    "A102": Exit.USAGE,
    "A110": Exit.USAGE,
    "A111": Exit.USAGE,
    "A112": Exit.USAGE,
    "A113": Exit.USAGE,
}
"""How the program ends after a failure of a code; every other one means no."""


class Commands(click.Group):
    """The group that finds a command by its name and turns failures into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return list(WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in WHERE:
            return None
        module = importlib.import_module(f"oncemore.adapters.cli.{WHERE[cmd_name]}")
        found = getattr(module, f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown name is answered with the nearest."""
        if args and not args[0].startswith("-") and args[0] not in WHERE:
            ctx.fail(f"there is no command {args[0]!r}{output.did_you_mean(args[0], WHERE)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (OncemoreError, RulesError) as error:
            output.failure(error)
            ctx.exit(CODES.get(error.code, Exit.NO))
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (OSError, UnicodeEncodeError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            _tell_refused(error)
            ctx.exit(Exit.USAGE)
        except Exception as error:
            _tell_bug(error)
            ctx.exit(Exit.BUG)


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Say the version, which takes long to find, only when it is wanted."""
    if wanted and not ctx.resilient_parsing:
        output.say(version())
        ctx.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 yes or clean; 1 no; 2 usage, a bad facts file or configuration; 3 rules do not load; "
    "4 undecided, evidence is unknown; 5 nothing ran; 70 a bug in Oncemore.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Say the version.")
def cli() -> None:
    """Decides by rules whether an agent's unfinished conversation may be taken up once more, and does it once."""


def run() -> int:
    """Run the program with the process's arguments; does not return when click ends it."""
    cli(prog_name="oncemore")
    return 0


def _tell_refused(error: OSError | UnicodeEncodeError) -> None:
    """What the system did not let us do, or a name that is no text: conditions of the machine, to be mended there."""
    _trace(error)
    if isinstance(error, UnicodeEncodeError):
        told = f"a text is not UTF-8: {error.object!r}"
    else:
        named = f"{error.filename}: " if error.filename is not None else ""
        told = f"{named}{error.strerror or error}; mend that and run the command again"
    output.note(output.plain(f"error: {told}"))


def _tell_bug(error: Exception) -> None:
    _trace(error)
    output.note(
        f"This is a bug in Oncemore ({version()}, Python {sys.version.split()[0]}): "
        f"{type(error).__name__}: {output.plain(str(error))}. What was stored before is kept. "
        "Run the same command with ONCEMORE_DEBUG=1 to see where it happened, and report that."
    )


def _trace(error: Exception) -> None:
    """The whole traceback, for those who asked for it."""
    if os.environ.get("ONCEMORE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
