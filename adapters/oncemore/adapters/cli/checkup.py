"""What is missing on this machine, and which command mends it?

Nothing is changed by looking: no folder is made, no runtime's thread is opened, no model is started.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import choose
from oncemore.adapters.cli.journal_trouble import explained, in_the_way, mend, trouble
from oncemore.adapters.codex.access import codex_access
from oncemore.engine.errors import OncemoreError
from oncemore.rules.errors import RulesError

if TYPE_CHECKING:
    from oncemore.adapters.configuration import Configuration
    from oncemore.adapters.wiring import House

OLDEST, FIRST_TOO_NEW = (3, 11), (3, 14)
PROGRAM_SECONDS = 20.0
"""How long a program may take to say its version."""

Verdict = Literal["ok", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        mends: the command that mends it, each way of several a line; empty when nothing is to be mended.
    """

    what: str
    verdict: Verdict
    says: str
    mends: str = ""

    def as_json(self) -> dict[str, str]:
        """As a JSON object."""
        return asdict(self)


def look(home: Path | None) -> Iterator[Finding]:
    """Everything, in the order in which it is best mended."""
    yield _python()
    yield _engine()
    configuration = None
    try:
        configuration = _configuration(home)
        yield Finding("configuration", "ok", str(configuration.file))
    except OncemoreError as error:
        where = shlex.quote(str(home or os.environ.get("ONCEMORE_HOME") or "."))
        mends = f"oncemore init {where}" if "there is no" in str(error) else f"edit {where}/oncemore.yaml"
        yield Finding("configuration", "missing", _told(error), _command_in(str(error)) or mends)
    yield _policies(configuration)
    if configuration is None:
        for what in ("codex", "workspaces", "journal", "grants"):
            yield Finding(what, "skipped", "needs a configuration")
        return
    yield from _codex(configuration)
    yield from _workspaces(configuration)
    journal = _journal(configuration)
    yield journal
    yield from _grants(configuration, usable=journal.verdict == "ok")


def _told(error: OncemoreError | RulesError) -> str:
    """The error with everything that it knows, each mistake once with what helps."""
    diagnostics = getattr(error, "diagnostics", None)
    if not diagnostics:
        return f"{error.code} {error}"
    lines = [one.compact() + (f"; {one.help.splitlines()[0]}" if one.help else "") for one in diagnostics]
    return "\n".join([f"{error.code} {output.counted(diagnostics)}", *lines])


def _python() -> Finding:
    version = sys.version.split()[0]
    if OLDEST <= sys.version_info[:2] < FIRST_TOO_NEW:
        return Finding("python", "ok", version)
    return Finding("python", "missing", f"{version}; 3.11, 3.12 or 3.13 is needed", "python3.12 -m venv .venv")


def _engine() -> Finding:
    from oncemore.engine.native import load

    try:
        load()
    except OncemoreError as error:
        first, *rest = str(error).splitlines()
        return Finding("durable-rules", "missing", first, rest[0].strip() if rest else "")
    return Finding("durable-rules", "ok", "it loads")


def _configuration(home: Path | None) -> Configuration:
    from oncemore.adapters.configuration import find, load_configuration

    return load_configuration(find(home))


def _policies(configuration: Configuration | None) -> Finding:
    from oncemore.engine.smoke import publish
    from oncemore.rules.levels import load_levels
    from oncemore.rules.loading import load_policies

    folder = ""
    try:
        choice = choose(None, None if configuration is None else configuration.policies)
        folder = str(choice.folder)
        loaded = load_policies([choice.folder])
        publish(loaded)
        if configuration is not None and configuration.levels is not None:
            load_levels(configuration.levels)
    except (OncemoreError, RulesError) as error:
        return Finding("policies", "missing", _told(error), f"oncemore check {shlex.quote(folder)}")
    names = ", ".join(policy.name for policy in loaded.policies)
    return Finding("policies", "ok", f"{choice.folder} ({choice.by}): {names}")


def _codex(configuration: Configuration) -> Iterator[Finding]:
    from oncemore.adapters.codex.binary import find

    entry = configuration.runtimes.get("codex")
    if entry is None:
        yield Finding("codex", "missing", "no runtime codex is configured", f"edit {configuration.file}")
        return
    program: Path | str = "codex"
    try:
        program = find(entry.binary)
        version = _version(program)
    except OncemoreError as error:
        yield Finding("codex", "missing", str(error), "pip install 'oncemore[codex]'")
    else:
        if version.startswith("codex"):
            yield Finding("codex", "ok", f"{version}, {program}")
        else:
            says = f"{program} does not say that it is Codex but {version!r}"
            yield Finding("codex", "missing", says, "pip install 'oncemore[codex]'")
    access = codex_access(entry.home, tuple(entry.environment), program, configuration.file)
    yield Finding("codex home", "missing" if access.lacks else "ok", access.says, access.mends)
    for name in entry.environment:
        if not os.environ.get(name) and name != access.variable:
            yield Finding("environment", "skipped", f"{name} is not set here, and nothing that is set up needs it")


