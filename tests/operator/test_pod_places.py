"""The place of each pod in its job, and its rank: one numbering for all that shows ranks."""

from __future__ import annotations

from typing import Any

import pytest

from job_evidence import running, v1_job, v2_job
from jobset_pods import SHAPES, Shape, jobset_of, pods_of
from shunter.jobs.failures import failure_cause
from shunter.jobs.rank_states import rank_states
from shunter.jobs.training_pods import pods_by_rank
from shunter.operator.pod_places import GLOBAL_JOB_INDEX, JOB_INDEX, Member, Members, named_place, place


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_all_that_shows_ranks_has_the_same(shape: Shape) -> None:
    job, pods = v2_job(None), pods_of(shape)
    members = Members(job, pods)
    expected = dict(enumerate(shape.labels))
    assert {member.rank: member.label for member in map(members.of, pods) if member.rank is not None} == expected
    assert {rank: place(job, pod).label for rank, pod in pods_by_rank(job, pods).items()} == expected
    assert {state.rank: state.label for state in rank_states(job, pods)} == expected
    for pod in pods_by_rank(job, pods).values():
        others = [one | {"status": running()} for one in pods if one is not pod]
        cause = failure_cause(job, [*others, pod], [], {})
        assert (cause.rank, cause.who) == (members.of(pod).rank, members.of(pod).label)


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_in_which_pods_are_seen_changes_no_rank(order: int) -> None:
    shape = SHAPES["nodes and launcher, as deepspeed-distributed"]
    pods = pods_of(shape)[::order]
    assert [place(v2_job(None), pod).label for pod in pods_by_rank(v2_job(None), pods).values()] == shape.labels


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_name_tells_the_place_that_the_labels_tell(shape: Shape) -> None:
    job = v2_job(None)
    for pod in pods_of(shape):
        found = place(job, pod)
        assert named_place(job, pod["metadata"]["name"]) == (found.role, found.index)
    assert named_place(job, "k-node-0-0-x7k2p") == ("", 0)
    assert named_place(v1_job(), "j-node-0-0-x7k2p") == ("", 0)


def test_what_an_older_operator_recorded_is_shown_at_the_pod_that_it_is_of() -> None:
    """It counted the pods of each replicated job from 0."""
    shape = SHAPES["launcher and nodes"]
    pods = pods_of(shape)
    for pod in pods:
        pod["status"] = running()
    failure = {
        "rank": 0,
        "pod": "j-node-0-0-aaaaa",
        "podUID": "gone",
        "container": "node",
        "reason": "OOMKilled",
        "exitCode": 137,
    }
    job = v2_job(None, rankFailures={"count": 1, "last": [failure]})
    states = rank_states(job, pods, jobset_of(shape))
    assert [one.restarts for one in states] == [0, 1, 0]
    assert [one.restarts for one in rank_states(job, [])] == [1]


def test_worker_ranks_come_after_the_master() -> None:
    job = v1_job(3)
    pod = {"metadata": {"labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "2"}}}
    assert Members(job, [pod]).of(pod) == Member("worker", 2, 3)


def test_workers_without_master_start_at_rank_zero() -> None:
    pod = {"metadata": {"labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}}}
    job = v1_job(2)
    del job["spec"]["pytorchReplicaSpecs"]["Master"]
    assert Members(job, [pod]).of(pod).rank == 0


@pytest.mark.parametrize("job", [v1_job(2), v2_job()], ids=["v1", "v2"])
def test_labels_that_people_changed_are_read_as_far_as_they_go(job: dict[str, Any]) -> None:
    names = ("training.kubeflow.org/replica-index", JOB_INDEX, GLOBAL_JOB_INDEX, "batch.kubernetes.io/job-completion-index")
    pod = {"metadata": {"labels": dict.fromkeys(names, "canary")}, "spec": {"containers": [{"name": "node"}]}}
    found = Members(job, [pod]).of(pod)
    assert found.index == 0
    assert list(pods_by_rank(job, [pod])) == [found.rank]


@pytest.mark.parametrize(("job", "completion"), [("2", "0"), ("0", "2")], ids=["a Job for each pod", "one Job"])
def test_pods_of_a_replicated_job_are_counted_over_its_jobs(job: str, completion: str) -> None:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": "worker",
        "jobset.sigs.k8s.io/job-index": job,
        "batch.kubernetes.io/job-completion-index": completion,
    }
    train_job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "bert"}}
    assert place(train_job, {"metadata": {"labels": labels}}).label == "worker-2"


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
    members = Members(job, pods.values())
    assert {role: members.of(pod).rank for role, pod in pods.items()} == ranks
