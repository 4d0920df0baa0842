"""A house in which everything that the page shows has happened, by the real engine over the scripted app-server.

The clock of the journal is put forward instead of waited for. What people and the model say is in part hostile.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from tests.adapters.codex.scripted import install
from tests.engine.executor.worker_process import shipped_rulebook

from oncemore.adapters import wiring
from oncemore.adapters.codex.home import write_config
from oncemore.adapters.demo.model import Fail, ModelRequest, Say, Script, ScriptedModel
from oncemore.adapters.inbox import Inbox
from oncemore.engine import intake, levels
from oncemore.engine.errors import Uncertain, Unreadable
from oncemore.engine.ports import Receipt, Search, Source, SourceRef
from oncemore.engine.tables import Request
from oncemore.engine.worker import Worker

KEY = "ONCEMORE_PAGE_TESTS_KEY"
MINUTE = 60_000
WORKSPACES = ("drafts", "letters", "minutes", "notes", "plans", "reports", "slides", "tables")
CONTINUES = "one continuation"

HOSTILE = (
    "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
    "{{ 7 * 7 }} ${document.title} \u202e\u2066gnp.exe\u2069 \u0007\u001b[31mred\u200b "
    "javascript:alert(1) </blockquote></main><h1>Signed out</h1> " + "W" * 3_000
)
"""What a hostile person and a hostile model say."""


@dataclass
class Told:
    """What happened, by Request.

    Attributes:
        folder: with the configuration and the journal.
        offset: how far the journal's clock is before the system's.
        requests: ids by workspace.
    """

    folder: Path
    offset: int = 0
    requests: dict[str, str] = field(default_factory=dict)

    @property
    def configuration(self) -> Path:
        return self.folder / "oncemore.yaml"

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self.offset


def _reported(request: ModelRequest, text: str, remaining: str) -> Script:
    """An answer that itself says what is missing."""
    found = re.search(r"<oncemore-(\w+)>", request.last_user)
    assert found is not None
    report = {"report": {"completed": "The first part.", "remaining": remaining, "effects_settled": True}}
    return Say(f"{text}\n<oncemore-{found[1]}>{json.dumps(report)}</oncemore-{found[1]}>")


def _model(request: ModelRequest) -> Script:
    if CONTINUES in request.last_user:
        return Say("Part two is written too: the summary stands at the end of the report.")
    if "draft of the speech" in request.last_user:
        return Say("Dear all, the year was a long one.")
    if "limit" in request.last_user:
        return Fail("usage_limit")
    if "<script>" in request.last_user:
        return Say(HOSTILE)
    if "季度" in request.last_user:
        return _reported(request, "第一部分已写好，数据来源暂时无法访问。", "第二部分")
    return _reported(request, "Part one is written. The source of the figures was not reachable.", "part two")


class Silent:
    """The inbox, on an evening when it takes no reply that it tells of and shows nothing."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inbox, name)

    def reply(self, ref: SourceRef, text: str, key: str) -> Receipt:
        raise Uncertain("no answer")

    def find(self, ref: SourceRef, text: str, key: str, receipt: Receipt | None) -> Search:
        raise Unreadable("the source does not answer")


@contextmanager
def _worker(told: Told, *, silent: bool = False) -> Iterator[tuple[wiring.House, Worker]]:
    with wiring.opened(told.configuration, clock=told.now, worker=True) as house:
        context = wiring.context(house, shipped_rulebook())
        if silent:
            context.ports = replace(context.ports, sources={"inbox": cast(Source, Silent(house.inbox))})
        with Worker(context) as worker:
            yield house, worker


def build(folder: Path, journal: str = "data/oncemore.db") -> Told:
    """Let everything happen, in a journal."""
    told = Told(folder)
    folder.chmod(0o700)
    (folder / "data").mkdir(mode=0o700)
    with ScriptedModel(_model) as model:
        write_config(folder / "codex", model.base_url, KEY)
        for name in WORKSPACES:
            (folder / name).mkdir(mode=0o755)
        capacity = f"{{url: '{model.url}/capacity', path: state, available: available, exhausted: exhausted}}"
        granted = "owner: ann, level: workspace_write, revision: 1"
        entries = (f"  {name}: {{path: {folder / name}, {granted}}}\n" for name in WORKSPACES)
        told.configuration.write_text(
            f"journal: {journal}\nlevels: levels.yaml\n"
            f"runtimes:\n  codex:\n    home: codex\n    environment: [{KEY}]\n    binary: {install(folder)}\n"
            f"    capacity: {capacity}\nworkspaces:\n" + "".join(entries)
        )
        told.configuration.chmod(0o600)
        (folder / "levels.yaml").write_text("continue-unfinished-work: enforce\nretry-quota: enforce\n")
        _happen(told)
    return told


def _happen(told: Told) -> None:
    asked = told.requests
    with _worker(told) as (house, worker):
        # One that is recovered, and one whose message is taken back.
        asked["reports"] = house.ask("reports", "Please write the report on the third quarter, and its summary.")
        asked["letters"] = house.ask("letters", "Draft a letter to the landlord about the heating, please.")
        worker.run_due()
        house.inbox.recall(_message(asked["letters"]))
        told.offset += 2 * MINUTE
        worker.run_due()
        # What shadow would have done, and how that conversation went on.
        _level(house, "shadow", "Watched for a week first.")
        asked["minutes"] = house.ask("minutes", "Write up the minutes of Tuesday’s meeting.")
        worker.run_due()
        told.offset += 3 * MINUTE
        worker.run_due()
        told.offset += 12 * MINUTE
        intake.stop(house.journal, asked["minutes"], "operator", "Ann wrote them up herself.")
        asked["slides"] = house.ask("slides", HOSTILE)
        worker.run_due()
        # What is advised, and what waits.
        _level(house, "advise", "Ann decides for now.")
        asked["plans"] = house.ask("plans", "Write the plan for the move in two parts.")
        worker.run_due()
        told.offset += 2 * MINUTE
        worker.run_due()
        asked["tables"] = house.ask("tables", "A limit is reached while this table is filled in.")
        worker.run_due()
        asked["notes"] = house.ask("notes", "请写第三季度的总结，分两部分。季度数据见附件。", language="zh")
        worker.run_due()
    # A reply of which nobody knows whether it arrived.
    with _worker(told, silent=True) as (house, worker):
        asked["drafts"] = house.ask("drafts", "Write a first draft of the speech.")
        worker.run_due()
        told.offset += 6_000  # before anything that waits is due
        worker.run_due()


def _message(request: str) -> str:
    return str(Request.get_by_id(request).message)


def _level(house: wiring.House, level: str, why: str) -> None:
    with house.journal.transaction():
        now = house.journal.advance_clock().ms
        levels.change("continue-unfinished-work", level, who="key ann", why=why, at=now)
