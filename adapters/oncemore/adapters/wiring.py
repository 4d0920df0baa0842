"""How do the parts come together on one machine? The only module that knows every adapter.

The faces import it lazily, inside the commands that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.adapters.configuration import Configuration, load_configuration
from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.grants import ConfiguredGrants
from oncemore.adapters.inbox import Inbox
from oncemore.engine import intake, levels
from oncemore.engine.context import Context, Settings
from oncemore.engine.crashpoints import Checkpoint, unobserved
from oncemore.engine.journal import Journal, system_clock
from oncemore.engine.ports import Ports, Runtime
from oncemore.engine.rulebook import Rulebook
from oncemore.rules.levels import load_levels
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies


@dataclass(frozen=True, slots=True)
class House:
    """Everything that one configuration describes, opened."""

    configuration: Configuration
    journal: Journal
    inbox: Inbox
    ports: Ports

    def ask(self, workspace: str, text: str, *, author: str | None = None, language: str = "en") -> str:
        """Put a person's message into the workspace's App conversation and take it in; its Request.

        Raises:
            Refused: there is no such workspace.
            Unreadable: its grant cannot be read.
            Conflict: the conversation does not take it.
            ConfigurationRefused: no runtime is configured for it.
        """
        assert self.ports.grants is not None
        grant = self.ports.grants.grant(workspace)
        entry = self.configuration.workspaces[workspace]
        runtime = self.configuration.runtimes.get("codex")
        if runtime is None:
            raise ConfigurationRefused(f"no runtime `codex` is configured in {self.configuration.file}")
        conversation = workspace
        with self.journal.transaction():
            session = intake.open_session(
                self.journal,
                grant,
                runtime="codex",
                home=str(runtime.home),
                source=self.inbox.name,
                conversation=conversation,
            )
            sender = author or grant.owner
            message = self.inbox.post(conversation, sender, text)
            arrival = intake.Arrival(message=message, sender=sender, text=text, language=language, role=entry.role)
            return intake.accept(self.journal, session, arrival)


@contextmanager
def opened(file: Path, *, clock: Callable[[], int] = system_clock, worker: bool = False) -> Iterator[House]:
    """Open what the configuration file describes; everything is closed afterwards.

    Args:
        worker: take the journal's worker lock and make the runtimes ready to run.

    Raises:
        ConfigurationInvalid, ConfigurationRefused, JournalRefused: as they say.
    """
    configuration = load_configuration(file)
    journal = Journal(configuration.journal, clock=clock, worker=worker)
    runtimes: dict[str, Runtime] = {}
    try:
        inbox = Inbox(journal)
        if worker:
            runtimes = _runtimes(configuration, clock)
        ports = Ports(
            runtimes=runtimes, sources={inbox.name: inbox}, grants=ConfiguredGrants(configuration.file, clock=clock)
        )
        yield House(configuration, journal, inbox, ports)
    finally:
        for runtime in runtimes.values():
            runtime.close()
        journal.close()


def context(house: House, rulebook: Rulebook, checkpoint: Checkpoint = unobserved) -> Context:
    """What a worker works with; a new journal's levels are filled first."""
    configuration = house.configuration
    if configuration.levels is not None:
        with house.journal.transaction():
            levels.fill(load_levels(configuration.levels), house.journal.advance_clock().ms)
    timeouts = [entry.hard_timeout for entry in configuration.runtimes.values()]
    settings = Settings(
        observe_again=configuration.worker.observe_again, hard_timeout=min(timeouts, default=Settings().hard_timeout)
    )
    return Context(journal=house.journal, ports=house.ports, rules=rulebook, settings=settings, checkpoint=checkpoint)


def rulebook(configuration: Configuration) -> Rulebook:
    """The policies of the configured folder, else the shipped ones, published."""
    return Rulebook(load_policies([configuration.policies or shipped_policies()]))


def _runtimes(configuration: Configuration, clock: Callable[[], int]) -> dict[str, Runtime]:
    runtimes: dict[str, Runtime] = {}
    for name, entry in configuration.runtimes.items():
        if name != "codex":
            raise ConfigurationRefused(f"this release runs no {name}; take it out of {configuration.file}")
        runtimes[name] = CodexRuntime(entry.binary, passed_on=entry.environment, clock=clock)
    return runtimes
