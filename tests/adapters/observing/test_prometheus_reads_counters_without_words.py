"""What `/metrics` tells: under fixed names, what was decided and done, and nothing that anybody wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.engine.budgets.conftest import POLICY, Office
from tests.engine.executor.world import KEY, reported, world

from oncemore.adapters import wiring
from oncemore.adapters.api.metrics import Metrics, exposition
from oncemore.adapters.demo.model import Say
from oncemore.engine import breaker
from oncemore.engine.rulebook import Rulebook
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

CANARY = "zugunruhe"


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.setenv(KEY, "none")
    with world(tmp_path) as w, ExitStack() as cleanup:
        made = Office(w, cleanup)
        made.rules = Rulebook(load_policies([shipped_policies()]))
        yield made


def watched(office: Office, top: str = "") -> Metrics:
    office.first = lambda request: Say(f"Half of {CANARY}. {reported(request, CANARY)}")
    office.opens(top)
    metrics = Metrics(office.house.gauges)
    office.context.observer = office.context.rules.observer = metrics
    return metrics


def samples(metrics: Metrics) -> dict[str, dict[tuple[str, ...], float]]:
    """By name and the values of the labels, in the order of their names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(exposition(metrics).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels[name] for name in sorted(sample.labels))] = (
                sample.value
            )
    return found


def test_decisions_actions_and_what_stands_are_counted(office: Office) -> None:
    metrics = watched(office, "budgets: {per_hour: 2, routes: {codex: {in_flight: 2}}}\n")
    office.house.ask("notes", f"And {CANARY}?")
    office.backoff()
    told = samples(metrics)
    fired = told["oncemore_decisions_total"][("enforce", "fire", POLICY, "all_passed")]
    assert fired >= 4  # at admission and at dispatch
    assert told["oncemore_actions_total"][("continue_work", "reserved")] == 2
    assert told["oncemore_actions_total"][("continue_work", "answered")] == 2
    assert told["oncemore_decision_duration_seconds_count"][()] >= 4
    assert told["oncemore_budget_used"] == {("per_hour",): 2, ("per_owner",): 1, ("in_flight:codex",): 0}
    assert told["oncemore_budget_limit"] == {("per_hour",): 2, ("in_flight:codex",): 2}
    assert told["oncemore_breaker_open"] == {(): 0}
    assert told["oncemore_policies_trouble"] == {(): 0}
    doing = {labels[0] for labels in told["oncemore_requests"]}
    assert doing == {"due", "waiting", "held", "running", "advised"}
    text = exposition(metrics).decode()
    assert CANARY not in text
    assert "ann" not in {value for values in told.values() for labels in values for value in labels}
    assert not [request for request in office.requests.values() if request in text]


def test_what_waits_for_a_budget_is_counted_without_names(office: Office) -> None:
    metrics = watched(office, "budgets: {per_owner: 1}\n")
    breaker.open_by_hand(office.house.journal, who="ann", why=CANARY)
    office.backoff()
    told = samples(metrics)
    assert told["oncemore_budget_waiting"] == {("breaker",): 3}
    assert told["oncemore_actions_total"] == {("continue_work", "wait"): 3}
    assert told["oncemore_breaker_open"] == {(): 1}
    breaker.close(office.house.journal, who="ann", why=CANARY)
    office.works()
    told = samples(metrics)
    assert told["oncemore_budget_waiting"] == {("per_owner",): 1}
    assert CANARY not in exposition(metrics).decode()


def test_evidence_that_is_not_known_is_counted_by_fact_and_cause(office: Office) -> None:
    metrics = watched(office)
    office.w.configuration.write_text("journal: [\n")  # no permission can be read any more
    office.backoff()
    unknown = samples(metrics)["oncemore_evidence_unknown_total"]
    assert unknown[("reported", "grant.state")] >= 1
    assert unknown[("reported", "grant.level")] >= 1


def test_the_worker_tells_the_same_counters_that_wiring_hands_it(office: Office) -> None:
    metrics = watched(office)
    context = wiring.context(office.house, office.context.rules, observer=metrics)
    assert context.observer is metrics
    assert context.rules.observer is metrics
