"""How does a program of yours ask Oncemore? A thin client of the service, with types.

    from oncemore.adapters.client import Client

    with Client("http://127.0.0.1:8711", key) as oncemore:
        decided = oncemore.decide({"facts": {"turn.status": "completed"}})
        if decided["fired"] is None:
            ...

One client may be used from several threads. Nothing is retried but the post of a message, which is safe to repeat.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Final, Literal, Self, TypedDict
from urllib.parse import quote

from oncemore.adapters.errors import AdapterError, Mistake
from oncemore.adapters.wire import Answer, NotSent, Wire
from oncemore.engine.errors import Uncertain

BYTES: Final = 64 * 1024 * 1024
"""Of an answer; one case by the shipped policies, explained gate by gate, takes some 150 KB."""

TOGETHER: Final = 50
"""Cases in one call of a batch."""

Outcome = Literal["fire", "wait", "hold", "deny", "not_concerned"]
State = Literal["open", "answered", "stopped", "superseded", "all"]


class Decided(TypedDict):
    """What the rules say of a case; the records are those of `oncemore decide`."""

    outcome: Outcome
    fired: str | None
    decisions: list[dict[str, Any]]


class Accepted(TypedDict):
    """A message that was taken in; `replayed` when it had been before."""

    request: str
    message: str
    replayed: bool


class Line(TypedDict):
    """How one Request stands."""

    request: str
    workspace: str
    state: str
    doing: str
    since: str
    gate: str | None
    until: str | None
    helps: str
    running_for: str | None


class Changed(TypedDict):
    """What a person's word left a Request as."""

    request: str
    state: str
    held: str | None


class CallFailed(AdapterError):
    """The service answered no.

    Attributes:
        status: of the answer.
        problem: our code, such as `A202`; empty where something in between answered.
        mistakes: what to mend, each with its place.
    """

    code = "A212"

    def __init__(self, status: int, content: object) -> None:
        said: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
        self.status = status
        self.problem = str(said.get("code", ""))
        known = ("code", "detail", "pointer", "parameter", "help")
        self.mistakes = tuple(
            Mistake(**{name: one[name] for name in known if name in one}) for one in said.get("errors", ())
        )
        super().__init__(f"{status} {self.problem}: {said.get('detail', 'no problem of ours came with it')}")


