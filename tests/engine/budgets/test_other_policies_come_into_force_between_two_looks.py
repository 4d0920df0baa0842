"""What waits is judged by the policies of the day, and a decision names those it was made by."""

from __future__ import annotations

import shutil

from tests.engine.budgets.conftest import POLICY, Office

from oncemore.engine.reloading import STILL, PolicyWatch
from oncemore.engine.worker import Worker
from oncemore.rules.shipped import shipped_policies


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
