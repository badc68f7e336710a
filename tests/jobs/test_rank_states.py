"""Every rank has a row, with or without a pod, and says why it does not run."""

from __future__ import annotations

from typing import Any

import pytest

from job_evidence import ago, failed, running, succeeded, unplaced, v1_job, v1_pod, v2_job, v2_pod, waiting
from shunter.jobs.rank_states import RankState, rank_states, unknown_rank

Json = dict[str, Any]
KILLED: Json = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": ago(30)}}
FAILED: Json = {"conditions": [{"type": "Failed", "status": "True"}]}
SUCCEEDED: Json = {"conditions": [{"type": "Succeeded", "status": "True"}]}


@pytest.mark.parametrize(
    ("replicas", "text"),
    [
        ({"Worker": 0}, "job 'j' has no rank 0, as it has no ranks: spec.pytorchReplicaSpecs.Worker.replicas is 0."),
        ({"Master": 1, "Worker": 0}, "job 'j' has no rank 1: its ranks are 0 to 0."),
    ],
)
def test_a_rank_that_a_job_does_not_have_is_refused_with_those_that_it_has(replicas: dict[str, int], text: str) -> None:
    """Of a job without pods they were `0 to -1`."""
    specs = {role: {"replicas": number} for role, number in replicas.items()}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j"},
        "spec": {"pytorchReplicaSpecs": specs},
    }
    number = len(rank_states(job, []))
    assert unknown_rank(job, number, number).message == text


def container(state: Json, restarts: int = 0, last: Json | None = None, phase: str = "Running") -> Json:
    one = {"name": "pytorch", "state": state, "restartCount": restarts, **({"lastState": last} if last else {})}
    return {"phase": phase, "containerStatuses": [one]}


def state_of(job: Json, pod: Json) -> tuple[str, str, int]:
    found = rank_states(job, [pod])[1]
    return found.state, found.reason, found.restarts


LOOP = {"waiting": {"reason": "CrashLoopBackOff"}}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (running(), ("Running", "", 0)),
        (succeeded(10), ("Succeeded", "", 0)),
        (failed(), ("Failed", "exit code 1", 0)),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk"}, ("Failed", "Evicted", 0)),
        (container(LOOP, 3, KILLED), ("Restarting", "OOMKilled, exit code 137 (SIGKILL)", 3)),
        (container(KILLED, 0), ("Restarting", "OOMKilled, exit code 137 (SIGKILL)", 0)),
        (container({"running": {}}, 3, KILLED), ("Running", "", 3)),
        (waiting("ImagePullBackOff"), ("Waiting", "ImagePullBackOff", 0)),
        (unplaced("0/3 nodes are available"), ("Waiting", "Unschedulable", 0)),
        ({}, ("Waiting", "Pending", 0)),
    ],
    ids=["runs", "succeeded", "failed", "evicted", "crash loop", "just killed", "runs again", "no image", "no room", "pending"],
)
def test_the_state_of_a_rank_with_a_pod(parts: Json, expected: tuple[str, str, int]) -> None:
    assert state_of(v1_job(1), v1_pod("worker", 0, **parts)) == expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (v1_job(1), ("Waiting", "no pod")),
        (v1_job(1, policy={"suspend": True}), ("Suspended", "the job is suspended")),
        (v1_job(1, **SUCCEEDED), ("Gone", "its pod is deleted")),
        (v1_job(1, **FAILED), ("Gone", "its pod is deleted")),
    ],
    ids=["not made yet", "suspended", "cleaned up", "cleaned up after a failure"],
)
def test_a_rank_without_a_pod_has_a_row(job: Json, expected: tuple[str, str]) -> None:
    assert [(one.rank, one.state, one.reason) for one in rank_states(job, [])] == [(0, *expected), (1, *expected)]


def test_a_pod_that_is_deleted_while_its_job_goes_on_is_restarting() -> None:
    pod = v1_pod("worker", 0, **running())
    pod["metadata"]["deletionTimestamp"] = ago(1)
    assert state_of(v1_job(1), pod) == ("Restarting", "its pod is being deleted", 0)


def test_failures_of_earlier_pods_of_a_rank_count_as_restarts() -> None:
    last = [{"rank": 1, "pod": "j-worker-0", "podUID": uid, "reason": "Error", "exitCode": 7, "time": ago(40)} for uid in "ab"]
    job = v1_job(1, rankFailures={"count": 2, "last": last})
    found = rank_states(job, [v1_pod("worker", 0, uid="c", **running())])[1]
    assert (found.state, found.restarts, found.last_failure) == ("Running", 2, "exit code 7")


def test_the_rank_that_ended_a_job_is_failed_when_its_pod_is_gone() -> None:
    last = [{"rank": 1, "pod": "j-worker-0", "podUID": "a", "reason": "OOMKilled", "exitCode": 137, "time": ago(40)}]
    states = rank_states(v1_job(1, rankFailures={"count": 1, "last": last}, **FAILED), [])
    assert [(one.state, one.reason) for one in states] == [
        ("Gone", "its pod is deleted"),
        ("Failed", "OOMKilled, exit code 137 (SIGKILL)"),
    ]


def test_ranks_of_a_trainjob_whose_runtime_says_how_many() -> None:
    jobset = {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"parallelism": 3}}}]}}
    job = v2_job(1)
    states = rank_states(job, [v2_pod(2, **running())], jobset)
    assert [one.state for one in states] == ["Waiting", "Waiting", "Running"]
    assert states[2] == RankState(rank=2, state="Running", label="node-2", pod="j-node-0-2-abcde")


def test_a_job_without_ranks_has_no_rows() -> None:
    job = v1_job(0)
    job["spec"]["pytorchReplicaSpecs"] = {}
    assert rank_states(job, []) == []
