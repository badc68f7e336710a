"""When an installation runs, and what is said of pods that do not."""

from __future__ import annotations

import pytest

from shunter.install.waiting import pod_problems, rollout_problem


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ({}, "the Deployment has not been observed by its controller yet"),
        ({"observedGeneration": 2, "updatedReplicas": 1}, "1 of 2 new pods exist"),
        ({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 3}, "1 old pods still exist"),
        ({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 1}, "1 of 2 pods are ready"),
        ({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}, ""),
    ],
    ids=["not seen", "new pods missing", "old pods left", "not ready", "complete"],
)
def test_a_rollout_is_complete_only_with_all_new_pods_ready_and_no_old_ones(status: dict[str, int], problem: str) -> None:
    assert rollout_problem({"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status}) == problem


def test_an_operator_that_runs_elsewhere_has_nothing_to_roll_out() -> None:
    assert rollout_problem({"metadata": {"generation": 1}, "spec": {"replicas": 0}, "status": {"observedGeneration": 1}}) == ""


def test_pods_say_why_they_do_not_run_each_reason_once() -> None:
    unscheduled = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}]}
    pulling = {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]}
    creating = {"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}
    silent = {"containerStatuses": [{"state": {"waiting": {"reason": ""}}}]}
    pods = [{"status": status} for status in (unscheduled, pulling, pulling, creating, silent, {})]
    assert pod_problems(pods) == ["0/1 nodes are available", "ErrImagePull: not found"]
