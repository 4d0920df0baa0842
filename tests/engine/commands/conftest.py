"""A conversation in the App's inbox with its journal, and a worker that delivers; no runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from oncemore.adapters.grants import ConfiguredGrants
from oncemore.adapters.inbox import Inbox
from oncemore.engine import commands, executor, intake, texts
from oncemore.engine.context import Context
from oncemore.engine.journal import Journal
from oncemore.engine.ports import Ports
from oncemore.engine.rulebook import Rulebook
from oncemore.engine.tables import Attempt, Delivery, Event, Request, Session, Turn

CHAT = "notes"


class Talk:
    """What people write, and what is answered."""

    def __init__(self, folder: Path, place: Path | str) -> None:
        self.time = 1_800_000_000_000
        workspace = folder / "notes"
        workspace.mkdir()
        file = folder / "oncemore.yaml"
        file.write_text(
            "journal: data/oncemore.db\n"
            f"workspaces:\n  notes: {{path: {workspace}, owner: ann, level: workspace_read, revision: 1}}\n"
        )
        file.chmod(0o600)
        self.journal = Journal(place, clock=lambda: self.time)
        self.inbox = Inbox(self.journal)
        self.grants = ConfiguredGrants(file, clock=lambda: self.time)
        self.context = Context(
            journal=self.journal,
            ports=Ports(sources={"inbox": self.inbox}, grants=self.grants),
            rules=cast(Rulebook, None),  # nothing is decided here
        )

    @property
    def session(self) -> str:
        """The Session that the conversation's next message comes into."""
        return intake.open_session(
            self.journal, self.grants.grant("notes"), runtime="codex", home="/h", source="inbox", conversation=CHAT
        )

    def posted(self, text: str, author: str = "ann", language: str = "en") -> intake.Arrival:
        """A message that stands in the conversation and is not taken in yet."""
        message = self.inbox.post(CHAT, author, text, command=commands.command(text) is not None)
        return intake.Arrival(message=message, sender=author, text=text, language=language)

    def say(self, text: str, author: str = "ann", language: str = "en") -> str:
        """A message is written and taken in; its Request."""
        arrival = self.posted(text, author, language)
        if commands.command(text) is None:
            return intake.accept(self.journal, self.session, arrival)
        return commands.accept_command(self.journal, self.session, arrival)

    def begin(self, request: str) -> str:
        """The Request's Turn runs; its id."""
        turn = f"{request}-business-1"
        Turn.update(status="running", started_at=self.time).where(Turn.id == turn).execute()
        Session.update(active_turn=turn).where(Session.id == Request.get_by_id(request).session).execute()
        return turn

    def end(self, request: str, **fields: object) -> None:
        """The Request's Turn has ended, with an answer unless said otherwise."""
        with self.journal.transaction():
            stored = texts.store("done", self.time)
            told = {"status": "completed", "has_reply": True, "reply_digest": stored.digest, **fields}
            Turn.update(ended_at=self.time, **told).where(Turn.request == request).execute()
            Session.update(active_turn=None).execute()

    def deliver(self, *requests: str) -> None:
        """Everything that is due of these Requests is done."""
        for request in requests:
            executor.advance(self.context, request)

    def answers(self, request: str) -> list[str]:
        """What stands under the Request's message in the conversation."""
        message = Request.get_by_id(request).message
        return [post.text or "" for post in self.inbox.conversation(CHAT) if post.answers == message]

    def frozen(self, request: str) -> list[tuple[str, str]]:
        """Stages and texts that are to be delivered for a Request."""
        rows = Delivery.select().where(Delivery.request == request).order_by(Delivery.stage)
        return [(row.stage, texts.fetch(row.text_digest)) for row in rows]

    def state(self, request: str) -> str:
        return str(Request.get_by_id(request).state)

    def everything(self) -> list[object]:
        """Every row that a command could change, without the count of how often a Session was locked."""
        tables = (Session, Request, Turn, Delivery, Event, Attempt)
        rows = [row for table in tables for row in table.select().dicts()]
        return [{name: value for name, value in row.items() if name != "fence"} for row in rows]


@pytest.fixture
def talk(tmp_path: Path, place: Path | str) -> Iterator[Talk]:
    tmp_path.chmod(0o755)
    made = Talk(tmp_path, place)
    yield made
    made.journal.close()
