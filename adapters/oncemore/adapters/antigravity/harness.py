"""How does the engine run, watch, stop and read back Antigravity through the harness of its SDK?

One process per loaded conversation; what became of it is read from its store, by this program itself. The harness
confines nothing that a command does, so what a profile does not allow is not given as a tool.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from oncemore.adapters.antigravity import conversation, facts, inventory, material, store
from oncemore.adapters.antigravity.commands import Commands
from oncemore.adapters.antigravity.conversation import Conversation, Invocation
from oncemore.adapters.antigravity.facts import Seen
from oncemore.adapters.antigravity.harness_process import RESTING, SHELL, HarnessProcess, Settings, find
from oncemore.adapters.antigravity.lock import Lock
from oncemore.adapters.antigravity.material import Terms
from oncemore.adapters.antigravity.outbox import Outbox
from oncemore.adapters.antigravity.stopping import Begun, Stopping
from oncemore.engine.errors import Busy, Refused, Uncertain, Unreadable
from oncemore.engine.ports import (
    Inventory,
    Loaded,
    NativeTurn,
    Observation,
    Profile,
    SessionView,
    Thread,
    TurnView,
    Workspace,
)
from oncemore.rules.case import Reading

NAME = "antigravity"
PAUSE = 0.05
FIND_SECONDS = 10.0

READING = frozenset({"find", "grepSearch", "listDir", "viewFile"})
WRITING = frozenset({"fileEdit", "writeToFile"})

_RUNS = {RESTING: "IDLE", "STATE_RUNNING": "RUNNING", "STATE_WAITING_FOR_TASKS": "BUSY"}
_RUNS |= {"STATE_WAITING_FOR_SUBAGENTS": "BUSY", "STATE_CANCELLED": "IDLE"}


def _now() -> int:
    return time.time_ns() // 1_000_000


def tools(profile: Profile, confined: bool) -> frozenset[str]:
    """The tools that a profile allows. A shell reaches the network and every file of its user: it is given only where
    the operator confines the whole program from outside, and the profile allows writing and the network."""
    if profile.sandbox == "read_only":
        return READING
    return READING | WRITING | (SHELL if confined and profile.network else frozenset())


class HarnessRuntime:
    """The `Runtime` port over the SDK's harness.

    Args:
        model, base_url: of a provider that speaks OpenAI's chat interface.
        program: the harness; None takes the one of the wheel.
        confined: the operator runs this program where its commands can reach only what they may.
        terms: what counts as material of an interrupted answer.
        clock: milliseconds since the epoch.

    Raises:
        Unreadable: there is no such program.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        program: Path | None = None,
        confined: bool = False,
        terms: Terms | None = None,
        clock: Callable[[], int] = _now,
    ) -> None:
        self._settings = Settings(find(program), model, base_url)
        self._confined = confined
        self._terms = terms or Terms()
        self._clock = clock
        self._guard = threading.RLock()
        self._processes: dict[str, HarnessProcess] = {}
        self._homes: dict[str, Path] = {}
        self._made: dict[str, str] = {}
        self._cancelled: set[NativeTurn] = set()
        self._ids: dict[NativeTurn, tuple[str, frozenset[str]]] = {}
        self._begun: dict[str, Begun] = {}

    @property
    def name(self) -> str:
        """`antigravity`."""
        return NAME

    def processes(self) -> list[tuple[str, int]]:
        """The loaded conversations with the ids of the processes that have them loaded."""
        with self._guard:
            return [(cascade_id, one.pid) for cascade_id, one in self._processes.items() if one.alive]

    def inventory(self, session: SessionView, turn: TurnView) -> Inventory:
        """See `Runtime.inventory`. The store is read twice; nothing is started."""
        seen = self._seen(session, turn)
        quiet = all(read.run_state == "idle" for read in seen.conversations)
        return inventory.take(seen, turn, self._terms, settled=quiet)

    def material(self, session: SessionView, turn: TurnView) -> dict[str, str]:
        """See `Runtime.material`. It is read now, and only what is closed and proven to be the Turn's is given."""
        return material.take(self._seen(session, turn), turn, self._terms)

    def restricted(self, session: SessionView) -> Reading:
        """See `Runtime.restricted`. The process does not report which tools it was given."""
        return Reading("missing")

    def _seen(self, session: SessionView, turn: TurnView) -> Seen:
        at = self._clock()
        read = [self._look(Path(thread.home), thread.thread_id) for thread in session.threads]
        return Seen(read, session.client_ids, turn.client_id, turn.native, at, self._cancelled)

    def _look(self, home: Path, cascade_id: str) -> Conversation:
        """The conversation with what is known of the process that works on it, before and after reading."""
        before, abandoned = self._run(home, cascade_id)
        read = self._with_commands(store.look(home, cascade_id, before, abandoned=abandoned))
        if before != self._run(home, cascade_id)[0]:
            read = replace(read, run="", agree=False, abandoned=False, problem="its process went on while it was read")
        outbox = Outbox(home, cascade_id)
        try:
            claimed = outbox.claimed(read.steps)
            lost = read.complete and not store.exists(home, cascade_id) and self._was_used(home, cascade_id, outbox)
        except Unreadable as error:
            return Conversation(cascade_id, answered=False, problem=str(error))
        if lost:
            return Conversation(cascade_id, problem="the conversation's store is gone, or the home is another one")
        return replace(read, client_ids=claimed)

    @staticmethod
    def _was_used(home: Path, cascade_id: str, outbox: Outbox) -> bool:
        """Whether a conversation may have held something: a text was sent into it, or this home never loaded it."""
        return bool(outbox.lines()) or not Lock(home, cascade_id).known()

    def _run(self, home: Path, cascade_id: str) -> tuple[str, bool]:
        """The run status by our own process, and whether provably nothing of the conversation runs."""
        process = self._process(cascade_id)
        if process is not None:
            return _RUNS.get(process.state, process.state), False
        free = Lock(home, cascade_id).free()
        return ("IDLE", True) if free else ("", False)

    def _with_commands(self, read: Conversation) -> Conversation:
        """The conversation with what the kernel tells of its commands: the harness's word for their end is no proof."""
        process = self._process(read.thread_id)
        if process is None and not read.abandoned:
            return replace(read, lingering=True)
        commands = process.commands if process is not None else Commands(read.thread_id)
        ran = any(step.kind == "RUN_COMMAND" for step in read.steps)
        living = commands.living(process.pid if process is not None else None) if ran else ()
        if process is None:
            # The lock is free. What the kernel does not tell is then taken from it alone.
            count = len(living or ())
            read = replace(read, run="", abandoned=False) if count else read
        elif living is None:
            return conversation.with_commands(read, None, self._cancelled)
        else:
            count = max(len(living), int(process.state == "STATE_WAITING_FOR_TASKS"))
        return conversation.with_commands(read, count, self._cancelled)

    def _process(self, cascade_id: str) -> HarnessProcess | None:
        with self._guard:
            process = self._processes.get(cascade_id)
            if process is None or process.alive:
                return process
            del self._processes[cascade_id]
        process.end()
        return None

    def load(self, session: SessionView, profile: Profile, workspace: Workspace) -> Loaded:
        """See `Runtime.load`. A conversation that was begun and never used is given again."""
        with self._guard:
            current = session.current
            cascade_id = current.thread_id if current is not None else self._made.get(session.id, "")
            process = self._process(cascade_id) if cascade_id else None
            if process is not None and not self._fits(process, profile, workspace):
                process = None
            if process is None:
                process = self._open(Path(session.home), cascade_id, profile, workspace)
            if current is None:
                self._made[session.id] = process.cascade_id
            return Loaded(Thread(NAME, session.home, process.cascade_id), current is None)

    def _fits(self, process: HarnessProcess, profile: Profile, workspace: Workspace) -> bool:
        if not process.workspace.same_folder(workspace):
            raise Refused("the conversation is loaded in another folder")
        if process.tools == tools(profile, self._confined) and not process.spent:
            return True
        if process.state != RESTING or process.living():
            raise Busy("the conversation must be loaded anew, but something of it still runs")
        self._let_go(process)
        return False

    def _open(self, home: Path, cascade_id: str, profile: Profile, workspace: Workspace) -> HarnessProcess:
        if _identity(Path(workspace.path)) != (workspace.device, workspace.inode):
            raise Refused("the workspace's path leads to another folder by now")
        for uri in store.folders(home, cascade_id) if cascade_id else []:
            parts = urlsplit(uri)
            if parts.scheme != "file" or _identity(Path(unquote(parts.path))) != (workspace.device, workspace.inode):
                raise Refused(f"the conversation works in {uri}, which is not the workspace that was opened")
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._check_lock(home, cascade_id)
        cascade_id = cascade_id or os.urandom(16).hex()
        descriptor = Lock(home, cascade_id).take()
        try:
            given = tools(profile, self._confined)
            process = HarnessProcess(self._settings, home, workspace, given, cascade_id, descriptor)
        finally:
            os.close(descriptor)
        self._processes[process.cascade_id] = process
        self._homes[process.cascade_id] = home
        return process

    @staticmethod
    def _check_lock(home: Path, cascade_id: str) -> None:
        """A used conversation whose lock file was removed may be loaded still, in a process that holds the old one."""
        if not cascade_id or Lock(home, cascade_id).known():
            return
        used = store.exists(home, cascade_id) or Outbox(home, cascade_id).lines()
        if used and Commands(cascade_id).living() != ():
            raise Busy("the conversation's lock file is gone, and something of it may still run")

    def start(self, session: SessionView, client_id: str, text: str, profile: Profile) -> NativeTurn:
        """See `Runtime.start`. What is sent while a turn runs would run behind it; so nothing is."""
        current = session.current
        process = self._process(current.thread_id) if current is not None else None
        if current is None or process is None:
            raise Refused("the conversation is not loaded")
        if process.tools != tools(profile, self._confined):
            raise Refused("the conversation is loaded with other tools")
        if process.state != RESTING:
            raise Refused(f"nothing was sent: the conversation is in {process.state}")
        home = Path(current.home)
        try:
            steps, _, _ = store.read(home, current.thread_id)
        except Unreadable as error:
            raise Refused(f"nothing was sent: {error}") from None
        Outbox(home, current.thread_id).write(client_id, len(steps), text)
        self._begun[current.thread_id] = Begun.now(process, client_id)
        self._made.pop(session.id, None)
        process.say(text)
        native = self._find(process, home, client_id)
        self._ids[native] = (client_id, session.client_ids | {client_id})
        return native

    def _find(self, process: HarnessProcess, home: Path, client_id: str) -> NativeTurn:
        found: list[Invocation] = []

        def there() -> bool:
            read = self._stored(home, process.cascade_id)
            found[:] = [one for one in conversation.invocations(read) if client_id in one.client_ids]
            return bool(found) or not process.alive

        process.wait(there, FIND_SECONDS, PAUSE)
        if len(found) != 1 or not found[0].execution:
            raise Uncertain("the text was sent and is not in the store")
        return found[0].native

    def _stored(self, home: Path, cascade_id: str) -> Conversation:
        read = store.look(home, cascade_id, "", abandoned=False)
        return replace(read, client_ids=Outbox(home, cascade_id).claimed(read.steps))

    def observe(self, native: NativeTurn, timeout: float) -> Observation:
        """See `Runtime.observe`. Facts are told only of a look that was whole."""
        home = self._homes.get(native.thread_id)
        if home is None:
            raise Unreadable("no process of ours has had the conversation loaded")
        deadline = time.monotonic() + timeout
        while True:
            seen = self._look_at(home, native)
            one = seen.bound
            cancelled = native in self._cancelled
            now = conversation.observation(one, cancelled) if one is not None else Observation("in_progress", False)
            left = deadline - time.monotonic()
            if now.ended or left <= 0:
                break
            self._pause(native.thread_id, left)
        if not all(read.answered for read in seen.conversations):
            raise Unreadable(str(seen.problem))
        return replace(now, readings=facts.readings(seen) if seen.agree else {})

    def _look_at(self, home: Path, native: NativeTurn) -> Seen:
        client_id, known = self._ids.get(native, ("", None))
        at = self._clock()
        read = [self._look(home, native.thread_id)]
        return Seen(read, known, client_id, native, at, self._cancelled)

    def _pause(self, cascade_id: str, seconds: float) -> None:
        """Until the conversation rests, at most; where it does, its record may still be on the way to the store."""
        process = self._process(cascade_id)
        if process is not None and process.state != RESTING:
            process.wait(lambda: process.state == RESTING or not process.alive, seconds, 1.0)
        else:
            time.sleep(min(seconds, PAUSE))

    def cancel(self, native: NativeTurn) -> None:
        """See `Runtime.cancel`, and `stopping`."""
        home = self._homes.get(native.thread_id)
        if home is None:
            raise Uncertain("no process of ours has had the conversation loaded")
        process = self._process(native.thread_id)
        begun = self._begun.get(native.thread_id)
        stopping = Stopping(home, native, process, begun, lambda: self._stored(home, native.thread_id))
        if process is not None and not stopping.halt():
            self._let_go(process)
        stopping.end_commands()
        self._cancelled.add(native)

    def release(self, session: SessionView) -> bool:
        """See `Runtime.release`. A conversation in which a turn or a background command runs is kept."""
        with self._guard:
            made = self._made.get(session.id)
            ids = [*(thread.thread_id for thread in session.threads), *([made] if made else [])]
            kept = False
            for cascade_id in dict.fromkeys(ids):
                process = self._process(cascade_id)
                if process is not None and process.state == RESTING and not process.living():
                    self._let_go(process)
                elif process is not None:
                    kept = True
            if not kept:
                self._made.pop(session.id, None)
            return not kept

    def close(self) -> None:
        """See `Runtime.close`. The harness ends its commands with itself; those that it forgot are ended here."""
        with self._guard:
            for process in list(self._processes.values()):
                self._let_go(process)
                process.commands.end(lambda command: True)
            self._made.clear()

    def _let_go(self, process: HarnessProcess) -> None:
        with self._guard:
            self._processes.pop(process.cascade_id, None)
        process.end()


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        told = folder.stat()
    except (OSError, ValueError):
        return None
    return told.st_dev, told.st_ino
