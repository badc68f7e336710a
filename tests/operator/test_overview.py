"""Both generations in one view, and what went wrong read off the pods."""

from datetime import timedelta
from typing import Any

import pytest

from shunter.operator.overview import member, overview


def pytorch_job(*conditions: str, **replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"pytorchReplicaSpecs": {role: {"replicas": count} for role, count in replicas.items()}},
        "status": {"conditions": [{"type": type, "status": "True", "reason": f"PyTorchJob{type}"} for type in conditions]},
    }


def train_job(*conditions: str, active: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j", "namespace": "n"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 4}},
        "status": {
            "conditions": [{"type": type, "status": "True"} for type in conditions],
            "jobsStatus": [{"name": "node", "active": active, "ready": 0}],
        },
    }


@pytest.mark.parametrize(
    ("job", "state", "ranks"),
    [
        (pytorch_job(Master=1, Worker=3), "Created", 4),
        (pytorch_job("Created", "Running", Master=1), "Running", 1),
        (pytorch_job("Created", "Restarting", Master=1), "Restarting", 1),
        (pytorch_job("Created", "Succeeded", "Failed", Master=1), "Failed", 1),
        (train_job(), "Created", 4),
        (train_job(active=1), "Running", 4),
        (train_job("Complete"), "Succeeded", 4),
        (train_job("Failed", active=1), "Failed", 4),
    ],
    ids=["v1 new", "v1 running", "v1 restarting", "v1 failed after success", "v2 new", "v2 running", "v2 complete", "v2 failed"],
)
def test_state_and_ranks_of_a_job(job: dict[str, Any], state: str, ranks: int) -> None:
    row = overview(job)
    assert (row.state, row.ranks) == (state, ranks)


@pytest.mark.parametrize(("kind", "field", "ranks"), [("MPIJob", "mpiReplicaSpecs", 1), ("PaddleJob", "paddleReplicaSpecs", 2)])
def test_roles_that_say_no_number_have_their_kinds(kind: str, field: str, ranks: int) -> None:
    job = pytorch_job()
    first = "Launcher" if kind == "MPIJob" else "Master"
    assert overview({**job, "kind": kind, "spec": {field: {first: {}, "Worker": {}}}}).ranks == ranks


def test_a_trainjob_that_cannot_be_made_shows_why() -> None:
    job = train_job()
    told = {"type": "Created", "status": "False", "reason": "RuntimeNotFound", "message": "Create it."}
    job["status"]["conditions"] = [told]
    row = overview(job)
    assert (row.state, row.reason, row.message) == ("Created", "RuntimeNotFound", "Create it.")


CREATED = "2026-11-28T10:00:00Z"


@pytest.mark.parametrize(
    ("status", "seconds"),
    [
        pytest.param({"completionTime": "2026-11-28T10:01:30Z"}, 90, id="until it was complete"),
        pytest.param({}, 95, id="until its state changed, of one without completionTime"),
        pytest.param({"startTime": "2026-11-28T10:00:40Z"}, 95, id="from its creation, not its start"),
    ],
)
@pytest.mark.parametrize("state", ["Succeeded", "Failed"])
def test_a_job_ran_from_its_creation_to_its_end(state: str, status: dict[str, Any], seconds: int) -> None:
    job = pytorch_job(state, Master=1)
    job["metadata"]["creationTimestamp"] = CREATED
    job["status"] = {**job["status"], **status}
    job["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-28T10:01:35Z"
    assert overview(job).ran == timedelta(seconds=seconds)


def test_a_job_that_has_not_ended_has_no_time_that_it_ran() -> None:
    job = pytorch_job("Suspended", Master=1)
    job["metadata"]["creationTimestamp"] = CREATED
    job["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-28T10:01:35Z"
    assert overview(job).ran is None


def test_worker_ranks_come_after_the_master() -> None:
    job = pytorch_job(Master=1, Worker=3)
    pod = {"metadata": {"labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "2"}}}
    assert (member(job, pod).label, member(job, pod).rank) == ("worker-2", 3)


def test_workers_without_master_start_at_rank_zero() -> None:
    pod = {"metadata": {"labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}}}
    assert member(pytorch_job(Worker=2), pod).rank == 0


@pytest.mark.parametrize("job", [pytorch_job(Worker=2), train_job()], ids=["v1", "v2"])
def test_labels_that_people_changed_are_read_as_far_as_they_go(job: dict[str, Any]) -> None:
    names = ("training.kubeflow.org/replica-index", "jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index")
    assert member(job, {"metadata": {"labels": dict.fromkeys(names, "canary")}}).index == 0


@pytest.mark.parametrize(("job", "completion"), [("2", "0"), ("0", "2")], ids=["a Job for each pod", "one Job"])
def test_pods_of_a_replicated_job_are_counted_over_its_jobs(job: str, completion: str) -> None:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": "worker",
        "jobset.sigs.k8s.io/job-index": job,
        "batch.kubernetes.io/job-completion-index": completion,
    }
    train_job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "bert"}}
    assert member(train_job, {"metadata": {"labels": labels}}).label == "worker-2"


@pytest.mark.parametrize(
    ("kind", "replicas", "ranks"),
    [
        ("TFJob", {"PS": 2, "Worker": 2, "Evaluator": 1}, {"worker": 0, "ps": 2, "evaluator": 4}),
        ("TFJob", {"Worker": 2, "Chief": 1, "Helper": 1}, {"chief": 0, "worker": 1, "helper": 3}),
        ("XGBoostJob", {"Worker": 2, "Master": 1}, {"master": 0, "worker": 1}),
        ("JAXJob", {"Worker": 2}, {"worker": 0}),
    ],
)
def test_no_two_pods_of_a_job_have_one_rank(kind: str, replicas: dict[str, int], ranks: dict[str, int]) -> None:
    """`--rank 0` is the pod that upstream calls so: a chief or master, else the first worker."""
    specs = {role: {"replicas": count} for role, count in replicas.items()}
    job = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "j"}, "spec": {"anyReplicaSpecs": specs}}
    pods = {
        role: {"metadata": {"labels": {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": "0"}}}
        for role in ranks
    }
    assert {role: member(job, pod).rank for role, pod in pods.items()} == ranks
