"""Who asks about a route after a failure? One Request, and the others after it at the configured spread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.capacity.route import Page, page

from oncemore.adapters import wiring
from oncemore.adapters.capacity import OwnFirst, Probe
from oncemore.adapters.entries import CapacityEntry
from oncemore.adapters.wire import Wire
from oncemore.engine import facts, intake, routes
from oncemore.engine.journal import Journal
from oncemore.engine.ports import GrantRef, Ports, Workspace
from oncemore.engine.tables import Turn

GRANT = GrantRef("notes", "ann", "workspace_write", 1, Workspace("/srv/notes", 1, 2))
SPREAD = 20_000


class Failures:
    """Three conversations of one runtime whose Turns have failed."""

    def __init__(self, place: Path | str, route: Page, wire: Wire) -> None:
        self.time = 1_800_000_000_000
        self.route = route
        self.journal = Journal(place, clock=lambda: self.time)
        entry = CapacityEntry(route.base, "/", ("state",), "available", "exhausted", SPREAD)
        self.ports = Ports(capacity={"codex": Probe(wire, entry, clock=lambda: self.time)})
        self.requests = [self._failed(chat) for chat in ("a", "b", "c")]

    def _failed(self, chat: str) -> str:
        session = intake.open_session(
            self.journal, GRANT, runtime="codex", home="/h", source="inbox", conversation=chat
        )
        request = intake.accept(self.journal, session, intake.Arrival(message=f"m-{chat}", sender="ann", text="x"))
        Turn.update(status="failed", error="usage_limit_exceeded", ended_at=self.time).where(
            Turn.request == request
        ).execute()
        return request

    def look(self, which: int, spread: int = SPREAD) -> object:
        """What the Request knows of the route when it is looked at now; None when it did not ask."""
        with self.journal.transaction():
            self.journal.advance_clock()
        observed = facts.observe(self.requests[which], self.ports, spread={"codex": spread})
        reading = observed.readings.get("route.state")
        return None if reading is None else reading.value


@pytest.fixture
def failed(place: Path | str) -> Iterator[Failures]:
    with page() as route, Wire([route.base]) as wire:
        route.says({"state": "exhausted"})
        made = Failures(place, route, wire)
        yield made
        made.journal.close()


def test_while_one_looks_the_others_know_nothing_and_ask_nothing(failed: Failures) -> None:
    assert [failed.look(n) for n in range(3)] == ["exhausted", None, None]
    assert len(failed.route.asked) == 1


def test_the_one_that_looks_may_look_again_at_once(failed: Failures) -> None:
    failed.look(0)
    failed.route.says({"state": "available"})
    assert failed.look(0) == "available"


def test_the_others_follow_one_by_one_at_the_spread(failed: Failures) -> None:
    failed.route.says({"state": "available"})
    seen = []
    for _ in range(3):
        seen.append([failed.look(n) is not None for n in range(3)])
        failed.time += SPREAD - 1
        assert [failed.look(n) for n in range(3) if not seen[-1][n]] == [None, None]
        failed.time += SPREAD
        failed.requests.append(failed.requests.pop(0))
    assert seen == [[True, False, False]] * 3


def test_a_shorter_spread_lets_the_next_one_look_sooner(failed: Failures) -> None:
    failed.look(0, spread=5)
    failed.time += 5
    assert failed.look(1, spread=5) == "exhausted"


def test_a_turn_that_was_answered_asks_nothing(failed: Failures) -> None:
    session = intake.open_session(failed.journal, GRANT, runtime="codex", home="/h", source="inbox", conversation="d")
    request = intake.accept(failed.journal, session, intake.Arrival(message="m-d", sender="ann", text="x"))
    Turn.update(status="completed", ended_at=failed.time).where(Turn.request == request).execute()
    failed.requests[0] = request
    assert failed.look(0) is None and failed.route.asked == []


def test_each_runtime_has_a_place_of_its_own(failed: Failures) -> None:
    assert routes.may_look("codex", failed.requests[0]) and routes.may_look("antigravity", failed.requests[1])
    assert not routes.may_look("codex", failed.requests[1])


def test_the_operators_spread_reaches_the_worker(tmp_path: Path) -> None:
    file = tmp_path / "oncemore.yaml"
    file.write_text(
        "journal: data/oncemore.db\nruntimes:\n  codex:\n    home: codex\n    capacity: {url: 'http://127.0.0.1:9/q',"
        " path: s, available: a, exhausted: b, spread: 45s}\n"
    )
    file.chmod(0o600)
    with wiring.opened(file, worker=True) as house:
        assert isinstance(house.ports.capacity["codex"], OwnFirst)
        context = wiring.context(house, wiring.rulebook(house.configuration))
        assert context.settings.spread == {"codex": 45_000}
