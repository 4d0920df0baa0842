"""How do the parts come together on one machine? The only module that knows every adapter.

The faces import it lazily, inside the commands that need it; a runtime or a Source that is not configured is not
imported at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oncemore.adapters import native_log
from oncemore.adapters.configuration import Configuration, RuntimeEntry, SourceEntry, WorkspaceEntry, load_configuration
from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.grants import ConfiguredGrants
from oncemore.adapters.inbox import Inbox
from oncemore.adapters.tracing import watched
from oncemore.adapters.wire import Wire
from oncemore.engine import commands, events, intake, levels
from oncemore.engine.commands import Command, command
from oncemore.engine.context import Context, Settings
from oncemore.engine.crashpoints import Checkpoint, unobserved
from oncemore.engine.errors import QueueFull
from oncemore.engine.gauges import Gauges, gauges
from oncemore.engine.journal import Journal, system_clock
from oncemore.engine.leases import Terms, leases
from oncemore.engine.observing import SILENT, Observer
from oncemore.engine.ports import Capacity, GrantRef, Ports, Runtime, Source
from oncemore.engine.retention import Retention
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Request, Session
from oncemore.rules.levels import load_levels
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

if TYPE_CHECKING:
    from oncemore.adapters.feishu import Event


@dataclass(frozen=True, slots=True)
class Arrived:
    """What became of a message that a Source told us of.

    Attributes:
        how: `new`: it was taken in now; `same`: it had been before; `changed`: it had been, with other content, which
            was recorded and changed nothing; `refused`: nobody lets its author ask for anything there, or
            as many wait there as may.
        request: its Request; of one refused for want of a place that under which its author is told so, of any other
            refused one None.
        why: of a refusal, one sentence.
    """

    how: Literal["new", "same", "changed", "refused"]
    request: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class House:
    """Everything that one configuration describes, opened."""

    configuration: Configuration
    journal: Journal
    inbox: Inbox
    ports: Ports

    def ask(self, workspace: str, text: str, *, author: str | None = None, language: str = "en") -> str:
        """Put a person's message or command into the workspace's App conversation and take it in; its Request.

        Raises:
            Refused: there is no such workspace.
            Unreadable: its grant cannot be read.
            Conflict: the conversation does not take it.
            ConfigurationRefused: no runtime is configured for it.
        """
        intake.check_text(text)
        grant = self._grant(workspace)
        asked = command(text)
        with self.journal.transaction():
            session = self._session(workspace, grant, self.inbox.name, conversation=workspace)
            sender = author or grant.owner
            message = self.inbox.post(workspace, sender, text, command=asked is not None)
            role = self.configuration.workspaces[workspace].role
            arrival = intake.Arrival(message=message, sender=sender, text=text, language=language, role=role)
            return self._taken_in(session, arrival, asked)

    def arrive(self, event: Event, source: str | None = None) -> Arrived:
        """Take a message of a chat in, which its Source has vouched for.

        Args:
            source: the configured id of the app that was told; None for the only one.

        Raises:
            Refused: the workspace is no longer configured, or its folder is not safe.
            Unreadable: its grant cannot be read; telling it once more may help.
            Conflict: the conversation does not take it: it is closed, or the text cannot be kept.
            ConfigurationRefused: no such Source, or no runtime for the workspace.
        """
        name, entry = self._told(source)
        if event.sender_type != "user":
            return Arrived("refused", why="it was not written by a person")
        with self.journal.transaction():
            if (before := self._known(name, event)) is not None:
                return before
        workspace = _bound(self.configuration, name, event)
        if workspace is None:
            return Arrived("refused", why=f"no workspace takes messages of that person and chat of {name}")
        grant = self._grant(workspace)
        asked = command(_addressed(event))
        with self.journal.transaction():
            if (before := self._known(name, event)) is not None:
                return before
            session = self._session(workspace, grant, name, conversation=event.chat_id)
            arrival = intake.Arrival(
                message=event.message_id,
                sender=event.sender,
                text=event.text,
                language=_language(event, name, entry, asked),
                role=self.configuration.workspaces[workspace].role,
                audience="private" if event.chat_type == "p2p" else "group",
                attachments=event.attachments,
            )
            try:
                return Arrived("new", self._taken_in(session, arrival, asked))
            except QueueFull as full:
                # A chat has no other way to be told; the App's inbox answers whoever writes at once.
                return Arrived("refused", commands.refuse(self.journal, session, arrival), str(full))

    def retention(self) -> Retention | None:
        """What drops what has had its time, the logs of runtimes with the texts; None where all is kept."""
        keep, posted = self.configuration.keep_texts, self.configuration.keep_posted
        if keep is None and posted is None:
            return None
        homes = [entry.home for entry in self.configuration.runtimes.values()]
        return Retention(self.journal, keep, lambda before: native_log.drop_in(homes, before), posted=posted)

    def gauges(self) -> Gauges:
        """What stands in the journal, in numbers. The calling thread is connected."""
        configuration = self.configuration
        return gauges(configuration.budgets, configuration.reviews, self.journal.now().ms)

    def _taken_in(self, session: str, arrival: intake.Arrival, asked: Command | None) -> str:
        if asked is None:
            return intake.accept(self.journal, session, arrival, patience=self.configuration.queue_patience)
        return commands.accept_command(self.journal, session, arrival, asked=asked)

    def _grant(self, workspace: str) -> GrantRef:
        assert self.ports.grants is not None
        return self.ports.grants.grant(workspace)

    def _session(self, workspace: str, grant: GrantRef, source: str, *, conversation: str) -> str:
        name = self.configuration.workspaces[workspace].runtime
        runtime = self.configuration.runtimes.get(name)
        if runtime is None:
            raise ConfigurationRefused(f"no runtime `{name}` is configured in {self.configuration.file}")
        return intake.open_session(
            self.journal, grant, runtime=name, home=str(runtime.home), source=source, conversation=conversation
        )

    def _told(self, source: str | None) -> tuple[str, SourceEntry]:
        sources = self.configuration.sources
        if source is None and len(sources) == 1:
            (source,) = sources
        if source is None or source not in sources:
            raise ConfigurationRefused(f"no source {source or 'alone'} is configured in {self.configuration.file}")
        return source, sources[source]

    def _known(self, source: str, event: Event) -> Arrived | None:
        """What the journal has of this message already. Inside a transaction."""
        from oncemore.adapters.feishu import classify

        row = intake.known(source, event.message_id)
        if row is None:
            return None
        if classify(event, row.digest) == "same" and row.sender == event.sender:
            return Arrived("same", row.id)
        if not events.happened(row.id, "told_otherwise", digest=event.digest, sender=event.sender):
            now = self.journal.advance_clock().ms
            events.append(row.id, "told_otherwise", now, digest=event.digest, sender=event.sender, event=event.event_id)
        return Arrived("changed", row.id)


def _bound(configuration: Configuration, source: str, event: Event) -> str | None:
    """The workspace that takes messages of this chat: one that names it, else, in private, the author's own."""

    def takes(entry: WorkspaceEntry) -> bool:
        if entry.chats:
            return event.chat_id in entry.chats
        return event.chat_type == "p2p" and event.sender == entry.owner

    found = {name: one for name, one in configuration.workspaces.items() if one.source == source and takes(one)}
    return next(iter(sorted(found, key=lambda name: not found[name].chats)), None)


