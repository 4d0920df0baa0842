"""What does every route work with? The opened house, the rules in force, and a way to read and write the journal.

The event loop never touches the database: reads go to a thread with a connection of its own, writes to the one thread
that commits for everybody and answers after the commit. Evaluation is the exception, and touches no database: the
engine's state belongs to the thread that asks, and all posted cases are decided in the loop's own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from anyio import to_thread

from oncemore.adapters.api.keys import Key, Keys, pepper, pepper_file
from oncemore.adapters.api.working import Work
from oncemore.adapters.wiring import House
from oncemore.engine.errors import JournalRefused
from oncemore.engine.group_commit import GroupCommit
from oncemore.engine.rulebook import Rulebook

Result = TypeVar("Result")

READERS: Final = 8
"""Reads at once; fewer than a process has connections, so that none keeps the worker or the commits waiting."""


class Service:
    """One opened house, as the routes see it.

    Args:
        house: stays open until this is closed.
        rules: the policies in force.

    Attributes:
        rules: replaced as a whole when policies are loaded anew; take it once for each call.
        clock: milliseconds since the epoch.
        worker: what does what is due, where something does in this process.
        metrics: what is measured and its media type, where something is; it reads the journal.

    Raises:
        ConfigurationRefused: the keys' pepper may not be used.
    """

    def __init__(self, house: House, rules: Rulebook) -> None:
        self.house = house
        self.rules = rules
        self.clock: Callable[[], int] = house.journal.clock
        self.keys = Keys(house.journal, pepper(pepper_file(house.configuration)), self.clock)
        self.worker: Work | None = None
        self.metrics: Callable[[], tuple[bytes, str]] | None = None
        self._commits = GroupCommit(house.journal)
        self._readers = threading.BoundedSemaphore(READERS)
        self._keys_read: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Write what waits, then write no more."""
        if self.keys.used:
            self.note(self.keys.note_used)
        self._commits.close()

    def replace_rules(self, rules: Rulebook) -> None:
        """Decide by another set of policies from now on."""
        self.rules = rules

    def note(self, work: Callable[[], object]) -> None:
        """Write something that nobody waits for, and that is no loss where nothing can be written."""
        with suppress(JournalRefused):
            self._commits.submit(work)

    async def know_keys(self) -> None:
        """What is known of the keys is not old."""
        while self.keys.stale:
            await asyncio.shield(self._reading_keys())
        if self.keys.ageing:
            self._reading_keys()  # so that no call has to wait for it

    def _reading_keys(self) -> asyncio.Task[None]:
        """One look at the keys for all who need one."""
        if self._keys_read is None or self._keys_read.done():
            self._keys_read = asyncio.create_task(self.read(self.keys.refresh))
            self._keys_read.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._keys_read

    async def opens(self, key: Key) -> bool:
        """Whether a key that opened a long call still opens anything."""
        await self.know_keys()
        return self.keys.current(key.id) is not None

    async def read(self, work: Callable[[], Result]) -> Result:
        """What `work` reads of the journal, all of it of one moment, in a thread that is connected to it."""

        def connected() -> Result:
            with self._readers, self.house.journal.connected(), self.house.journal.snapshot():
                return work()

        return await to_thread.run_sync(connected)

    async def write(self, work: Callable[[], Result]) -> Result:
        """What `work` gives, after it is committed; it runs in a transaction, which its exception undoes."""
        result = await asyncio.wrap_future(self._commits.submit(work))
        if self.worker is not None:
            self.worker.wake()
        return result
