"""What a job tells of pods that do not get on, and of those that are taken away from it."""

from __future__ import annotations

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.kube.controllers.plan import Ref
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.pod_warnings import REPORTED_PODS, abnormal_pod_events

JOB = Ref(framework_of("PyTorchJob").info.resource, "team-a", "job", "u1")
PULL = {
    "containerStatuses": [{"name": "pytorch", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]
}
UNPLACED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]}
EVICTED = {
    "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    ]
}
LOST = {
    "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    ]
}


def told(status: Json, *, is_leaving: bool = False, pods: int = 1) -> list[str]:
    leaving = {"deletionTimestamp": "2026-11-21T12:00:00Z"} if is_leaving else {}
    made = [msgspec.convert({"metadata": {"name": f"p-{number}", **leaving}, "status": status}, Pod) for number in range(pods)]
    return [f"{note.type} {note.reason}: {note.message}" for note in abnormal_pod_events(JOB, tuple(made))]


@pytest.mark.parametrize(
    ("status", "is_leaving", "expected"),
    [
        (PULL, False, ["Warning ImagePullBackOff: Error pod p-0 container pytorch waiting message: no such image"]),
        (PULL, True, []),
        (UNPLACED, False, ["Warning Unschedulable: Error pod p-0 condition message: 0/1 nodes"]),
        (EVICTED, True, ["Warning EvictionByEvictionAPI: Pod p-0 is deleted: Eviction API: evicting"]),
        (EVICTED, False, []),
        ({**LOST, "phase": "Failed"}, False, ["Warning DeletionByPodGC: Pod p-0 is deleted: PodGC: node no longer exists"]),
        ({"phase": "Running"}, True, []),
    ],
    ids=[
        "a container that waits",
        "one on its way out",
        "a pod without a node",
        "an eviction",
        "one that is announced",
        "a lost node",
        "a pod that a person deletes",
    ],
)
def test_a_job_tells_of(status: Json, is_leaving: bool, expected: list[str]) -> None:
    assert told(status, is_leaving=is_leaving) == expected


def test_what_many_pods_have_in_common_is_told_of_some() -> None:
    assert len(told(UNPLACED, pods=1000)) == REPORTED_PODS
