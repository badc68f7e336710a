"""What may be deleted at the end, and how far a plan is: tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from migrate.moving.test_planning import job, plan
from shunter.api.meta import Json
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.cluster.apiserver.definitions import custom_resource_definitions
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.burn_down import Row, progress
from shunter.migrate.moving.cleanup_candidates import cleanup_candidates
from shunter.migrate.moving.journal import Phase, Record
from shunter.migrate.moving.marks import COMPARED, PLAN, SOURCE
from shunter.migrate.moving.plan import Action, Plan
from shunter.migrate.moving.step_decisions import intended
from shunter.migrate.moving.steps import V1_JOBS, Step, item_steps
from shunter.migrate.moving.v1_definitions import endings

FOUND: Plan = plan(job(suspend=True))
TITLE = "PyTorchJob team/bert"


def v1(state: str = "Suspended", **metadata: Any) -> Json:
    return job(state, suspend=True, **metadata)


def twin(state: str = "", *, compared: str = "", plan_id: str = FOUND.id) -> Json:
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
    "proved": (v1(), [twin("Complete", compared="equal")], False, True, "its TrainJob is Complete, and compares"),
    "within tolerance": (
        v1("Succeeded"), [twin("Complete", compared="within tolerance")], False, True, "its TrainJob is Complete, and compares"),
    "not compared": (v1(), [twin("Complete")], False, False, "TrainJob bert was not compared (migrate compare)"),
    "not compared, and known": (
        v1(), [twin("Complete")], True, True, "--i-know: TrainJob bert was not compared (migrate compare)"),
    "different": (v1(), [twin("Complete", compared="different")], False, False, "TrainJob bert was compared: different"),
    "not complete": (v1(), [twin("Suspended")], False, False, "TrainJob bert is Suspended, not Complete"),
    "no twin": (v1(), [], False, False, "it has no TrainJob"),
    "no twin, and known": (v1(), [], True, False, "it has no TrainJob"),
    "finished without a twin": (
        v1("Succeeded"), [], False, True, "it has finished (Succeeded); its record is archived"),
    "failed without a twin": (v1("Failed"), [], False, True, "it has finished (Failed); its record is archived"),
    "finished beside a twin that never started": (
        v1("Succeeded"), [twin("Suspended")], False, True,
        "it has finished (Succeeded), and TrainJob bert waits; its record is archived"),
    "finished beside a twin that trained and was not compared": (
        v1("Succeeded"), [twin("Complete")], False, False, "TrainJob bert was not compared (migrate compare)"),
    "finished beside a twin that failed": (
        v1("Succeeded"), [twin("Failed")], False, False, "TrainJob bert is Failed, not Complete"),
    "another plan's twin": (v1(), [twin("Complete", compared="equal", plan_id="other")], False, False, "it has no TrainJob"),
    "running, and known": (v1("Running"), [twin("Complete", compared="equal")], True, False, "it is Running"),
    "somebody's, and known": (
        v1("Succeeded", ownerReferences=[{"kind": "Trial", "name": "t"}]), [twin("Complete", compared="equal")], True, False,
        "it belongs to Trial team/t"),
}  # fmt: skip


FINISHED_BY_PLAN: dict[tuple[Action, str], tuple[bool, str]] = {
    ("archive", ""): (True, "it has finished (Failed); its record is archived"),
    ("archive", "different"): (True, "it has finished (Failed); its record is archived"),
    ("create", "different"): (False, "TrainJob bert was compared: different"),
    ("leave", ""): (False, "the plan leaves it on v1; to let it go, set its action to archive"),
}


@pytest.mark.parametrize(("action", "compared"), FINISHED_BY_PLAN, ids=lambda value: value or "no twin")
def test_the_plan_decides_about_a_finished_job_where_no_comparison_does(action: Action, compared: str) -> None:
    [item] = FOUND.items
    wave = msgspec.structs.replace(FOUND.waves[0], jobs=(msgspec.structs.replace(item, action=action),))
    twins = [twin("Complete", compared=compared)] if compared else []
    [found] = cleanup_candidates(msgspec.structs.replace(FOUND, waves=(wave,)), [v1("Failed")], twins, [])
    assert (found.step is not None, found.why) == FINISHED_BY_PLAN[action, compared]


@pytest.mark.parametrize("case", TIDYING.values(), ids=list(TIDYING))
def test_a_v1_job_goes_only_when_its_twin_proved_itself(case: tuple[Json, list[Json], bool, bool, str]) -> None:
    present, twins, i_know, goes, why = case
    [found] = cleanup_candidates(FOUND, [present], twins, [], i_know=i_know)
    assert (found.step is not None, found.why) == (goes, why)


ANOTHER = "another job has that name since the plan was made; plan again"
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
    "changed since the plan": (CHANGED, [], "it was changed since the plan was made; plan again"),
    "resumed since the plan, and through": (RESUMED, [], ""),
    "changed by the plan itself": (CHANGED, [SUSPENDED], ""),
    "deleted and made again since, from the same manifest": (MADE_AGAIN, [], ANOTHER),
    "deleted by a cleanup and brought back by a rollback": (
        MADE_AGAIN, [deletion("done", None), deletion("undoing", None), deletion("undone", MADE_AGAIN, "9")], ""),
    "deleted by a cleanup and made again by somebody, as a rollback noted": (
        MADE_AGAIN, [deletion("done", None), deletion("undone", MADE_AGAIN)], ANOTHER),
}  # fmt: skip


@pytest.mark.parametrize("case", ANOTHERS.values(), ids=list(ANOTHERS))
def test_only_the_v1_job_that_was_planned_for_goes(case: tuple[Json, list[Record], str]) -> None:
    present, records, why = case
    [found] = cleanup_candidates(FOUND, [present], [twin("Complete", compared="equal")], records, i_know=True)
    assert (found.step is None, found.why) == (bool(why), why or "its TrainJob is Complete, and compares")


def test_a_plan_without_uids_goes_by_what_the_job_says() -> None:
    [item] = FOUND.items
    wave = msgspec.structs.replace(FOUND.waves[0], jobs=(msgspec.structs.replace(item, uid=""),))
    plan_of_before = msgspec.structs.replace(FOUND, waves=(wave,))
    twins = [twin("Complete", compared="equal")]
    [same], [changed] = (cleanup_candidates(plan_of_before, [job], twins, []) for job in (MADE_AGAIN, CHANGED))
    assert (same.step is not None, changed.step is not None) == (True, False)


def definition(name: str, **changes: Any) -> Json:
    found = next(crd for crd in custom_resource_definitions() if crd["metadata"]["name"] == name)
    metadata = {**found["metadata"], "uid": "1", **changes.pop("metadata", {})}
    return {**found, "status": {"storedVersions": ["v1"]}, **changes, "metadata": metadata}


BOTH = [{"name": "v1", "served": True, "storage": False}, {"name": "v2beta1", "served": True, "storage": True}]
HELM = {"annotations": {"meta.helm.sh/release-name": "training-operator", "meta.helm.sh/release-namespace": "kubeflow"}}
ENDINGS: dict[str, tuple[Json, dict[str, list[str]], dict[str, list[str]], str]] = {
    "nothing needs it": (definition("tfjobs.kubeflow.org"), {}, {}, "nothing of it is left"),
    "jobs are left": (
        definition("tfjobs.kubeflow.org"), {"TFJob": ["TFJob a/x", "TFJob a/y"]}, {},
        "2 of its objects are there: TFJob a/x, TFJob a/y"),
    "the mpi-operator's as well": (
        definition("mpijobs.kubeflow.org", spec={"versions": BOTH}), {}, {},
        "it is another product's as well: its versions are v1, v2beta1"),
    "objects stored as another version": (
        definition("tfjobs.kubeflow.org", status={"storedVersions": ["v1beta2", "v1"]}), {}, {},
        "it is another product's as well: its versions are v1, v1beta2"),
    "a Helm release holds objects of it": (
        definition("tfjobs.kubeflow.org"), {}, {"TFJob": ["team/jobs"]},
        "Helm releases hold objects of it and could not be upgraded any more: team/jobs"),
    "Helm looks after it": (
        definition("tfjobs.kubeflow.org", metadata=HELM), {}, {},
        "it belongs to Helm release kubeflow/training-operator: remove it there"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS.values(), ids=list(ENDINGS))
def test_a_definition_goes_only_when_nothing_needs_it(
    case: tuple[Json, dict[str, list[str]], dict[str, list[str]], str],
) -> None:
    crd, objects, releases, why = case
    [found] = endings([crd], objects, releases)
    assert found.why == why
    assert (found.step is not None) == (why == "nothing of it is left")


def test_definitions_of_v2_are_none_of_v1s() -> None:
    assert list(endings([definition("trainjobs.trainer.kubeflow.org")], {}, {})) == []


STAGES: dict[str, tuple[list[Json], list[Json], str, str]] = {
    "nothing done": ([v1()], [], "to do", "apply"),
    "made": (
        [v1()],
        [twin("Suspended")],
        "made",
        "resume it when it is to train: spec.suspend; or cleanup, where the v1 job never ran or has finished",
    ),
    "running": ([v1()], [twin()], "running", "wait until it has finished"),
    "finished": ([v1()], [twin("Complete")], "finished", "compare it with PyTorchJob team/bert: migrate compare --plan"),
    "different": (
        [v1()],
        [twin("Complete", compared="different")],
        "finished",
        "the last comparison says different; when that is mended compare it with PyTorchJob team/bert: migrate compare --plan",
    ),
    "compared": ([v1()], [twin("Complete", compared="equal")], "compared", "cleanup"),
    "cleaned up": ([], [twin("Complete", compared="equal")], "compared", "nothing"),
    "gone": ([], [], "gone", "nothing"),
}


@pytest.mark.parametrize("case", STAGES.values(), ids=list(STAGES))
def test_the_stage_of_a_job_and_what_comes_next(case: tuple[list[Json], list[Json], str, str]) -> None:
    jobs, twins, stage, following = case
    [row] = progress(FOUND, [], jobs, twins).rows
    assert isinstance(row, Row)
    assert (row.stage, row.next) == (stage, following)
    assert row.is_done == (case in (STAGES["compared"], STAGES["cleaned up"], STAGES["gone"]))


def test_jobs_that_were_made_since_the_plan_are_named() -> None:
    new = {**v1("Running"), "metadata": {**v1()["metadata"], "name": "new"}}
    found = progress(FOUND, [], [v1(), new], [])
    assert found.unplanned == ("PyTorchJob team/new",)
    assert found.left == {"Running": 1, "Suspended": 1}


def done(number: int, step: str, verb: str) -> Record:
    """The record of a step that was taken with the TrainJob."""
    return Record(
        number=number, step=step, phase="done", at="", verb=verb, api_version="", kind="TrainJob", plural="", name="", job=TITLE
    )


def test_a_twin_that_somebody_deleted_is_gone_and_not_to_do() -> None:
    made = done(1, "create", "create")
    [row] = progress(FOUND, [made], [v1()], []).rows
    assert (row.stage, row.next) == ("gone", "its TrainJob was deleted since; to make it again, roll back and apply")
    assert not row.is_done


NOT_MOVED: dict[str, tuple[Action, str, bool]] = {
    "left on v1": ("leave", "Running", True),
    "archived": ("archive", "Succeeded", True),
    "waited for": ("wait", "Running", False),
    "has finished": ("wait", "Failed", True),
    "made by another": ("source", "Running", False),
}


@pytest.mark.parametrize("case", NOT_MOVED.values(), ids=list(NOT_MOVED))
def test_a_job_that_stays_on_v1_is_done_when_nothing_is_left_to_do_for_it(case: tuple[Action, str, bool]) -> None:
    action, state, is_done = case
    item = msgspec.structs.replace(FOUND.items[0], action=action)
    plan = msgspec.structs.replace(FOUND, waves=(msgspec.structs.replace(FOUND.waves[0], jobs=(item,)),))
    [row] = progress(plan, [], [v1(state)], []).rows
    assert (row.stage, row.is_done) == ("not moved", is_done)


def test_of_a_twin_that_was_started_and_deleted_nobody_is_told_to_make_it_again() -> None:
    made, started = done(1, "create", "create"), done(2, "start", "patch")
    rolled_back = [msgspec.structs.replace(record, phase="undone") for record in (started, made)]
    told = "its TrainJob was deleted since it was started: if it had not finished, resume the v1 job by hand"
    for records in ([made, started], [made, started, *rolled_back]):
        [row] = progress(FOUND, records, [v1()], []).rows
        assert (row.stage, row.next) == ("gone", told)


def test_of_a_v1_job_in_a_queue_nobody_is_told_to_resume_it_by_hand() -> None:
    started = done(1, "start", "patch")
    [row] = progress(FOUND, [started], [v1(labels={QUEUE_LABEL: "gpus"})], []).rows
    assert "take the v1 job out of queue gpus" in row.next
    assert "by hand" not in row.next


def test_a_step_that_was_begun_and_not_ended_is_named() -> None:
    [item] = FOUND.items
    outcome = converted([SourceObject(v1(), "cluster")], FOUND.options_of(item)).outcomes[0]
    assert outcome.conversion is not None
    step = next(iter(item_steps(FOUND, item, outcome.conversion)))
    record = msgspec.structs.replace(intended(step, None), number=1)
    found = progress(FOUND, [record], [v1()], [])
    assert (found.rows[0].stage, found.half_done) == ("half done", (step.id,))
