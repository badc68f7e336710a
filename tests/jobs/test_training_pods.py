"""Which pods of a job train, and the rank of each."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.evidences import group_pod, train_job
from shunter.jobs.following.follower import started_containers
from shunter.jobs.training_pods import is_added_without_failure, pods_by_rank, training_pods
from shunter.operator.pod_places import place


def test_pods_of_a_group_with_a_job_for_each_keep_the_ranks_of_their_jobs() -> None:
    job, _ = train_job(3)
    pods = [group_pod("worker", 2, group=1), group_pod("worker", 1, group=1), group_pod("master", 0)]
    assert [place(job, pod).label for pod in training_pods(job, pods)] == ["master-0", "worker-0", "worker-1"]


def test_a_pod_keeps_its_rank_when_those_before_it_are_gone() -> None:
    job, _ = train_job(3)
    of_one_job = group_pod("node", 0)
    of_one_job["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = "2"
    assert list(pods_by_rank(job, [of_one_job])) == [2]
    assert list(pods_by_rank(job, [group_pod("worker", 2, group=1)])) == [2]


def test_initializers_do_not_train() -> None:
    job, _ = train_job(1)
    pods = [group_pod("node", 1, group=1), group_pod("dataset-initializer", 0)]
    assert [place(job, pod).label for pod in training_pods(job, pods)] == ["node-0"]


RUNS: dict[str, Any] = {"state": {"running": {}}}
FAILED: dict[str, Any] = {"terminated": {"exitCode": 1}}
STATUSES: dict[str, tuple[dict[str, Any], bool]] = {
    "it runs": (RUNS, True),
    "it has succeeded": ({"state": {"terminated": {"exitCode": 0}}, "lastState": FAILED}, True),
    "it failed": ({"state": FAILED}, False),
    "it failed, and waits to be restarted": ({"state": {"waiting": {}}, "lastState": FAILED}, False),
    "it failed, and runs again": ({**RUNS, "lastState": FAILED}, False),
}


@pytest.mark.parametrize(("status", "is_left_out"), STATUSES.values(), ids=STATUSES)
def test_the_log_of_a_container_that_the_operator_adds_counts_only_if(status: dict[str, Any], is_left_out: bool) -> None:
    assert is_added_without_failure({"name": "init-pytorch", **status}) is is_left_out
    assert not is_added_without_failure({"name": "pytorch", **status})


def test_who_follows_a_job_sees_the_log_of_a_container_of_the_operator_that_failed() -> None:
    """`shunter logs` and the page showed it, `logs -f` and `run` did not."""
    pod = {"status": {"initContainerStatuses": [{"name": "init-pytorch", "state": FAILED}]}}
    assert [one["name"] for one in started_containers(pod)] == ["init-pytorch"]
    assert [*started_containers(pod, ever=True)] == []
