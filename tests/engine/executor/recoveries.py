"""The recoveries of docs/crash-points.md as stories: each from a person's message to the moment in which it fires.

Codex is the real one or the scripted app-server, Antigravity the language server of the tests or the real harness; the
Source is the inbox or Lark. What happened is counted in their own books.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.adapters.antigravity.fake import FakeLanguageServer, Look, command, planned, viewed
from tests.adapters.codex.scripted import install
from tests.adapters.feishu.conftest import ANN
from tests.adapters.feishu.fake import FakeLark
from tests.engine.executor import crash_aftermath
from tests.engine.executor.world import World, hanging

from oncemore.adapters import wiring
from oncemore.adapters.antigravity import store
from oncemore.adapters.demo.chat import ChatModel
from oncemore.adapters.demo.model import Call, Drop, Fail, ModelRequest, Say, Script
from oncemore.adapters.feishu import Event, events

MINUTE = 60_000
QUESTION = "How many notes are there?"
ANSWER = "There are two."
DRAFT = "There are two, and the"
TOKEN, SECRET = "LANGUAGE_SERVER_TOKEN", "ONCEMORE_TEST_LARK_SECRET"
PLANNERS = {sandbox: {"requestedModel": {"model": "scripted"}} for sandbox in ("workspace_write", "read_only")}

Programs = Literal["scripted", "real", "harness"]
"""Codex scripted or real; `harness`: both Codex and Antigravity are real programs."""


@dataclass(frozen=True)
class Story:
    """One recovery.

    Attributes:
        policies: which are in force.
        times: offsets of the clock at which workers work; at the last one the recovery fires.
        failure: what the model says until then, so many times.
        left: what Antigravity's Turn comes to; None where the message goes to Codex.
        said: what the model says to a real harness in this workspace, for its Turn to come to the same; None where it
            cannot.
    """

    policies: tuple[str, ...]
    times: tuple[int, ...]
    failure: tuple[Script, int] = (Say(""), 0)
    left: Look | None = None
    said: Callable[[Path], Script] | None = None


def looked(folder: Path) -> Call:
    """A look into the folder, as the harness's model asks for it."""
    said = {"toolAction": "Looking", "toolSummary": "A look"}
    return Call("list_dir", {"DirectoryPath": str(folder), **said})


STORIES = {
    "retry-quota": Story(("retry-quota",), (0, 6 * MINUTE), (Fail("usage_limit"), 1)),
    "retry-route": Story(("retry-route",), (0, 2 * MINUTE), (Fail("http502"), 1)),
    "review-exhausted-answer": Story(
        ("retry-quota", "review-exhausted-answer"),
        (0, 6 * MINUTE, 37 * MINUTE, 158 * MINUTE, 160 * MINUTE),
        (Fail("usage_limit"), 4),
    ),
    "review-interrupted-answer": Story(
        ("review-interrupted-answer",),
        (0, 2 * MINUTE),
        left=Look([planned(DRAFT, "CLEARED", stop="")], executors=[("ERROR", 0)]),
        said=lambda folder: Drop(DRAFT),
    ),
    "review-interrupted-results": Story(
        ("review-interrupted-results",),
        (0, 2 * MINUTE),
        left=Look([planned("", calls=["call-1"]), viewed("one.md\ntwo.md\n")], executors=[("ERROR", 1)]),
        said=lambda folder: [looked(folder), Fail("http500")],
    ),
    "settle-cancelled-turn": Story(
        ("settle-cancelled-turn",),
        (0,),
        left=Look([planned("I will", calls=["call-1"]), command(state="CANCELED"), planned("", "CANCELED", stop="")]),
    ),
}


