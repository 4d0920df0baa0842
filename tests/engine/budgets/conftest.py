"""Several people's conversations whose work is unfinished, and one worker in this process that may take it up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.scripted import install
from tests.engine.executor.worker_process import shipped_rulebook
from tests.engine.executor.world import BACKOFF, KEY, World, reported, world

from oncemore.adapters import wiring
from oncemore.adapters.demo.model import ModelRequest, Say, Script
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Attempt, Request
from oncemore.engine.worker import Worker

POLICY = "continue-unfinished-work"
OWNERS = {"notes": "ann", "plans": "ann", "lists": "bob"}


class Office:
    """See the module.

    Attributes:
        requests: by workspace, the Request whose Turn ended unfinished.
        rules: the policies; None: the shipped ones, shared by all tests.
        first: what the model answers at first; None: it reports unfinished work.
    """

    def __init__(self, w: World, cleanup: ExitStack) -> None:
        self.w, self._cleanup = w, cleanup
        self.requests: dict[str, str] = {}
        self.rules: Rulebook | None = None
        self.first: Callable[[ModelRequest], Script] | None = None

    def opens(
        self, top: str = "", level: str = "enforce", fields: str = "", policies: tuple[str, ...] = (POLICY,)
    ) -> Office:
        """Open the house with what else stands in its configuration, and let every conversation's first Turn end."""
        w = self.w
        w.program = install(w.folder)
        w.plot.first = self.first or (lambda request: Say(f"Part one is written. {reported(request)}"))
        w.plot.second = lambda request: Say("Part two is written.")
        w.entries["top"] = top
        w.configure(policy_level=level, policies=policies)
        text = w.configuration.read_text()
        at = text.index("workspaces:")
        lines = ""
        for name, owner in OWNERS.items():
            folder = w.folder / name
            folder.mkdir(exist_ok=True)
            lines += f"  {name}: {{path: {folder}, owner: {owner}, level: workspace_write, revision: 1{fields}}}\n"
        w.configuration.write_text(text[:at] + "workspaces:\n" + lines)
        self.house = self._cleanup.enter_context(wiring.opened(w.configuration, clock=w.now, worker=True))
        self.context = wiring.context(self.house, self.rules or shipped_rulebook())
        self.worker = Worker(self.context)
        w.inside = self.house
        for name in OWNERS:
            self.requests[name] = self.house.ask(name, "Write one.md and two.md.")
        self.works()
        return self

    def close(self) -> None:
        """Let another one open the house."""
        self.w.inside = None
        self._cleanup.close()

    def works(self, later: int = 0) -> None:
        """Everything that is due after so many milliseconds."""
        self.w.offset += later
        while self.worker.run_due():
            pass

    def backoff(self) -> None:
        """The minute for which a completed Turn is left alone goes by."""
        self.works(BACKOFF)

    def occupies(self, workspace: str) -> None:
        """A recovery of this one is reserved and comes to no end."""
        request = self.requests[workspace]
        with self.house.journal.transaction():
            now = self.house.journal.advance_clock().ms
            Attempt.insert(
                request=request,
                kind="work",
                ordinal=1,
                turn=f"{request}-work-1",
                decision="sha256:0",
                state="reserved",
                open=True,
                reserved_at=now,
            ).execute()
            Request.update(due_at=None, held="elsewhere").where(Request.id == request).execute()

    def reserved(self) -> list[str]:
        """Workspaces whose work was taken up, in that order."""
        by_request = {request: name for name, request in self.requests.items()}
        return [by_request[row["request"]] for row in self.w.rows("select request from attempt order by reserved_at")]

    def row(self, workspace: str) -> dict[str, Any]:
        return self.w.row("select * from request where id = ?", self.requests[workspace])

    def wait(self, workspace: str) -> dict[str, Any]:
        return self.w.row("select * from budget_wait where request = ?", self.requests[workspace])

    def kinds(self, workspace: str) -> list[str]:
        """What happened to a conversation's Request, in order."""
        rows = self.w.rows("select kind from event where request = ? order by seq", self.requests[workspace])
        return [row["kind"] for row in rows]


class Impatient:
    """The rulebook, of policies that wait for half an hour."""

    def __init__(self, rules: Rulebook) -> None:
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rules, name)

    def patience(self, policy: str) -> int:
        return 1_800_000


@pytest.fixture
def office(tmp_path: Path, place: Path | str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setenv(KEY, "none")
    with world(tmp_path, place) as w, ExitStack() as cleanup:
        yield Office(w, cleanup)
