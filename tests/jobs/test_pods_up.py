"""How many ranks are up, of how many: the number wanted is never that of the pods which happen to be there."""

from __future__ import annotations

from typing import Any

import pytest

from job_evidence import v1_job, v1_pod, v2_job, v2_pod
from shunter.jobs.pods_up import requested_ranks, up

Json = dict[str, Any]
RUNS: Json = {"phase": "Running", "containerStatuses": [{"name": "node", "state": {"running": {}}}]}
LOOPS: Json = {"phase": "Running", "containerStatuses": [{"name": "node", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}


def group(name: str, replicas: int = 1, parallelism: int | None = None) -> Json:
    spec = {} if parallelism is None else {"parallelism": parallelism}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


@pytest.mark.parametrize(
    ("job", "groups", "expected"),
    [
        (v1_job(3), None, 4),
        (v2_job(2), None, 2),
        (v2_job(None), None, None),
        (v2_job(None), [group("node", parallelism=3)], 3),
        (v2_job(1), [group("node", parallelism=4)], 4),
        (v2_job(1), [group("dataset-initializer"), group("model-initializer"), group("node", parallelism=4)], 4),
        (v2_job(1), [group("launcher"), group("node", replicas=2, parallelism=3)], 7),
        (v2_job(1), [group("node")], 1),
        (v2_job(1), [group("node", parallelism=0), group("other")], 1),
    ],
    ids=[
        "v1",
        "v2 by its own number",
        "v2 that its runtime sizes, without JobSet",
        "v2 that its runtime sizes",
        "v2 by its JobSet",
        "initializers do not train",
        "several Jobs",
        "no parallelism",
        "a parallelism of none",
    ],
)
def test_the_number_wanted(job: Json, groups: list[Json] | None, expected: int | None) -> None:
    assert requested_ranks(job, {"spec": {"replicatedJobs": groups}} if groups else None) == expected


def test_what_runs_with_all_its_containers_is_up() -> None:
    leaving = v1_pod("worker", 2, **RUNS)
    leaving["metadata"]["deletionTimestamp"] = "2026-11-23T12:00:00Z"
    pods = [v1_pod("master", **RUNS), v1_pod("worker", 0, **LOOPS), v1_pod("worker", 1, phase="Pending"), leaving]
    assert up(v1_job(3), pods) == 1


def test_two_pods_of_one_rank_are_one_rank() -> None:
    assert up(v2_job(2), [v2_pod(0, **RUNS), v2_pod(0, **RUNS), v2_pod(1, **RUNS)]) == 2


def test_the_ranks_of_a_job_in_another_cluster_are_counted_by_its_status() -> None:
    elsewhere = {"managedBy": "kueue.x-k8s.io/multikueue"}
    counted = v1_job(3, policy=elsewhere, replicaStatuses={"Master": {"active": 1}, "Worker": {"active": 2, "failed": 1}})
    assert up(counted, []) == 3
    assert up(v2_job(2, spec=elsewhere, jobsStatus=[{"name": "node", "active": 1}]), []) is None, "it counts Jobs, not pods"
    assert up(v2_job(2, spec=elsewhere, jobsStatus=[{"name": "node", "active": 1, "ready": 1}]), []) == 2
    assert up(v1_job(3), []) == 0
