"""How does a person want to read what is happening? As sentences with the time, while it happens.

Everything told is read from the journal's events; the process ids are asked of the runtime while the processes live.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.engine import texts
from oncemore.engine.crashpoints import CrashPoint
from oncemore.engine.explanation import sentence
from oncemore.engine.journal_records import of_pass
from oncemore.engine.tables import Attempt, Delivery, Event, Request, Session, Turn

Say = Callable[[str], None]

_SILENT = frozenset({"queued", "claimed", "start_intent", "frozen", "send_intent", "send_receipt"})
"""Events of the journal's own bookkeeping; `oncemore show` lists them."""


def clock(ms: int) -> str:
    """A time of day here, to the millisecond."""
    return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(timespec="milliseconds")[11:23]


class Teller:
    """Tells the events of one Request, each once.

    Attributes:
        processes: ids of the Codex processes seen running a Turn of it, by the Turn.

    Args:
        runtime: the Codex that runs Turns of it; None where none does.
    """

    def __init__(self, request: str, runtime: CodexRuntime | None, say: Say) -> None:
        self.processes: dict[str, int] = {}
        self._request = request
        self._runtime = runtime
        self._say = say
        self._told = 0
        self._denied: set[tuple[str, str]] = set()

    def checkpoint(self, point: CrashPoint, subject: str) -> None:
        """Listen to the executor; every point is one between two stored facts."""
        self.tell()

    def tell(self) -> None:
        """Tell what has been stored since the last time."""
        for event in Event.select().where(Event.request == self._request, Event.seq > self._told).order_by(Event.seq):
            self._told = event.seq
            if event.kind not in _SILENT:
                for line in self._lines(event.kind, json.loads(event.body)):
                    self._say(f"  {clock(event.at)}  {line}")

    def _lines(self, kind: str, body: dict[str, Any]) -> list[str]:
        match kind:
            case "accepted":
                row = Request.get_by_id(self._request)
                return [f'{row.sender} asks: "{texts.fetch(row.digest)}" (Request {self._request})']
            case "started":
                return self._started(body)
            case "ended":
                return self._ended(body)
            case "verified":
                return self._delivered(body["stage"])
            case "decided":
                judged = [one for one in of_pass(body["decision_pass"]) if self._is_news(one)]
                return [f"decided ({body['stage']}): {sentence(one, 'en')}" for one in judged]
            case "reserved":
                kind = Attempt.get(Attempt.turn == body["turn"]).kind
                return [f"{'a' if kind == 'quota' else 'the one'} try is reserved: {body['turn']}"]
            case "answered":
                return ["the Request is answered; nothing is left to do"]
            case _:
                return [f"{kind}: {json.dumps(body, ensure_ascii=False)}"]

    def _is_news(self, record: Mapping[str, Any]) -> bool:
        """Whether a decision is worth telling: a policy that denies for the reason that it gave before is not."""
        if record["outcome"] == "not_concerned":
            return False
        denial = (record["policy"]["name"], record["reason"]["gate"]) if record["outcome"] == "deny" else None
        known = denial in self._denied
        self._denied |= {denial} if denial is not None else set()
        return not known

    def _started(self, body: dict[str, Any]) -> list[str]:
        processes = {} if self._runtime is None else dict(self._runtime.processes())
        pid = processes.get(body["thread"])
        if pid is None and self._at_the_server(body["turn"]):
            return [f"the language server runs the Turn {body['turn']}: {body['thread']}, its turn {body['native']}"]
        if pid is not None:
            self.processes[body["turn"]] = pid
        return [
            f"Codex runs the Turn {body['turn']}: process {'unknown' if pid is None else pid}, "
            f"thread {body['thread']}, its turn {body['native']}"
        ]

    def _at_the_server(self, turn: str) -> bool:
        row = Turn.get_by_id(turn)
        return row.phase != "review" and Session.get_by_id(row.session).runtime == "antigravity"

    def _ended(self, body: dict[str, Any]) -> list[str]:
        lines = [f"the Turn ended: {body['status']}" + (f", {body['error']}" if body["error"] != "none" else "")]
        row = Turn.get_by_id(body["turn"])
        if row.response_digest is not None:
            report = json.loads(texts.fetch(row.response_digest))["report"]
            if report is not None:
                lines.append(f'its report: done "{report["completed"]}", left "{report["remaining"]}"')
        return lines

    def _delivered(self, stage: str) -> list[str]:
        row = Delivery.get(Delivery.request == self._request, Delivery.stage == stage)
        how = "told to" if stage == "notice" else "answered to"
        return [f'{how} the person, and read back: "{texts.fetch(row.text_digest)}"']
