"""Have the policies been changed, and may the new ones be used?

The folder's content is looked at now and then, whatever else is done meanwhile. What has stood still for a moment is
loaded, compiled and tried in another process; when that fails the last good set stays in force, and the failure is told
until the content is another. A decision names the digest of its policy, so that one can see by which set it was made.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from oncemore.engine.errors import OncemoreError
from oncemore.engine.rulebook import Rulebook
from oncemore.rules.errors import RulesError
from oncemore.rules.folder import content_digest
from oncemore.rules.loading import load_policies

log = logging.getLogger("oncemore.policies")

STILL = 1_000
"""For how long a changed content must have stood still before it counts, milliseconds: an editor writes in parts."""

EVERY = 1_000
"""How often the content is looked at, milliseconds."""


class PolicyWatch:
    """The policies in force, and the folder that they come from.

    Args:
        folder: of rule files; or one such file.
        ticks: milliseconds that pass, whatever the system clock is set to.

    Attributes:
        rules: the set in force; replaced as a whole. Its `trouble` says what is wrong with a newer content.
        told: called with each new set, in the thread that looks.

    Raises:
        RulesInvalid, NoPolicies, PolicyRefused, EngineUnavailable: the first set cannot be used.
    """

    def __init__(self, folder: Path, ticks: Callable[[], float] = lambda: time.monotonic() * 1000) -> None:
        self._folder = folder
        self._ticks = ticks
        self._used = content_digest([folder])
        self._seen = self._used
        self._since = self._looked = ticks()
        self._hurried = False
        self._looking = threading.Lock()
        self.rules = Rulebook(load_policies([folder]))
        self.told: list[Callable[[Rulebook], None]] = []

    def hurry(self) -> None:
        """Somebody says that the content is whole now: the next look takes it as it is, and tries again what failed.
        May be called by a signal's handler."""
        self._hurried = True

    def look(self) -> bool:
        """Whether another set is in force since this look. Nobody waits for a look of another thread."""
        if not self._looking.acquire(blocking=False):
            return False
        try:
            return self._look()
        finally:
            self._looking.release()

    @contextmanager
    def followed(self, every: float = EVERY / 1000) -> Iterator[None]:
        """The folder is looked at by a thread of its own meanwhile: a Turn that runs long keeps no edit waiting.

        Args:
            every: seconds between two looks.
        """
        over = threading.Event()

        def follow() -> None:
            while not over.wait(every):
                try:
                    self.look()
                except Exception:
                    log.exception("the folder of policies could not be looked at")

        thread = threading.Thread(target=follow, name="policies", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _look(self) -> bool:
        hurried, self._hurried = self._hurried, False
        now = self._ticks()
        if not hurried and now - self._looked < EVERY:
            return False
        self._looked = now
        content = content_digest([self._folder])
        if content != self._seen:
            self._seen, self._since = content, now
        if hurried:
            return self._take(content)
        if content == self._used or now - self._since < STILL:
            return False
        return self._take(content)

    def _take(self, content: str) -> bool:
        before, self._used = self._used, content
        try:
            policies = load_policies([self._folder])
            if policies.digest == self.rules.digest:
                self.rules.trouble = None
                return False
            published = Rulebook(policies)
        except (RulesError, OncemoreError, OSError) as error:
            if content_digest([self._folder]) != content:
                self._used = before
                return False
            self.rules.trouble = f"{getattr(error, 'code', 'OSError')}: {str(error).strip()}"
            log.error(
                "the policies were changed and cannot be used; the last good ones stay in force; "
                "`oncemore check` says why"
            )
            return False
        if content_digest([self._folder]) != content:
            # It was written to meanwhile: what was loaded may be half of it.
            self._used = before
            return False
        published.observer = self.rules.observer
        self.rules = published
        log.warning("the policies were changed; %s is in force", published.digest)
        for tell in self.told:
            tell(published)
        return True
