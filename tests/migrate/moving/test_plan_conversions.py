"""Which jobs of a plan are refused when it is applied, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from migrate.moving.test_planning import QUEUED, TITLE, elastic, job, plan
from page.views.test_job import NoServer
from shunter.api.meta import Json
from shunter.kube.client import Client
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Action, Plan
from shunter.migrate.moving.plan_conversions import ready
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import V1_JOBS, Step

PLAN: Plan = plan(job("Suspended", suspend=True))
"""Made when nothing spoke against a job; what speaks against it now was planned for, unless it was `changed`."""
OWNER = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": "t1", "uid": "2", "controller": True}
WAITS = job("Suspended", suspend=True, labels=QUEUED)
CASES: dict[str, tuple[list[Json], Action, Json, str]] = {
    "as it was planned": ([job("Suspended", suspend=True)], "create", {}, ""),
    "gone": ([], "create", {}, "it no longer exists"),
    "changed": ([job("Suspended", suspend=True, labels={"a": "b"})], "create", {"sha256": PLAN.items[0].sha256},
        "it was changed after the plan was created; plan again"),
    "blocked": ([elastic()], "create", {},
        "its conversion is blocked by ELASTIC001; suppress with options: {accepted: [ID]}"),
    "somebody's, to be moved": ([job(suspend=True, ownerReferences=[OWNER])], "move", {},
        "it belongs to Trial team/t1, which would start it again; change it there"),
    "somebody's, to be created": ([job(suspend=True, ownerReferences=[OWNER])], "create", {},
        "its conversion is blocked by OWNER001; suppress with options: {accepted: [ID]}"),
    "in a queue, to be moved": ([WAITS], "move", {},
        "Kueue (queue gpus) decides when it runs, and would start it again; wait, or create"),
    "in a queue, to be created": ([WAITS], "create", {}, ""),
    "under another name": ([job(suspend=True)], "create", {"train_job": "bert-v2"},
        "its TrainJob would be bert, not bert-v2: names follow from options.suffix"),
}  # fmt: skip


def journal(directory: Path) -> Journal:
    return Journal(directory, PLAN.id, Client(NoServer()), "team")


def refused(written: Journal, present: list[Json], action: Action, **changes: Any) -> str:
    """Why the job of the plan is refused; empty if it is converted."""
    [item] = PLAN.items
    sha256 = digest(present[0]) if present else item.sha256
    item = msgspec.structs.replace(item, action=action, **{"sha256": sha256, **changes})
    found = ready(PLAN, [item], Input(tuple(SourceObject(obj, "cluster") for obj in present), (), ()), written)
    assert found.conversions.keys() ^ found.refused.keys() == {TITLE}
    return found.refused.get(TITLE, "")


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_job_of_a_plan_is_converted_or_refused_with_the_reason(
    case: tuple[list[Json], Action, Json, str], tmp_path: Path
) -> None:
    present, action, changes, why = case
    assert refused(journal(tmp_path), present, action, **changes) == why


def test_a_change_that_the_plan_itself_made_does_not_count(tmp_path: Path) -> None:
    before, after = job("Running"), job("Running", suspend=True)
    step = Step("suspend", "patch", V1_JOBS["PyTorchJob"], "team", "bert")
    with journal(tmp_path) as written:
        written.note(msgspec.structs.replace(intended(step, before), after=digest(after)))
        assert refused(written, [after], "move", sha256=digest(before)) == ""
