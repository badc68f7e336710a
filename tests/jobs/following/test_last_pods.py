"""Which pods tell why a job failed."""

from __future__ import annotations

from typing import Any

from shunter.jobs.following.last_pods import RESTART_ATTEMPT, last_pods

JOB: dict[str, Any] = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"}, "spec": {}}


def pod(uid: str, index: int, attempt: int, *, code: int | None = 1, at: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
        "batch.kubernetes.io/job-completion-index": str(index),
        RESTART_ATTEMPT: str(attempt),
    }
    state = {"running": {}} if code is None else {"terminated": {"exitCode": code, "finishedAt": at}}
    containers = [{"name": "node", "state": state}]
    metadata = {"name": uid, "uid": uid, "labels": labels, "creationTimestamp": at}
    return {"metadata": metadata, "status": {"phase": "Failed", "containerStatuses": containers}}


def uids(pods: list[dict[str, Any]], *gone: str) -> list[str]:
    return sorted(found["metadata"]["uid"] for found in last_pods(JOB, pods, gone))


def test_of_restarts_within_a_second_only_the_pods_of_the_last_are_meant() -> None:
    pods = [pod("b1", 1, 1), pod("a1", 0, 1), pod("b0", 1, 0), pod("a0", 0, 0)]
    assert uids(pods, "a0", "b0") == ["a1", "b1"]
    assert uids(pods, "a0", "b0", "a1", "b1") == ["a1", "b1"]


def test_an_earlier_peer_is_none_of_a_rank_that_failed_before_that_was_seen_again() -> None:
    assert uids([pod("a0", 0, 0), pod("b0", 1, 0), pod("a1", 0, 1)], "a0", "b0") == ["a1"]


def test_a_pod_that_failed_counts_before_the_one_that_took_its_place() -> None:
    """As the newest may have been made only to be deleted with the job."""
    assert uids([pod("failed", 0, 0), pod("next", 0, 0, code=None, at="2026-01-01T00:00:09Z")], "failed") == ["failed"]


def test_of_two_that_failed_the_one_whose_log_is_there_is_read() -> None:
    assert uids([pod("there", 0, 0), pod("later", 0, 0, at="2026-01-01T00:00:09Z")], "later") == ["there"]


def test_without_a_failure_all_places_have_their_pod() -> None:
    assert uids([pod("a", 0, 0, code=None), pod("b", 1, 1, code=None)]) == ["a", "b"]
