"""Which pods of a job train, and the rank of each."""

from __future__ import annotations

from doctor.evidences import group_pod, train_job
from shunter.jobs.training_pods import pods_by_rank, training_pods
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
