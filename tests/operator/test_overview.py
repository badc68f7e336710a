"""Both generations in one view, and what went wrong read off the pods."""

from datetime import timedelta
from typing import Any

import pytest

from shunter.operator.overview import overview


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
