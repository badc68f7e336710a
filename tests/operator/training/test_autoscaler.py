"""The autoscaler of an elastic job with metrics."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS, Resource
from shunter.kube.controllers.plan import Create, Delete, Failure, Key, Patch, Plan, Write
from shunter.operator.training.autoscaler import Autoscaler, desired_spec, waking
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan, plan_failure

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "0.5Gi"}}}


def elastic(make_job: MakeJob, *, metrics: list[Json] | None = None, **more: Any) -> AnyJob:
    policy: Json = {"minReplicas": 1, "maxReplicas": 4}
    if metrics is not None:
        policy["metrics"] = metrics
    return make_job({"Worker": 2}, elasticPolicy=policy, **more)


def present(spec: Json, *, owner: str = "u1") -> Autoscaler:
    owners = [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert", "uid": owner, "controller": True}]
    metadata = {"name": "bert", "namespace": "team-a", "uid": "a1", "ownerReferences": owners if owner else []}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Autoscaler)


def written(made: Plan) -> list[Write]:
    def resource(write: Write) -> object:
        return write.ref.resource if isinstance(write, Patch | Delete) else write.resource

    return [write for write in made.writes if resource(write) == HORIZONTAL_POD_AUTOSCALERS]


def test_it_is_made_before_the_pods_and_as_the_policy_says(make_job: MakeJob, now: datetime) -> None:
    job = elastic(make_job, metrics=[MEMORY])
    made = plan(PYTORCH, Observed(job=job), now)
    (create,) = written(made)
    assert made.writes[0] == create
    assert isinstance(create, Create)
    assert create.body["metadata"]["name"] == "bert"
    assert create.body["spec"] == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert"},
        "minReplicas": 1,
        "maxReplicas": 4,
        "metrics": [MEMORY],
    }


def test_a_job_without_metrics_has_none_and_loses_the_one_it_had(make_job: MakeJob, now: datetime) -> None:
    job = elastic(make_job)
    assert written(plan(PYTORCH, Observed(job=job), now)) == []
    (deleted,) = written(plan(PYTORCH, Observed(job=job, autoscaler=present({})), now))
    assert isinstance(deleted, Delete)


def test_one_that_says_the_same_in_the_servers_words_is_left_alone(make_job: MakeJob, now: datetime) -> None:
    job = elastic(make_job, metrics=[MEMORY])
    target = {"type": "AverageValue", "averageValue": "512Mi"}
    stored = {**desired_spec(job), "metrics": [{"type": "Resource", "resource": {"name": "memory", "target": target}}]}
    assert written(plan(PYTORCH, Observed(job=job, autoscaler=present(stored)), now)) == []


def test_one_that_was_changed_is_put_right(make_job: MakeJob, now: datetime) -> None:
    job = elastic(make_job, metrics=[MEMORY])
    changed = {**desired_spec(job), "maxReplicas": 33, "behavior": {}}
    (patch,) = written(plan(PYTORCH, Observed(job=job, autoscaler=present(changed)), now))
    assert isinstance(patch, Patch)
    assert patch.patch == {"spec": {"maxReplicas": 4, "behavior": None}}


@pytest.mark.parametrize("owner", ["", "somebody"])
def test_anothers_of_the_name_is_left_alone(owner: str, make_job: MakeJob, now: datetime) -> None:
    for job in (elastic(make_job, metrics=[MEMORY]), elastic(make_job, policy={"suspend": True})):
        assert written(plan(PYTORCH, Observed(job=job, autoscaler=present({}, owner=owner)), now)) == []


@pytest.mark.parametrize("ending", ["suspended", "finished"])
def test_it_goes_with_the_pods_and_with_the_end(ending: str, make_job: MakeJob, now: datetime) -> None:
    status: Json = {}
    if ending == "finished":
        status = {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": "2026-11-21T11:00:00Z"}
    else:
        status = {"conditions": [{"type": "Suspended", "status": "True"}]}
    job = elastic(make_job, metrics=[MEMORY], policy={"suspend": ending == "suspended"}, status=status)
    (deleted,) = written(plan(PYTORCH, Observed(job=job, autoscaler=present(desired_spec(job))), now))
    assert isinstance(deleted, Delete)
    assert deleted.ref.uid == "a1"


REFUSAL = "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`"


def refused(observed: Observed, now: datetime) -> Plan:
    """What comes of the plan when the API server does not take its autoscaler."""
    (write,) = written(plan(PYTORCH, observed, now))
    return plan_failure(PYTORCH, observed, Failure(write, 422, "Invalid", REFUSAL), now)


def test_a_new_job_whose_autoscaler_is_refused_says_so_and_starts_when_it_is_taken(make_job: MakeJob, now: datetime) -> None:
    made = refused(Observed(job=elastic(make_job, metrics=[MEMORY])), now)
    assert made.status is not None
    (condition,) = made.status.desired["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "PyTorchJobAutoscalerRefused")
    assert REFUSAL in condition["message"]
    waiting = elastic(make_job, metrics=[MEMORY], status=made.status.desired)
    again = refused(Observed(job=waiting), now)
    assert again.status is None or again.status.desired == again.status.observed, "it is written once"
    taken = plan(PYTORCH, Observed(job=waiting, autoscaler=present(desired_spec(waiting))), now)
    assert taken.status is not None
    assert [one["status"] for one in taken.status.desired["conditions"]] == ["True"]
    assert any(isinstance(write, Create) for write in taken.writes)


def test_a_job_that_runs_ends_although_its_changed_bounds_are_refused(
    make_job: MakeJob, observe: Callable[..., Observed], now: datetime
) -> None:
    job = elastic(make_job, metrics=[MEMORY], status={"startTime": "2026-11-21T11:00:00Z"})
    running = msgspec.structs.replace(observe(job), autoscaler=present({}))
    writes = plan(PYTORCH, running, now).writes
    assert isinstance(writes[-1], Patch), "writes after a refused one are not sent"
    ended = msgspec.structs.replace(observe(job, {"*": "Succeeded"}), autoscaler=present({}))
    made = plan_failure(PYTORCH, ended, Failure(writes[-1], 422, "Invalid", REFUSAL), now)
    assert made.status is not None
    assert "Succeeded" in [one["type"] for one in made.status.desired["conditions"]]
    assert writes[-1].failed is not None, "an event tells of it"


@pytest.mark.parametrize(
    ("old", "new", "is_woken"),
    [
        (present({"maxReplicas": 2}), None, True),
        (present({"maxReplicas": 2}), present({"maxReplicas": 3}), False),
        (present({"maxReplicas": 2}), present({"maxReplicas": 2}), False),
        (present({"maxReplicas": 2}, owner=""), None, False),
        (None, present({"maxReplicas": 2}), False),
    ],
    ids=["deleted", "changed", "its status changed", "nobody's", "made"],
)
def test_a_job_looks_again_when_its_autoscaler_is_deleted(old: Autoscaler | None, new: Autoscaler | None, is_woken: bool) -> None:
    woken: list[Key] = []
    waking(Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"), woken.append)(old, new)
    assert woken == [Key("team-a", "bert")] * is_woken
