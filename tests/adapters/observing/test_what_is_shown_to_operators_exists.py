"""The dashboard and the alerts ask for metrics and labels that the service tells, and every alert has its advice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from oncemore.adapters.api.metrics import Metrics, exposition
from oncemore.engine.gauges import Gauges

DOCS = Path(__file__).parents[3] / "docs"
ALERTS = [
    rule for group in yaml.safe_load((DOCS / "deploy" / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
]


def told() -> str:
    """Everything that is ever told, once."""
    metrics = Metrics(lambda: Gauges({"due": 0}, {"per_hour": 1}, {"per_hour": 2}, {"per_hour": 0}, False, 0))
    metrics.decided("a-policy", "fire", "all_passed", "enforce")
    metrics.unknown("grant.state", "stale")
    metrics.acted("continue_work", "reserved")
    metrics.decision_took(0.001)
    return exposition(metrics).decode()


def expressions() -> list[str]:
    panels = json.loads((DOCS / "grafana.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]] + [rule["expr"] for rule in ALERTS]


def test_every_metric_that_is_asked_for_is_told() -> None:
    known = set(re.findall(r"^(oncemore_\w+)", told(), re.MULTILINE))
    asked = {name for expression in expressions() for name in re.findall(r"oncemore_\w+", expression)}
    assert asked
    assert asked <= known


def test_every_label_that_is_asked_for_is_told() -> None:
    known = set(re.findall(r"[{,](\w+)=", told())) | {"job", "le"}
    asked = {label for expression in expressions() for label in re.findall(r"[{,](\w+)[=!]", expression)}
    grouped = re.findall(r"by \(([^)]*)\)", " ".join(expressions()))
    asked |= {label.strip() for labels in grouped for label in labels.split(",")}
    assert {"job", "policy", "doing", "budget"} <= asked <= known


def test_every_alert_has_its_advice() -> None:
    running = (DOCS / "running.md").read_text()
    advice = running[running.index("## What to do for each alert") :]
    assert [rule["alert"] for rule in ALERTS] == re.findall(r"^\| (Oncemore\w+) \|", advice, re.MULTILINE)


def test_every_metric_has_its_line_for_operators() -> None:
    running = (DOCS / "running.md").read_text()
    families = set(re.findall(r"^# TYPE (oncemore_\w+)", told(), re.MULTILINE))
    missing = {name for name in families if name not in running and not name.startswith("oncemore_budget_")}
    assert missing == set()
