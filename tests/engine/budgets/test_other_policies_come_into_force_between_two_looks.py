"""What waits is judged by the policies of the day, and a decision names those it was made by."""

from __future__ import annotations

import itertools
import shutil
import threading

from tests.engine.budgets.conftest import POLICY, Office
from tests.engine.executor.world import ASK

from oncemore.adapters.demo.model import ModelRequest, Script
from oncemore.engine.reloading import STILL, PolicyWatch
from oncemore.engine.worker import Worker
from oncemore.rules.case import Case
from oncemore.rules.shipped import shipped_policies


def test_an_edit_is_in_force_for_the_next_decision_while_a_turn_runs(office: Office) -> None:
    office.opens()
    folder = office.w.folder / "policies"
    shutil.copytree(shipped_policies(), folder)
    steps = itertools.count()
    # Each look is long after the one before.
    watch = PolicyWatch(folder, lambda: next(steps) * 10_000.0)
    before, in_force = watch.rules, threading.Event()
    asked = before.ask(Case(0, {}), only=POLICY).json().decode()
    watch.told.append(lambda rules: in_force.set())
    office.context.rules = before
    office.worker = Worker(office.context, watch=watch)
    file = folder / f"{POLICY}.yaml"
    edited = file.read_text().replace('duration("60s")', 'duration("20s")')
    waited: list[bool] = []
    answers = office.w.plot.first  # it reports unfinished work, so that something is decided on it

    def edits(request: ModelRequest) -> Script:
        """The model answers once the edit is in force, which comes to be while its Turn runs."""
        file.write_text(edited)
        waited.append(in_force.wait(60))
        return answers(request)

    office.w.plot.first = edits
    request = office.house.ask("notes", ASK)
    with watch.followed(every=0.02):
        office.works()
    assert waited == [True]
    old, new = (
        next(policy.digest for policy in rules.published.policies if policy.name == POLICY)
        for rules in (before, watch.rules)
    )
    assert old != new
    assert old in asked and new not in asked
    stored = [row["stored"] for row in office.w.rows("select stored from decision_pass where request = ?", request)]
    assert stored
    assert all(new in one and old not in one for one in stored)


def test_a_worker_goes_on_with_an_edited_policy(office: Office) -> None:
    office.opens()
    folder = office.w.folder / "policies"
    shutil.copytree(shipped_policies(), folder)
    watch = PolicyWatch(folder, office.w.now)
    office.context.rules = watch.rules
    office.worker = Worker(office.context, watch=watch)
    file = folder / f"{POLICY}.yaml"
    file.write_text(file.read_text().replace('duration("60s")', 'duration("20s")'))
    # Of what waits for its minute nothing would be due before.
    office.works(STILL)
    office.works(20_000)
    assert len(office.reserved()) == 3
    stored = "select stored from decision_pass where fired = ?"
    digests = {policy.name: policy.digest for policy in watch.rules.published.policies}
    assert all(digests[POLICY] in row["stored"] for row in office.w.rows(stored, POLICY))
    assert office.w.row("select body from bundle where digest = ?", digests[POLICY])
