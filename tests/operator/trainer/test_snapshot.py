"""The runtime as it was when a TrainJob first met it."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from shunter.kube.controllers.plan import Apply
from shunter.operator.trainer.plan import Observed, plan
from shunter.operator.trainer.snapshot import as_go_writes
from trainer_plans import MakeRuntime, MakeTrainJob, snapshot


def test_the_snapshot_counts_and_not_the_present_runtime(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    job = make_trainjob(trainer={})
    old = snapshot(job, make_runtime(node={"image": "img:old"}))
    made = plan(Observed(job=job, runtime=make_runtime(node={"image": "img:new"}), snapshot=old), now)
    (write,) = made.writes
    assert isinstance(write, Apply)
    (replicated,) = write.body["spec"]["replicatedJobs"]
    assert replicated["template"]["spec"]["template"]["spec"]["containers"][0]["image"] == "img:old"


def test_a_snapshot_of_somebody_else_is_not_used(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    job = make_trainjob()
    made = plan(Observed(job=job, runtime=make_runtime(), snapshot=snapshot(job, make_runtime(), owner="other")), now)
    assert made.writes == ()
    assert (
        "unable to get runtime snapshot: invalid runtime snapshot: a snapshot configmap exists but is owned"
        in made.events[0].message
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, 'snapshot ConfigMap missing "runtime" data key'),
        ("a: [", "unable to unmarshal the snapshot: "),
        (
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: other}",
            "refers to the wrong runtime",
        ),
        ("apiVersion: 1\nmetadata: []", "refers to the wrong runtime"),
    ],
)
def test_a_broken_snapshot_is_named(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, text: str | None, reason: str
) -> None:
    job = make_trainjob()
    good = snapshot(job, make_runtime())
    broken = msgspec.structs.replace(good, data={} if text is None else {"runtime": text})
    assert reason in plan(Observed(job=job, snapshot=broken), now).events[0].message


def test_a_snapshot_with_nulls_is_read_as_without(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    """Somebody has edited it, and left a key with nothing behind it."""
    job = make_trainjob(trainer={"env": [{"name": "A", "value": "1"}]})
    nulls = {"env": None, "ports": None, "volumeMounts": None, "resources": None, "command": None}
    (edited,) = plan(Observed(job=job, snapshot=snapshot(job, make_runtime(node=nulls))), now).writes
    (plain,) = plan(Observed(job=job, snapshot=snapshot(job, make_runtime())), now).writes
    assert isinstance(edited, Apply)
    assert isinstance(plain, Apply)
    containers = [
        write.body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
        for write in (edited, plain)
    ]
    assert {**containers[0], "resources": {}} == {**containers[1], "resources": {}}


def test_a_snapshot_reads_like_gos(make_runtime: MakeRuntime) -> None:
    """Metadata and resources are always there."""
    template = as_go_writes(make_runtime())["spec"]["template"]
    (replicated,) = template["spec"]["replicatedJobs"]
    pod = replicated["template"]["spec"]["template"]
    assert (template["metadata"], pod["metadata"], pod["spec"]["containers"][0]["resources"]) == ({}, {}, {})


def test_a_snapshot_leaves_out_what_gos_types_leave_out(make_runtime: MakeRuntime) -> None:
    runtime = make_runtime(node={"env": [{"name": "EMPTY", "value": ""}, {"name": "FULL", "value": "1"}]})
    runtime["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 0, "restartStrategy": "Recreate"}
    spec = as_go_writes(runtime)["spec"]["template"]["spec"]
    assert spec["failurePolicy"] == {"restartStrategy": "Recreate"}
    (container,) = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "EMPTY"}, {"name": "FULL", "value": "1"}]
