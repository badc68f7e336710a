"""What is written for another number of nodes, and what is waited for. Which number may be is in test_node_counts.py."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, JOBSETS, PODS, TRAIN_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.errors import Forbidden
from shunter.launch import scaling
from shunter.launch.scaling import scale_pytorchjob, scale_trainjob, wait_scaled
from shunter.operator.trainer.runtimes import shipped
from stored_objects import StoredObjects, Write

RUNTIME = next(runtime for runtime in shipped() if runtime["metadata"]["name"] == "shunter-torch")


def trainjob(nodes: int = 2, *, suspend: bool = False, **more: Any) -> Json:
    metadata = {"name": "j", "namespace": "team", "uid": "u", "resourceVersion": "1", "generation": 1}
    trainer = {"command": ["torchrun", "train.py"], "numNodes": nodes}
    return TRAIN_JOBS.typed(
        {"metadata": metadata, "spec": {"runtimeRef": RUNTIME_REF, "trainer": trainer, "suspend": suspend}, **more}
    )


RUNTIME_REF = {"name": "shunter-torch", "kind": "ClusterTrainingRuntime", "apiGroup": "trainer.kubeflow.org"}


def jobset(nodes: int, *, suspend: bool = False) -> Json:
    owner = {"apiVersion": TRAIN_JOBS.api_version, "kind": "TrainJob", "name": "j", "uid": "u", "controller": True}
    job = {"name": "node", "template": {"spec": {"parallelism": nodes, "completions": nodes}}}
    metadata = {"name": "j", "namespace": "team", "ownerReferences": [owner]}
    return JOBSETS.typed({"metadata": metadata, "spec": {"suspend": suspend, "replicatedJobs": [job]}})


def server(job: Json, *others: Any) -> StoredObjects:
    return StoredObjects((TRAIN_JOBS, job), (CLUSTER_TRAINING_RUNTIMES, copy.deepcopy(RUNTIME)), *others)


def stored(objects: StoredObjects) -> Json:
    return TRAIN_JOBS.typed(objects.get(TRAIN_JOBS, "j"))


def untold(text: str) -> None:
    raise AssertionError(f"told: {text}")


async def test_a_job_that_runs_is_suspended_with_its_number_and_then_resumed() -> None:
    objects = server(trainjob())
    scaled = await scale_trainjob(objects.client, stored(objects), 3)
    assert [write.body["spec"] for write in objects.writes] == [
        {"suspend": True, "trainer": {"numNodes": 3}},
        {"suspend": False},
    ]
    assert (scaled.before["spec"]["trainer"]["numNodes"], scaled.job["spec"]["trainer"]["numNodes"]) == (2, 3)
    assert not scaled.is_suspended


async def test_a_job_that_leaves_its_number_to_its_runtime_had_that() -> None:
    job, runtime = trainjob(), copy.deepcopy(RUNTIME)
    del job["spec"]["trainer"]["numNodes"]
    runtime["spec"]["mlPolicy"]["numNodes"] = 4
    objects = StoredObjects((TRAIN_JOBS, job), (CLUSTER_TRAINING_RUNTIMES, runtime))
    assert (await scale_trainjob(objects.client, stored(objects), 3)).nodes == 4


async def test_a_job_that_its_owner_suspended_stays_so() -> None:
    objects = server(trainjob(suspend=True))
    scaled = await scale_trainjob(objects.client, stored(objects), 3)
    assert [write.body["spec"] for write in objects.writes] == [{"suspend": True, "trainer": {"numNodes": 3}}]
    assert scaled.is_suspended


async def test_for_the_number_that_a_job_has_nothing_is_written() -> None:
    objects = server(trainjob(nodes=3))
    await scale_trainjob(objects.client, stored(objects), 3)
    assert objects.writes == []


async def test_killed_between_the_writes_the_same_call_finishes_it() -> None:
    objects = server(trainjob())

    def kill(write: Write) -> tuple[int, str] | None:
        return (403, "killed") if write.body["spec"].get("suspend") is False else None

    objects.refuses = kill
    with pytest.raises(Forbidden, match="killed"):
        await scale_trainjob(objects.client, stored(objects), 3)
    assert stored(objects)["spec"]["suspend"] is True
    objects.refuses = lambda write: None
    scaled = await scale_trainjob(objects.client, stored(objects), 3)
    assert (scaled.is_suspended, scaled.job["spec"]["trainer"]["numNodes"]) == (False, 3)


async def test_a_job_that_changed_meanwhile_is_read_and_judged_again() -> None:
    objects = server(trainjob())
    old = {**stored(objects), "metadata": {**stored(objects)["metadata"], "resourceVersion": "0"}}
    await scale_trainjob(objects.client, old, 3)
    assert stored(objects)["spec"]["trainer"]["numNodes"] == 3


async def test_another_job_of_the_name_is_never_written() -> None:
    objects = server(trainjob())
    old = {**stored(objects), "metadata": {**stored(objects)["metadata"], "resourceVersion": "0", "uid": "earlier"}}
    with pytest.raises(InputError, match="was deleted, and another of its name was created"):
        await scale_trainjob(objects.client, old, 3)
    assert stored(objects)["spec"]["trainer"]["numNodes"] == 2


async def test_a_crd_that_is_not_shunters_is_named_as_what_refuses() -> None:
    objects = server(trainjob())
    objects.refuses = lambda write: (422, "spec.trainer: Invalid value: field is immutable")
    with pytest.raises(InputError, match=r"spec\.trainer is immutable in this cluster's CRD"):
        await scale_trainjob(objects.client, stored(objects), 3)


async def test_a_job_whose_runtime_is_gone_cannot_be_scaled_and_nothing_is_written() -> None:
    objects = StoredObjects((TRAIN_JOBS, trainjob()))
    with pytest.raises(InputError, match='"shunter-torch" not found'):
        await scale_trainjob(objects.client, stored(objects), 3)
    assert objects.writes == []


def elastic(**policy: int) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i", "command": ["torchrun", "t.py"]}]}}
    specs = {"Worker": {"replicas": 2, "template": template}}
    spec: Json = {"pytorchReplicaSpecs": specs, "elasticPolicy": policy}
    return PYTORCH_JOBS.typed({"metadata": {"name": "e", "namespace": "team", "uid": "u"}, "spec": spec})


async def test_of_an_elastic_pytorchjob_only_the_scale_is_written() -> None:
    job = elastic(minReplicas=1, maxReplicas=4)
    objects = StoredObjects((PYTORCH_JOBS, job), (PYTORCH_JOBS, {**job, "metadata": {**job["metadata"], "name": "e/scale"}}))
    await scale_pytorchjob(objects.client, PYTORCH_JOBS, job, 3)
    assert [(write.path, write.body) for write in objects.writes] == [("pytorchjobs/e/scale", {"spec": {"replicas": 3}})]


async def test_beyond_max_replicas_nothing_is_written() -> None:
    job = elastic(minReplicas=1, maxReplicas=4)
    objects = StoredObjects((PYTORCH_JOBS, job))
    with pytest.raises(InputError, match="4"):
        await scale_pytorchjob(objects.client, PYTORCH_JOBS, job, 5)
    assert objects.writes == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for."""
    for name in ("LOOK_SECONDS", "QUIET_SECONDS", "STOP_SECONDS"):
        monkeypatch.setattr(scaling, name, 0.0)