def _addressed(event: Event) -> str:
    """The text without the names, in front of it, of those whom it calls."""
    text = event.text
    names = sorted(event.mentions, key=len, reverse=True)
    while (name := next((one for one in names if text.startswith(f"@{one}")), None)) is not None:
        text = text.removeprefix(f"@{name}").lstrip()
    return text


def _language(event: Event, source: str, entry: SourceEntry, asked: Command | None) -> str:
    """The language that the message is written in; of a command, that of its author's message before it."""
    if asked is None:
        return "zh" if any("\u4e00" <= letter <= "\u9fff" for letter in event.text) else "en"
    before = (
        Request.select(Request.language)
        .join(Session, on=(Session.id == Request.session))
        .where(Session.source == source, Session.conversation == event.chat_id, Request.sender == event.sender)
        .order_by(Request.created_at.desc(), Request.position.desc())
        .scalar()
    )
    return str(before or entry.language)


@contextmanager
def opened(file: Path, *, clock: Callable[[], int] = system_clock, worker: bool = False) -> Iterator[House]:
    """Open what the configuration file describes; everything is closed afterwards.

    Args:
        worker: take the journal's worker lock and make the runtimes ready to run.

    Raises:
        ConfigurationInvalid, ConfigurationRefused, JournalRefused: as they say.
        Unreadable: the program of a runtime is not there.
    """
    configuration = load_configuration(file)
    with ExitStack() as stack:
        journal = Journal(configuration.journal, clock=clock, worker=worker)
        stack.callback(journal.close)
        inbox = Inbox(journal)
        wire = stack.enter_context(Wire(_bases(configuration)))
        runtimes = _runtimes(configuration, wire, stack, clock) if worker else {}
        reviews = configuration.reviews
        ports = Ports(
            runtimes=runtimes,
            sources={inbox.name: inbox, **_sources(configuration, wire, clock)},
            grants=ConfiguredGrants(configuration.file, clock=clock),
            capacity=_capacity(configuration, runtimes, wire, clock) if worker else {},
            reviews=None if reviews not in runtimes else (reviews, str(configuration.runtimes[reviews].home)),
        )
        yield House(configuration, journal, inbox, ports)


