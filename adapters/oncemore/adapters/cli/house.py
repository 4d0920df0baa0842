"""How does a command get at the operator's house?"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose

if TYPE_CHECKING:
    from oncemore.adapters.configuration import Configuration
    from oncemore.adapters.wiring import House
    from oncemore.engine.reloading import PolicyWatch
    from oncemore.rules.loading import PolicySet


@contextmanager
def entered(home: Path | None, *, worker: bool = False) -> Iterator[House]:
    """The house of a home, opened.

    Raises:
        ConfigurationRefused, ConfigurationInvalid, JournalRefused: as they say.
    """
    from oncemore.adapters.cli.journal_trouble import explained
    from oncemore.adapters.configuration import find, load_configuration
    from oncemore.adapters.wiring import opened

    file = find(home)
    with explained(load_configuration(file).journal), opened(file, worker=worker) as house:
        yield house


def policies_of(configuration: Configuration, given: Path | None) -> PolicySet:
    """The policies that the worker of a home works with; which ones is said on standard error.

    Raises:
        RulesInvalid, NoPolicies: they do not load.
    """
    from oncemore.rules.loading import load_policies

    choice = choose(given, configuration.policies)
    choice.announce()
    return load_policies([choice.folder])


def watched(house: House, given: Path | None) -> PolicyWatch:
    """The same, followed as their folder is edited.

    Raises:
        RulesInvalid, NoPolicies, PolicyRefused, EngineUnavailable: they cannot be used.
    """
    from oncemore.engine.reloading import PolicyWatch

    choice = choose(given, house.configuration.policies)
    choice.announce()
    return PolicyWatch(choice.folder)


@contextmanager
def reading_again_on_hangup(watch: PolicyWatch) -> Iterator[None]:
    """SIGHUP says that the policies are edited to the end."""
    before = signal.signal(signal.SIGHUP, lambda _number, _frame: watch.hurry())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def home_argument(home: Path | None) -> str:
    """How a command that is suggested to a person names the same home."""
    import shlex

    return "" if home is None else f" --home {shlex.quote(str(home))}"


def note_what_lacks(house: House, home: Path | None) -> None:
    """Say before anything fails for it what is missing for Turns to run."""
    if (told := _lacking(house.configuration, home_argument(home))) is not None:
        output.note(told)


def _lacking(configuration: Configuration, home: str) -> str | None:
    """One line on what is missing for anything to run; None when nothing is.

    Args:
        home: what a suggested command carries to name the same home.
    """
    from oncemore.adapters.codex.access import codex_access
    from oncemore.adapters.codex.binary import find
    from oncemore.engine.errors import OncemoreError

    entry = configuration.runtimes.get("codex")
    if entry is None:
        return None
    doctor = f"`oncemore doctor{home}` says what mends it"
    try:
        program = find(entry.binary)
    except OncemoreError as error:
        return f"no model can be reached yet: {str(error).splitlines()[0]}; {doctor}"
    access = codex_access(entry.home, tuple(entry.environment), program, configuration.file)
    return f"no model can be reached yet: {access.says}; {doctor}" if access.lacks else None
