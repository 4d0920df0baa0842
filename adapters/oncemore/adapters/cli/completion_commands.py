"""Which command teaches a shell how our command lines go on? `completion`."""

from __future__ import annotations

import click

from oncemore.adapters.cli import DISTRIBUTION, output

SHELLS = {
    "bash": 'eval "$(oncemore completion bash)" in ~/.bashrc; bash 4.4 or newer',
    "zsh": 'eval "$(oncemore completion zsh)" in ~/.zshrc, after compinit',
    "fish": "oncemore completion fish > ~/.config/fish/completions/oncemore.fish",
}
"""Each shell with how it is told."""


@click.command(
    epilog="\b\n" + "\n".join(f"{shell}: {line}" for shell, line in SHELLS.items()),
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Give the lines by which a shell completes commands.

    It then completes commands, options, what options choose from, policies, facts and files.

    Exit codes: 0 given; 2 there is no such shell.
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None
    program = ctx.find_root().command
    output.say(complete(program, {}, DISTRIBUTION, f"_{DISTRIBUTION.upper()}_COMPLETE").source().rstrip("\n"))
