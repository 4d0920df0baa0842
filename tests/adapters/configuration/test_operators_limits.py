"""How are the limits in `oncemore.yaml` written?"""

from __future__ import annotations

from pathlib import Path

import pytest

from oncemore.adapters.configuration import load_configuration
from oncemore.adapters.errors import ConfigurationInvalid
from oncemore.engine.limits import BreakerLimits, Budgets, RouteBudget

START = "journal: data/oncemore.db\nruntimes: {codex: {home: data/codex}}\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "oncemore.yaml"
    file.write_text(START + text)
    file.chmod(0o600)
    return file


def test_nothing_is_limited_where_nothing_is_said(tmp_path: Path) -> None:
    assert load_configuration(written(tmp_path, "")).budgets == Budgets()


def test_budgets_are_read(tmp_path: Path) -> None:
    text = (
        "budgets:\n  per_hour: 60\n  per_owner: 10\n  routes: {codex: {in_flight: 2, spread: 5m}}\n"
        "  breaker: {in_a_row: 5, per_hour: 10}\n"
    )
    routes = {"codex": RouteBudget(2, 300_000)}
    assert load_configuration(written(tmp_path, text)).budgets == Budgets(60, 10, routes, BreakerLimits(5, 10))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budgets: {per_hour: 0}", "the number is 1 or more"),
        ("budgets: {per_hour: 1h}", "per_hour"),
        ("budgets: {per_day: 3}", "per_day"),
        ("budgets: {routes: {codex: {spread: 5}}}", "such as 2s or 15m"),
        ("budgets: {routes: {antigravity: {in_flight: 1}}}", "no runtime antigravity is configured here"),
        ("retention: {texts: 90}", "such as 90d"),
        ("retention: {texts: 0d}", "such as 90d"),
        ("budgets: {breaker: {in_a_row: true}}", "in_a_row"),
        (
            "workspaces: {notes: {path: n, owner: ann, level: workspace_read, revision: 1, recovery: never}}",
            '"never" is not one of on, off',
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigurationInvalid) as told:
        load_configuration(written(tmp_path, f"{text}\n"))
    assert said in "\n".join(f"{one.message} {one.yaml_path} {one.help}" for one in told.value.diagnostics)


@pytest.mark.parametrize(("age", "ms"), [("90d", 90 * 86_400_000), ("36h", 36 * 3_600_000)])
def test_texts_are_kept_for_an_age(tmp_path: Path, age: str, ms: int) -> None:
    assert load_configuration(written(tmp_path, f"retention: {{texts: {age}}}\n")).keep_texts == ms
    assert load_configuration(written(tmp_path, "")).keep_texts is None


def test_decisions_on_posted_cases_are_kept_as_long_as_texts_unless_something_else_is_said(tmp_path: Path) -> None:
    def kept(text: str) -> int | None:
        return load_configuration(written(tmp_path, text)).keep_posted

    assert kept("retention: {texts: 90d}\n") == 90 * 86_400_000
    assert kept("retention: {texts: 90d, posted: 30d}\n") == 30 * 86_400_000
    assert kept("retention: {posted: 30d}\n") == 30 * 86_400_000
    assert kept("") is None


def test_an_owner_may_want_no_recoveries(tmp_path: Path) -> None:
    entry = "{path: n, owner: ann, level: workspace_read, revision: 1, recovery: off}"
    found = load_configuration(written(tmp_path, f"workspaces: {{notes: {entry}}}\n"))
    assert not found.workspaces["notes"].recovery