async def test_the_wait_ends_when_the_jobset_has_its_new_number_of_pods() -> None:
    objects = server(trainjob(nodes=3), (JOBSETS, jobset(3)))
    assert await wait_scaled(objects.client, stored(objects), 3, untold) == "Created"


async def test_pods_that_still_end_are_named_while_they_are_waited_for(quick: None) -> None:
    labels = {"jobset.sigs.k8s.io/jobset-name": "j"}
    pod = {"metadata": {"name": "j-node-0-0", "namespace": "team", "labels": labels}, "status": {"phase": "Running"}}
    objects = server(trainjob(nodes=3), (JOBSETS, jobset(2, suspend=True)), (PODS, pod))
    told: list[str] = []

    def notify(text: str) -> None:
        told.append(text)
        objects.put(JOBSETS, jobset(3))

    await wait_scaled(objects.client, stored(objects), 3, notify)
    assert told == ["waiting for j-node-0-0 to terminate; they may save first"]


@pytest.mark.parametrize(("type_", "state"), [("Complete", "Succeeded"), ("Failed", "Failed")])
async def test_the_wait_ends_with_the_job(type_: str, state: str) -> None:
    status = {"conditions": [{"type": type_, "status": "True"}]}
    objects = server(trainjob(nodes=3, status=status), (JOBSETS, jobset(2)))
    assert await wait_scaled(objects.client, stored(objects), 3, untold) == state


async def test_what_the_operator_cannot_make_is_told_in_its_words() -> None:
    refused = {"type": "Created", "status": "False", "reason": "JobSetInvalid", "message": "the JobSet is rejected: no room"}
    objects = server(trainjob(nodes=3, status={"conditions": [refused]}), (JOBSETS, jobset(2, suspend=True)))
    with pytest.raises(InputError, match="does not get 3 nodes: the JobSet is rejected: no room"):
        await wait_scaled(objects.client, stored(objects), 3, untold)


async def test_an_operator_that_does_nothing_is_not_waited_for_for_ever(quick: None) -> None:
    objects = server(trainjob(nodes=3), (JOBSETS, jobset(2)))
    with pytest.raises(EnvironmentProblem, match="its operator did nothing for"):
        await wait_scaled(objects.client, stored(objects), 3, lambda text: None)


async def test_a_job_that_is_deleted_meanwhile_is_said() -> None:
    objects = server(trainjob(nodes=3))
    job = {**stored(objects), "metadata": {**stored(objects)["metadata"], "name": "gone"}}
    with pytest.raises(InputError, match="TrainJob team/gone was deleted"):
        await wait_scaled(objects.client, job, 3, untold)