def _version(program: Path) -> str:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/")}
    try:
        told = subprocess.run(
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROGRAM_SECONDS,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nothing ({type(error).__name__})"
    return told.stdout.decode(errors="replace").strip()[:100] or f"nothing (status {told.returncode})"


def _workspaces(configuration: Configuration) -> Iterator[Finding]:
    from oncemore.adapters.errors import FolderError, FolderMissing
    from oncemore.adapters.grants.folders import open_folder

    if not configuration.workspaces:
        yield Finding("workspaces", "missing", "none is configured", f"edit {configuration.file}")
    for name, entry in configuration.workspaces.items():
        what = f"workspace {name}"
        try:
            open_folder(str(entry.path)).close()
        except FolderMissing as error:
            yield Finding(what, "missing", str(error), f"mkdir -p {shlex.quote(str(entry.path))}")
        except FolderError as error:
            yield Finding(what, "missing", str(error), _command_in(str(error)) or f"edit {configuration.file}")
        else:
            yield Finding(what, "ok", f"{entry.path}, {entry.level} of {entry.owner}")


def _journal(configuration: Configuration) -> Finding:
    place = configuration.journal
    return _file(place) if isinstance(place, Path) else _server(place)


def _server(url: str) -> Finding:
    from oncemore.engine.postgres import look

    try:
        seen = look(url)
    except OncemoreError as error:
        return Finding("journal", "missing", _told(error), mend(str(error), url))
    says = f"{url} on PostgreSQL {seen.version}"
    if seen.amiss:
        return Finding("journal", "missing", f"{says}: {seen.amiss}", mend(seen.amiss, url))
    if not seen.made:
        return Finding("journal", "ok", f"{says}; its tables are made at the first start")
    return Finding("journal", "ok", f"{says}, with {seen.workers} worker{'' if seen.workers == 1 else 's'} at work")


def _file(path: Path) -> Finding:
    try:
        if (says := in_the_way(path)) is not None:
            return Finding("journal", "missing", says, mend(says, path))
        if not path.parent.exists():
            return Finding("journal", "ok", f"{path} is made at the first start")
        for one, mode in ((path.parent, 0o700), *((file, 0o600) for file in sorted(path.parent.glob(f"{path.name}*")))):
            status = one.stat()
            if stat.S_IMODE(status.st_mode) & ~mode:
                return Finding(
                    "journal", "missing", f"{one} is open to others", f"chmod {mode:o} {shlex.quote(str(one))}"
                )
            if status.st_uid != os.geteuid():
                says = f"{one} belongs to another user"
                return Finding("journal", "missing", says, f"chown {os.geteuid()} {shlex.quote(str(one))}")
        if not path.exists():
            return Finding("journal", "ok", f"{path} is made at the first start")
        says = trouble(path) or ""
    except OSError as error:
        says = f"{path} cannot be looked at: {error.strerror}"
        return Finding("journal", "missing", says, mend(says, path) or f"ls -la {shlex.quote(str(path.parent))}")
    return Finding("journal", "missing" if says else "ok", says or str(path), mend(says, path))


def _grants(configuration: Configuration, *, usable: bool) -> Iterator[Finding]:
    from oncemore.adapters.wiring import opened

    if not usable:
        yield Finding("grants", "skipped", "needs a journal that may be opened")
        return
    if not _made(configuration.journal):
        yield Finding("grants", "ok", "no conversation yet")
        return
    try:
        with explained(configuration.journal), opened(configuration.file) as house:
            yield from _grants_of(house, configuration)
    except OncemoreError as error:
        yield Finding("grants", "missing", _told(error), mend(str(error), configuration.journal))


def _made(journal: Path | str) -> bool:
    """Whether the journal is there already."""
    from oncemore.engine.postgres import look

    return journal.exists() if isinstance(journal, Path) else look(journal).made


def _grants_of(house: House, configuration: Configuration) -> Iterator[Finding]:
    from oncemore.engine import facts
    from oncemore.engine.tables import Session

    grants = house.ports.grants
    assert grants is not None
    for session in Session.select().where(Session.state != "closed").order_by(Session.id):
        reading = grants.read(facts.grant_ref(session))
        if reading.workspace is not None:
            reading.workspace.close()
        told = reading.readings["grant.state"]
        state = str(told.value) if told.status == "known" else f"unknown ({told.status})"
        what = f"grant of {session.workspace}"
        if state == "intact":
            yield Finding(what, "ok", f"intact for {session.id}")
            continue
        details = "" if told.evidence is None else ", ".join(told.evidence.details.values())
        says = f"{state} for {session.id}" + (f": {details}" if details else "")
        yield Finding(what, "missing", says, f"edit {configuration.file}")


def _command_in(text: str) -> str:
    """The command that an error's own text ends with, where it has one."""
    for verb in ("chmod ", "chown "):
        if verb in text:
            return verb + text.split(verb, 1)[1]
    return ""
