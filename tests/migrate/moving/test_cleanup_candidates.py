"""Which v1 jobs a cleanup may delete, and why others stay."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from migrate.moving.test_planning import job, plan
from shunter.api.meta import Json
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.annotations import COMPARED, PLAN, SOURCE
from shunter.migrate.moving.cleanup_candidates import cleanup_candidates
from shunter.migrate.moving.journal import Phase, Record
from shunter.migrate.moving.plan import Action, Plan
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import V1_JOBS, Step

FOUND: Plan = plan(job(suspend=True))
TITLE = "PyTorchJob team/bert"


def v1(state: str = "Suspended", **metadata: Any) -> Json:
    return job(state, suspend=True, **metadata)


def train_job(state: str = "", *, compared: str = "", plan_id: str = FOUND.id) -> Json:
    annotations = {PLAN: plan_id, SOURCE: TITLE, **({COMPARED: compared} if compared else {})}
    status = {"conditions": [{"type": state, "status": "True"}]} if state else {}
    metadata = {"name": "bert", "namespace": "team", "uid": "2", "annotations": annotations}
    spec = {"suspend": state == "Suspended"}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


TIDYING: dict[str, tuple[Json, list[Json], bool, bool, str]] = {
    "proved": (v1(), [train_job("Complete", compared="equal")], False, True, "its TrainJob is Complete, and compares"),
    "within tolerance": (
        v1("Succeeded"), [train_job("Complete", compared="within tolerance")], False, True,
        "its TrainJob is Complete, and compares"),
    "not compared": (v1(), [train_job("Complete")], False, False, "TrainJob bert was not compared (migrate compare)"),
    "not compared, and known": (
        v1(), [train_job("Complete")], True, True, "--i-know: TrainJob bert was not compared (migrate compare)"),
    "different": (v1(), [train_job("Complete", compared="different")], False, False, "TrainJob bert was compared: different"),
    "not complete": (v1(), [train_job("Suspended")], False, False, "TrainJob bert is Suspended, not Complete"),
    "no TrainJob": (v1(), [], False, False, "it has no TrainJob"),
    "no TrainJob, and known": (v1(), [], True, False, "it has no TrainJob"),
    "finished without a TrainJob": (
        v1("Succeeded"), [], False, True, "it has finished (Succeeded); its record is archived"),
    "failed without a TrainJob": (v1("Failed"), [], False, True, "it has finished (Failed); its record is archived"),
    "finished beside a TrainJob that never started": (
        v1("Succeeded"), [train_job("Suspended")], False, True,
        "it has finished (Succeeded), and TrainJob bert waits; its record is archived"),
    "finished beside a TrainJob that trained and was not compared": (
        v1("Succeeded"), [train_job("Complete")], False, False, "TrainJob bert was not compared (migrate compare)"),
    "finished beside a TrainJob that failed": (
        v1("Succeeded"), [train_job("Failed")], False, False, "TrainJob bert is Failed, not Complete"),
    "another plan's TrainJob": (
        v1(), [train_job("Complete", compared="equal", plan_id="other")], False, False, "it has no TrainJob"),
    "running, and known": (v1("Running"), [train_job("Complete", compared="equal")], True, False, "it is Running"),
    "somebody's, and known": (
        v1("Succeeded", ownerReferences=[{"kind": "Trial", "name": "t"}]), [train_job("Complete", compared="equal")], True, False,
        "it belongs to Trial team/t"),
}  # fmt: skip


FINISHED_BY_PLAN: dict[tuple[Action, str], tuple[bool, str]] = {
    ("archive", ""): (True, "it has finished (Failed); its record is archived"),
    ("archive", "different"): (True, "it has finished (Failed); its record is archived"),
    ("create", "different"): (False, "TrainJob bert was compared: different"),
    ("leave", ""): (False, "the plan leaves it on v1; to delete it, set its action to archive"),
}


@pytest.mark.parametrize(("action", "compared"), FINISHED_BY_PLAN, ids=lambda value: value or "no TrainJob")
def test_the_plan_decides_about_a_finished_job_where_no_comparison_does(action: Action, compared: str) -> None:
    [item] = FOUND.items
    wave = msgspec.structs.replace(FOUND.waves[0], jobs=(msgspec.structs.replace(item, action=action),))
    train_jobs = [train_job("Complete", compared=compared)] if compared else []
    [found] = cleanup_candidates(msgspec.structs.replace(FOUND, waves=(wave,)), [v1("Failed")], train_jobs, [])
    assert (found.step is not None, found.why) == FINISHED_BY_PLAN[action, compared]


@pytest.mark.parametrize("case", TIDYING.values(), ids=list(TIDYING))
def test_a_v1_job_goes_only_when_its_train_job_proved_itself(case: tuple[Json, list[Json], bool, bool, str]) -> None:
    present, train_jobs, i_know, goes, why = case
    [found] = cleanup_candidates(FOUND, [present], train_jobs, [], i_know=i_know)
    assert (found.step is not None, found.why) == (goes, why)


ANOTHER = "another job has taken that name since the plan was created; plan again"
MADE_AGAIN = merge_patch(v1(), {"metadata": {"uid": "9"}})
RESUMED = merge_patch(v1("Succeeded"), {"spec": {"runPolicy": {"suspend": False}}})
CHANGED = merge_patch(v1(), {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 7}}})


def deletion(phase: Phase, after: Json | None, uid: str = "1") -> Record:
    """A record of the deletion of the v1 job, with the job that came back."""
    step = Step("delete", "delete", V1_JOBS["PyTorchJob"], "team", "bert")
    return msgspec.structs.replace(intended(step, v1()), phase=phase, after=digest(after) if after else "", uid=uid)


SUSPENDED = msgspec.structs.replace(
    intended(Step("suspend", "patch", V1_JOBS["PyTorchJob"], "team", "bert"), v1()), phase="done", after=digest(CHANGED)
)
ANOTHERS: dict[str, tuple[Json, list[Record], str]] = {
    "as it was planned for": (v1(), [], ""),
    "changed since the plan": (CHANGED, [], "it was changed after the plan was created; plan again"),
    "resumed since the plan, and through": (RESUMED, [], ""),
    "changed by the plan itself": (CHANGED, [SUSPENDED], ""),
    "deleted and made again since, from the same manifest": (MADE_AGAIN, [], ANOTHER),
    "deleted by a cleanup and brought back by a rollback": (
        MADE_AGAIN, [deletion("done", None), deletion("undoing", None), deletion("undone", MADE_AGAIN, "9")], ""),
    "deleted by a cleanup and made again by somebody, as a rollback recorded": (
        MADE_AGAIN, [deletion("done", None), deletion("undone", MADE_AGAIN)], ANOTHER),
}  # fmt: skip


@pytest.mark.parametrize("case", ANOTHERS.values(), ids=list(ANOTHERS))
def test_only_the_v1_job_that_was_planned_for_goes(case: tuple[Json, list[Record], str]) -> None:
    present, records, why = case
    [found] = cleanup_candidates(FOUND, [present], [train_job("Complete", compared="equal")], records, i_know=True)
    assert (found.step is None, found.why) == (bool(why), why or "its TrainJob is Complete, and compares")


def test_a_plan_without_uids_goes_by_what_the_job_says() -> None:
    [item] = FOUND.items
    wave = msgspec.structs.replace(FOUND.waves[0], jobs=(msgspec.structs.replace(item, uid=""),))
    plan_of_before = msgspec.structs.replace(FOUND, waves=(wave,))
    train_jobs = [train_job("Complete", compared="equal")]
    [same], [changed] = (cleanup_candidates(plan_of_before, [job], train_jobs, []) for job in (MADE_AGAIN, CHANGED))
    assert (same.step is not None, changed.step is not None) == (True, False)