class Stage:
    """A story that is being played."""

    def __init__(self, w: World, story: Story, programs: Programs, cleanup: ExitStack, on_lark: bool) -> None:
        self.w, self.story, self._on_lark = w, story, on_lark
        self.desk: FakeLanguageServer | None = None
        self._lark = cleanup.enter_context(FakeLark(w.now)) if on_lark else None
        w.program = install(w.folder) if programs == "scripted" else None
        if story.left is not None:
            self._antigravity(story.left, programs, cleanup)
        if self._lark is not None:
            w.owner = ANN
            team: dict[str, object] = {"kind": "feishu", "base": self._lark.base_url, "app_id": self._lark.app_id}
            team |= {"secret": {"environment": SECRET}}
            w.entries["top"] = f"sources: {json.dumps({'team': team})}\n"
            w.entries["notes"] = w.entries.get("notes", "") + ", source: team"
        (w.workspace / "notes.md").write_text("one\ntwo\n")
        w.configure(level="portfolio_read", role="steward", policies=story.policies)
        self.answers(Say(ANSWER))
        self._message = self._asked()

    def _antigravity(self, left: Look, programs: Programs, cleanup: ExitStack) -> None:
        w = self.w
        entry: dict[str, object] = {"home": "antigravity"}
        if programs == "harness":
            assert self.story.said is not None
            said = self.story.said(w.workspace)
            chat = cleanup.enter_context(ChatModel(lambda request: said))
            # Its steps are all done when its stream breaks; that this closes them is for the operator to say.
            entry |= {"harness": {"model": "scripted", "base_url": chat.base_url}, "markers": ["DONE"]}
        else:
            self.desk = cleanup.enter_context(FakeLanguageServer(w.workspace, clock=w.now))
            self.desk.after_send(left)
            entry |= {"server": self.desk.base_url, "token": {"environment": TOKEN}, "planners": PLANNERS}
        told = json.dumps(entry).removesuffix("}").replace("{", "{{").replace("}", "}}")
        w.entries["runtimes"] = f"  antigravity: {told}, capacity: {{capacity}}}}}}\n"
        w.entries["notes"] = ", runtime: antigravity"

    def _asked(self) -> str:
        if self._lark is None:
            self.w.ask(QUESTION)
            return ""
        message = self._lark.post("oc_private", ANN, QUESTION)
        with wiring.opened(self.w.configuration, clock=self.w.now) as house:
            app = {"app_id": self._lark.app_id, "verification_token": self._lark.verification_token}
            told = events.read(self._lark.event(message), **app)
            assert isinstance(told, Event)
            assert house.arrive(told).how == "new"
        return message

    def answers(self, answer: Script | None) -> None:
        """What the model says after its failures; None: it hangs."""
        failure, times = self.story.failure

        def script(request: ModelRequest) -> Script:
            if self.w.model.calls < times:
                return failure
            return answer if answer is not None else hanging(self.w)(request)

        self.w.plot.first = self.w.plot.other = script

    def native_turns(self) -> int:
        """In every runtime's own book."""
        sent = len(self.desk.sends) if self.desk is not None else 0
        return len(self.w.native_turns()) + sent + self._stored()

    def _stored(self) -> int:
        """How many inputs are in the store of the harness."""
        if self.desk is not None or self.story.left is None:
            return 0
        threads = self.w.rows("select thread from session_thread where runtime = 'antigravity'")
        steps = [step for row in threads for step in store.read(self.w.folder / "antigravity", row["thread"])[0]]
        return sum(step.kind == "USER_INPUT" for step in steps)

    def replies(self) -> list[str]:
        """In the Source's own book."""
        if self._lark is None:
            return self.w.replies()
        return [reply.text.strip() for reply in self._lark.replies(self._message)]

    def proofs(self) -> dict[str, int]:
        """How often a call was settled by which proof."""
        return crash_aftermath.proofs(self.w, "send_again" if self._on_lark else "not_sent")


@contextmanager
def stage(w: World, policy: str, programs: Programs, on_lark: bool) -> Iterator[Stage]:
    """A person has asked; nothing has been done yet."""
    with ExitStack() as cleanup:
        made = Stage(w, STORIES[policy], programs, cleanup, on_lark)
        cleanup.callback(w.release.set)
        yield made