def context(
    house: House, rulebook: Rulebook, checkpoint: Checkpoint = unobserved, observer: Observer = SILENT
) -> Context:
    """What a worker works with; a new journal's levels are filled first.

    Args:
        observer: learns what is done, and what the rulebook decides.
    """
    rulebook.observer = observer
    configuration = house.configuration
    if configuration.levels is not None:
        with house.journal.transaction():
            levels.fill(load_levels(configuration.levels), house.journal.advance_clock().ms)
    timeouts = [entry.hard_timeout for entry in configuration.runtimes.values()]
    settings = Settings(
        observe_again=configuration.worker.observe_again,
        hard_timeout=min(timeouts, default=Settings().hard_timeout),
        spread={name: one.capacity.spread for name, one in configuration.runtimes.items() if one.capacity is not None},
        budgets=configuration.budgets,
    )
    terms = Terms(configuration.worker.name, configuration.worker.lease, configuration.worker.batch)
    return Context(
        journal=house.journal,
        ports=watched(house.ports, observer),
        rules=rulebook,
        settings=settings,
        checkpoint=checkpoint,
        observer=observer,
        leases=leases(house.journal, terms),
    )


def rulebook(configuration: Configuration) -> Rulebook:
    """The policies of the configured folder, else the shipped ones, published."""
    return Rulebook(load_policies([configuration.policies or shipped_policies()]))


def _bases(configuration: Configuration) -> set[str]:
    """Every address that the one outgoing client may ask."""
    found = {entry.base for entry in configuration.sources.values()}
    for runtime in configuration.runtimes.values():
        if runtime.capacity is not None:
            found.add(runtime.capacity.base)
        if runtime.server is not None and _plain(runtime.server.url):
            found.add(runtime.server.url)
    return found


def _plain(url: str) -> bool:
    return url.startswith("http://")


def _runtimes(
    configuration: Configuration, wire: Wire, stack: ExitStack, clock: Callable[[], int]
) -> dict[str, Runtime]:
    runtimes: dict[str, Runtime] = {}
    for name, entry in configuration.runtimes.items():
        runtime = _codex(entry, clock) if name == "codex" else _antigravity(entry, wire, stack, clock)
        stack.callback(runtime.close)
        runtimes[name] = runtime
    return runtimes


def _codex(entry: RuntimeEntry, clock: Callable[[], int]) -> Runtime:
    from oncemore.adapters.codex.runtime import CodexRuntime

    return CodexRuntime(entry.binary, passed_on=entry.environment, clock=clock)


def _antigravity(entry: RuntimeEntry, wire: Wire, stack: ExitStack, clock: Callable[[], int]) -> Runtime:
    from oncemore.adapters.antigravity.material import BYTES, MARKERS, SKEW_MS, STEPS, Terms

    terms = Terms(
        markers=MARKERS if entry.markers is None else frozenset(entry.markers),
        skew_ms=SKEW_MS if entry.skew is None else entry.skew,
        steps=STEPS if entry.result_steps is None else entry.result_steps,
        bytes=BYTES if entry.result_bytes is None else entry.result_bytes,
    )
    if entry.server is not None:
        from oncemore.adapters.antigravity.language_server import AntigravityRuntime
        from oncemore.adapters.antigravity.server import LanguageServer
        from oncemore.adapters.antigravity.token import Token

        server = entry.server
        # Over TLS the server's certificate is its own; no other host's is taken unchecked for its sake.
        client = wire if _plain(server.url) else stack.enter_context(Wire([server.url], self_signed=True))
        token = Token(environment=server.token.environment, file=server.token.file)
        return AntigravityRuntime(LanguageServer(client, server.url, token), server.planners, terms=terms, clock=clock)
    from oncemore.adapters.antigravity.harness import HarnessRuntime

    assert entry.harness is not None
    return HarnessRuntime(
        entry.harness.model,
        entry.harness.base_url,
        program=entry.binary,
        confined=entry.harness.confined,
        terms=terms,
        clock=clock,
    )


def _sources(configuration: Configuration, wire: Wire, clock: Callable[[], int]) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    for name, entry in configuration.sources.items():
        from oncemore.adapters.feishu import Feishu
        from oncemore.adapters.feishu.secret import from_environment, from_file

        place = entry.secret
        secret = from_file(place.file) if place.file is not None else from_environment(str(place.environment))
        sources[name] = Feishu(name, wire, app_id=entry.app_id, secret=secret, clock=clock, base=entry.base)
    return sources


def _capacity(
    configuration: Configuration, runtimes: Mapping[str, Runtime], wire: Wire, clock: Callable[[], int]
) -> dict[str, Capacity]:
    """By runtime: its own word where it has one, and where that says nothing the configured probe's."""
    found: dict[str, Capacity] = {}
    for name, entry in configuration.runtimes.items():
        own = _account(runtimes[name], entry)
        if own is not None:
            found[name] = own
        if entry.capacity is not None:
            from oncemore.adapters.capacity import OwnFirst, Probe

            probe = Probe(wire, entry.capacity, clock=clock)
            found[name] = probe if own is None else OwnFirst(own, probe)
    return found


def _account(runtime: Runtime, entry: RuntimeEntry) -> Capacity | None:
    """Codex's account; Antigravity tells nothing of the kind."""
    if runtime.name != "codex":
        return None
    from oncemore.adapters.codex.runtime import CodexRuntime

    assert isinstance(runtime, CodexRuntime)
    return runtime.account(entry.home)
