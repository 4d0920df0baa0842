"""Which policies does a command work with?

`--policies`, else `policies:` of the configuration where the command works in a home, else ONCEMORE_POLICIES, else
`./policies` if it holds a policy, else the shipped ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from oncemore.adapters.cli import output

VARIABLE = "ONCEMORE_POLICIES"


@dataclass(frozen=True, slots=True)
class Choice:
    """A folder of rule files and why it is this one.

    Attributes:
        shipped: the release's own, which were tried with the engine before it was made.
    """

    folder: Path
    by: str
    shipped: bool = False

    def announce(self) -> None:
        """Say on standard error which policies are used."""
        output.note(f"policies: {self.folder} ({self.by})")


def choose(given: Path | None, configured: Path | None = None) -> Choice:
    """The folder that counts.

    Raises:
        NoPolicies: not even the shipped ones are there.
    """
    from oncemore.rules.folder import policy_files
    from oncemore.rules.shipped import shipped_policies

    if given is not None:
        return Choice(given, "--policies")
    if configured is not None:
        return Choice(configured, "oncemore.yaml")
    if named := os.environ.get(VARIABLE):
        return Choice(Path(named), VARIABLE)
    here = Path("policies")
    if policy_files(here):
        return Choice(here, "the current folder")
    return Choice(shipped_policies(), "shipped", shipped=True)


USUAL = "ONCEMORE_POLICIES, else ./policies if it holds a policy, else the shipped ones"


def policies_option(*, before: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--policies DIR`.

    Args:
        before: what comes before the usual policies when the option is not given.
    """
    order = f"{before}, else {USUAL}" if before else USUAL
    return click.option(
        "--policies",
        type=click.Path(path_type=Path, exists=True),
        metavar="DIR",
        help=f"Rule files. Left out: {order}.",
    )


HOUSE_POLICIES = "`policies:` of oncemore.yaml"
"""What comes first for commands that work in a home."""


def home_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--home DIR`."""
    return click.option(
        "--home",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The folder with oncemore.yaml; else ONCEMORE_HOME, else the current one.",
    )(command)


def format_option(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--format`, the first of the names being the default."""
    return click.option("--format", "format_", type=click.Choice(names), default=names[0], show_default=True)


def written_too(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--NAME FILE` for each form in which the same is also written."""

    def options(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = click.option(
                f"--{name}",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help=f"Also write {TITLES[name]}.",
            )(command)
        return command

    return options


TITLES = {"junit": "JUnit XML", "sarif": "SARIF 2.1.0"}
"""What each form is called."""