class Client:
    """The service at an address.

    Args:
        url: `https://HOST[:PORT]`, or `http://` and an address of the loopback.
        key: `om_...`; never shown again by this object.
        seconds: for one call.

    Raises:
        ConfigurationRefused: the address is none of these.
        CallFailed: (every method) the service answered no.
        Unreadable: (methods that read) there was no whole answer.
        Uncertain: (methods that change something, and `decide`) there was none, so it may or may not have been done.
        NotSent: (the same) no connection was made.
    """

    def __init__(self, url: str, key: str, *, seconds: float = 30.0) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._wire = Wire([self._url], seconds=seconds, limit=BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def close(self) -> None:
        """Let go of connections."""
        self._wire.close()

    # Cases -----------------------------------------------------------------------------------------------------------

    def decide(
        self, case: Mapping[str, Any], *, policy: str | None = None, levels: bool = False, store: bool = False
    ) -> Decided:
        """What the rules say of a case, which is written as a facts file is.

        Args:
            policy: ask this one alone.
            levels: let policies compete by the levels in force.
            store: keep the decisions, to be explained later; needs the scope `act` too.
        """
        query = {} if policy is None else {"policy": policy}
        query |= {name: "true" for name, wanted in (("levels", levels), ("store", store)) if wanted}
        decided: Decided = self._post("/v1/decide", dict(case), query)
        return decided

    def decide_many(self, cases: Iterable[Mapping[str, Any]], *, policy: str | None = None) -> Iterator[Decided]:
        """The same of many cases, in their order."""
        query = {} if policy is None else {"policy": policy}
        remaining = iter(cases)
        while several := [dict(case) for case in islice(remaining, TOGETHER)]:
            answers: Sequence[Decided] = self._post("/v1/decide/batch", several, query)
            yield from answers

    def decision(self, decision: str) -> dict[str, Any]:
        """One decision that was kept, by its id or the beginning of it."""
        return self._get(f"/v1/decisions/{_part(decision)}")

    def explain(
        self,
        decision: str,
        *,
        lang: Literal["en", "zh"] = "en",
        audience: Literal["operator", "user", "agent"] = "operator",
    ) -> dict[str, Any]:
        """Why it was decided so; `sentence` says it in words."""
        return self._get(f"/v1/decisions/{_part(decision)}/explain", {"lang": lang, "audience": audience})

    # Messages and Requests -------------------------------------------------------------------------------------------

    def post(
        self, workspace: str, text: str, *, message: str | None = None, language: Literal["en", "zh"] = "en"
    ) -> Accepted:
        """Take a person's message in, once.

        Args:
            message: your own id of it, so that you may post it again; one is made up otherwise, and then a post
                without an answer is repeated once by itself.
        """
        body = {"workspace": workspace, "text": text, "message": message or uuid.uuid4().hex, "language": language}
        try:
            accepted: Accepted = self._post("/v1/requests", body)
        except (NotSent, Uncertain):
            accepted = self._post("/v1/requests", body)
        return accepted

    def requests(self, state: State = "open") -> Iterator[Line]:
        """How each Request stands, oldest first."""
        yield from self._listed("/v1/requests", "requests", {"state": state})

    def request(self, request: str) -> dict[str, Any]:
        """One Request with everything that happened to it."""
        return self._get(f"/v1/requests/{_part(request)}")

    def conversation(self, workspace: str) -> Iterator[dict[str, Any]]:
        """The messages of the App's conversation with a workspace, each with its Turns, recoveries and replies."""
        yield from self._listed(f"/v1/conversations/{_part(workspace)}", "messages", {})

    def stop(self, request: str, why: str) -> Changed:
        """Stop a Request."""
        changed: Changed = self._post(f"/v1/requests/{_part(request)}/stop", {"why": why})
        return changed

    def act(self, request: str, why: str, *, policy: str | None = None) -> Changed:
        """Do what a policy at `advise` puts before you.

        Args:
            policy: which one; None for the only one that advises anything.
        """
        body = {"policy": policy, "why": why}
        changed: Changed = self._post(f"/v1/requests/{_part(request)}/act", body)
        return changed

    def release(
        self,
        request: str,
        why: str,
        *,
        saw: Literal["delivered", "not-delivered", "ran", "did-not-run"] | None = None,
        close: bool = False,
    ) -> Changed:
        """Release a Request: it is due now and every gate is judged afresh."""
        body = {"why": why, "saw": saw, "close": close}
        changed: Changed = self._post(f"/v1/requests/{_part(request)}/release", body)
        return changed

    # Rules -----------------------------------------------------------------------------------------------------------

    def policies(self) -> list[dict[str, Any]]:
        """The policies in force."""
        listed: list[dict[str, Any]] = self._get("/v1/policies")["policies"]
        return listed

    def levels(self) -> list[dict[str, Any]]:
        """At which level each policy works."""
        listed: list[dict[str, Any]] = self._get("/v1/levels")["levels"]
        return listed

    def change_level(self, policy: str, level: str, why: str, *, until: str | None = None) -> dict[str, Any]:
        """Change at which level a policy works."""
        body = {"policy": policy, "level": level, "why": why, "until": until}
        changed: dict[str, Any] = self._post("/v1/levels", body)
        return changed

    def breaker(self) -> dict[str, Any]:
        """Whether recoveries may begin (`breaker`), and how much of each budget is used (`budgets`)."""
        return self._get("/v1/breaker")

    def change_breaker(self, change: Literal["open", "close"], why: str) -> dict[str, Any]:
        """Let no recovery begin, or let them begin again; needs the scope `admin`."""
        changed: dict[str, Any] = self._post("/v1/breaker", {"change": change, "why": why})
        return changed

    def _listed(self, path: str, name: str, query: Mapping[str, str]) -> Iterator[Any]:
        cursor: str | None = ""
        while cursor is not None:
            part = self._get(path, {**query, **({"cursor": cursor} if cursor else {})})
            yield from part[name]
            cursor = part["next"]

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._content(
            self._wire.call(self._url, "GET", path, headers=self._authorized(), query=query)
        )
        return found

    def _post(self, path: str, body: object, query: Mapping[str, str] | None = None) -> Any:
        return self._content(
            self._wire.call(self._url, "POST", path, body=body, headers=self._authorized(), query=query)
        )

    def _authorized(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._key}"}

    def _content(self, answer: Answer) -> Any:
        if answer.status >= 300:
            raise CallFailed(answer.status, answer.content)
        return answer.content


def _part(text: str) -> str:
    return quote(text, safe=":")
